"""Writes the toy corpus of reverse.toml: letters, and the same letters in reverse order."""

import random
from pathlib import Path

LETTERS = "abcdefghijklmnop"


def write(path: Path, lines: int, seed: int) -> None:
    """`lines` pairs of two to eight letters, source TAB target."""
    chance = random.Random(seed)
    rows = []
    for _ in range(lines):
        letters = chance.choices(LETTERS, k=chance.randint(2, 8))
        rows.append(f"{' '.join(letters)}\t{' '.join(reversed(letters))}\n")
    path.write_text("".join(rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "data" / "reverse"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "train.tsv", 3000, seed=1)
    write(folder / "validation.tsv", 200, seed=2)
    print(f"Written to {folder}. Now: pellucid train examples/reverse.toml --out runs/reverse")
