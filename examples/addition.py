"""Write 20,000 sums as text, 123+456 and 579, to learn from, and 500 others to test with."""

import random
from pathlib import Path

LARGEST = 999  # of what is added
TRAINED, TESTED = 20_000, 500


def sums(count: int, seed: int) -> list[tuple[str, str]]:
    """So many different sums with their results, in the order of chance."""
    places = random.Random(seed).sample(range((LARGEST + 1) ** 2), count)
    return [(f"{a}+{b}", str(a + b)) for a, b in (divmod(place, LARGEST + 1) for place in places)]


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    """Write the sums to NAME.sums and the results to NAME.results, one per line."""
    for side, lines in zip(("sums", "results"), zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{name}.{side}").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    folder = Path("data/addition")
    folder.mkdir(parents=True, exist_ok=True)
    pairs = sums(TRAINED + TESTED, seed=1)
    write(folder, "train", pairs[:TRAINED])
    write(folder, "test", pairs[TRAINED:])
    files = f"--source {folder}/train.sums --target {folder}/train.results"
    print(f"Written to {folder}. Now: pellucid train {files} --minutes 5 --out runs/addition")
