"""Write SCAN (Lake and Baroni 2018): all 20,910 commands of its grammar with their actions, split at random
into 80% to train and 20% to test, its "simple split"."""

import itertools
import random
from pathlib import Path

VERBS = {"walk": "I_WALK", "look": "I_LOOK", "run": "I_RUN", "jump": "I_JUMP"}
TURNS = {"left": "I_TURN_LEFT", "right": "I_TURN_RIGHT"}
TIMES = {"": 1, " twice": 2, " thrice": 3}


def phrases() -> dict[str, list[str]]:
    """Return the actions of each command that is done once, such as turn left or walk around left."""
    actions = {verb: [action] for verb, action in VERBS.items()}
    for (verb, action), (side, turn) in itertools.product((VERBS | {"turn": ""}).items(), TURNS.items()):
        done = [action] if action else []
        actions[f"{verb} {side}"] = [turn, *done]
        actions[f"{verb} opposite {side}"] = [turn, turn, *done]
        actions[f"{verb} around {side}"] = [turn, *done] * 4
    return actions


def commands() -> dict[str, str]:
    """All commands: phrases, each once, twice or thrice; alone, or two joined by `and` or `after`."""
    parts = {
        phrase + times: actions * count
        for (phrase, actions), (times, count) in itertools.product(phrases().items(), TIMES.items())
    }
    said = dict(parts)
    for (one, first), (other, second) in itertools.product(parts.items(), repeat=2):
        said[f"{one} and {other}"] = first + second
        said[f"{one} after {other}"] = second + first
    return {command: " ".join(actions) for command, actions in said.items()}


if __name__ == "__main__":
    folder = Path("data/scan")
    folder.mkdir(parents=True, exist_ok=True)
    pairs = sorted(commands().items())
    random.Random(1).shuffle(pairs)
    trained = len(pairs) * 8 // 10
    for name, part in {"train": pairs[:trained], "test": pairs[trained:]}.items():
        for side, lines in zip(("commands", "actions"), zip(*part, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8", newline="\n")
    files = f"--source {folder}/train.commands --target {folder}/train.actions"
    print(f"Written to {folder}. Now: pellucid train {files} --minutes 15 --out runs/scan")
