"""TransformerLens' bridge and Pellucid on the same MarianMT folder: what can be edited, and what follows.

pip install transformer-lens, then `python -m benchmarks.verify_beside FOLDER`.
"""

import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.report import write_report
from pellucid.probes.verify import verify

SEEN = 1e-5  # of the largest logit: a smaller change is rounding
ABOUT = (
    "Of each hook point of TransformerLens' `TransformerBridge` ({lens}, transformers {transformers}), in a "
    "MarianMT folder of random weights ({shape}): does an edit of its tensor reach the logits? An edit adds "
    "random numbers of the tensor's size. *no*: the pass goes through the hook, and what the edit returns is "
    "dropped, as the bridge warns too; it is so after `enable_compatibility_mode()` as well. *not run, or "
    "ids*: the pass never goes there with numbers. *to be switched on*: the bridge refuses the hook until a "
    "setting is changed. Names for the same tensor count each. All kinds but those of the table say yes.",
    "{summary}",
)


def bridge_of(folder: str) -> Any:
    """Open a folder as TransformerLens does."""
    from transformer_lens.model_bridge import TransformerBridge

    with warnings.catch_warnings(action="ignore"):
        return TransformerBridge.boot_transformers(folder, device="cpu")


def edits(bridge: Any, source: Tensor, target: Tensor) -> Iterator[tuple[str, str]]:
    """Yield for each hook point whether an edit there changes the logits."""
    plain = bridge(source, decoder_input=target)
    for name in bridge.hook_dict:
        ran = []

        def edit(tensor: Any, hook: Any, ran: list[bool] = ran) -> Any:
            if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
                return tensor
            ran.append(True)
            spread = tensor[tensor.isfinite()].std().nan_to_num()
            return tensor + (1 + spread) * (0.5 + torch.rand_like(tensor))

        try:
            said = bridge.run_with_hooks(source, decoder_input=target, fwd_hooks=[(name, edit)])
            apart = float((said - plain).abs().max())
            reached = not apart <= SEEN * float(plain.abs().max())
        except ValueError:  # such as: Call set_use_attn_in(True) first
            yield name, "to be switched on"
            continue
        yield name, "yes" if reached else "no" if ran else "not run, or ids"


def compare(bridge: Any, source: Tensor, target: Tensor) -> list[str]:
    """Return what other checks of `verify` say of the bridge."""
    plain, end = bridge(source, decoder_input=target), target.shape[1]
    theirs = bridge.original_model(input_ids=source, decoder_input_ids=target).logits
    changed = target.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 100
    later = (bridge(source, decoder_input=changed) - plain)[:, : end - 1].abs().max()
    return [
        f"its logits differ from transformers' by {float((plain - theirs).abs().max()):.1e}",
        f"a later word changes earlier logits by {float(later):.1e}",
    ]


@torch.no_grad()
def main(folder: str) -> None:
    bridge = bridge_of(folder)
    config = bridge.original_model.config
    source = torch.tensor([[5, 9, 14, 3, 6, config.eos_token_id]])
    target = torch.tensor([[config.decoder_start_token_id, 7, 8, 9, 12]])
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, reached in edits(bridge, source, target):
        kinds[re.sub(r"\.\d+\.", ".N.", name), reached].append(name)
    counts = {how: sum(len(each) for key, each in kinds.items() if key[1] == how) for _, how in kinds}
    sheet = verify(Path(folder))
    ours = {check.name: check for check in sheet.checks}
    summary = (
        f"TransformerLens: {', '.join(f'{count} {how}' for how, count in counts.items())}, of "
        f"{sum(counts.values())} hook points; {'; '.join(compare(bridge, source, target))}. Pellucid: "
        f"{ours['edits'].said}."
    )
    rows = [
        [kind, str(len(names)), how, names[0]]
        for (kind, how), names in sorted(kinds.items(), key=lambda each: (each[0][1], each[0][0]))
        if how != "yes"
    ]
    about = [
        each.format(
            lens=version("transformer-lens"), transformers=version("transformers"), summary=summary,
            shape=f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.d_model}",
        )
        for each in ABOUT
    ]  # fmt: skip
    write_report(
        "verify_beside", "Edits in TransformerLens and in Pellucid", about,
        ["hook", "how many", "reaches the logits", "for instance"], rows,
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
