"""However many processes train, and however often they are stopped, the losses are those of one process."""

from pathlib import Path

import pytest
from rank_losses import WAYS, losses, read

EACH = [(next(iter(ways)), way) for ways in WAYS.values() for way in ways]


@pytest.mark.parametrize(("first", "way"), EACH)
def test_the_files_agree(first: str, way: str) -> None:
    alone, found = read(first), read(way)
    assert [step["step"] for step in found] == list(range(1, 51))
    assert [step["epoch"] for step in found] == [step["epoch"] for step in alone]
    one = [step["epoch"] for step in read("one")]
    assert one[22] == one[23] > 0  # some are stopped after step 23, in the middle of an epoch
    assert all(step["split"] > 1 for step in found) == way.endswith("split")
    for name in ("loss", "plain_loss", "tokens", "gradient_norm"):
        assert [step[name] for step in found] == pytest.approx([step[name] for step in alone], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "way"), EACH)
def test_they_are_the_same_anew(first: str, way: str, tmp_path: Path) -> None:
    found = [step["loss"] for step in losses(way, tmp_path)]
    assert found == pytest.approx([step["loss"] for step in read(first)], abs=1e-5)
