"""Equal tokens, equal quality: Pellucid's training beside a plain loop around transformers' MarianMTModel.

Both train Transformer-Tiny (4+4 layers, width 128, hidden 256, 4 heads) on raw, cased Multi30k English-German
with the same vocabulary, the very same batches in the same order, and the same dropout, label smoothing,
schedule, optimizer settings and number of updates; one thread each. What is compared is the validation loss
per target token, without smoothing, against updates: no clock decides anything.

`same start` gives MarianMTModel our first weights and our positions. Without dropout it is then the same
function, and the losses of the first updates must agree to rounding; with dropout only the random numbers
differ.

Needs `pip install "pellucid[interop]"` and the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.equal_tokens run [CONTESTANT] [--data …] [--updates 3000] [--dropout 0.2]
    python -m benchmarks.equal_tokens report
"""

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn

from benchmarks.report import RESULTS, processor, write_report
from pellucid.config.schema import Config, ModelConfig
from pellucid.config.toml_file import from_table
from pellucid.data.batch import Batch, batches
from pellucid.data.examples import Examples, encode_pairs
from pellucid.data.sifting import read_pairs, text_of
from pellucid.learning.learner import Learner, learning_rate
from pellucid.learning.loss import loss_of
from pellucid.learning.starting import fit_sizes, prepare_vocabulary
from pellucid.model import Transformer, sinusoids
from pellucid.text.vocabulary import Vocabulary

LOG = RESULTS / "equal_tokens.jsonl"
EVERY = 250  # updates between two validations
# name: (whose loop, precision, seed of first weights and dropout)
CONTESTANTS = {
    "Pellucid, fp32": ("ours", "fp32", 1),
    "Pellucid, fp32, another seed": ("ours", "fp32", 2),
    "Pellucid, bf16": ("ours", "bf16", 1),
    "MarianMTModel, fp32, same start": ("peer, our start", "fp32", 1),
    "MarianMTModel, fp32, its own start": ("peer, its own start", "fp32", 1),
}

Learn = Callable[[Batch, int], float]  # a batch, the update's number from 1 -> the loss without smoothing
Judge = Callable[[], float]  # the validation loss


@dataclasses.dataclass(frozen=True)
class Material:
    """What every contestant gets."""

    config: Config
    vocabulary: Vocabulary
    examples: Examples
    validation: list[Batch]

    def batches(self) -> Iterator[Batch]:
        for epoch in range(1_000_000):
            yield from batches(self.examples, self.vocabulary, self.config.training.batch_tokens, 1, epoch)


def material(data: Path, dropout: float, batch_tokens: int, precision: str) -> Material:
    table = {
        "data": {
            "train": [str(data / "train.en"), str(data / "train.de")],
            "validation": [str(data / "val.en"), str(data / "val.de")],
        },
        "vocabulary": {"size": 8000},
        "model": {"preset": "tiny", "dropout": dropout},
        "training": {
            "batch_tokens": batch_tokens,
            "peak_rate": 0.002,
            "warmup_steps": 800,
            "precision": precision,
            "threads": 1,
        },
    }
    config = from_table(table)
    pairs, _ = read_pairs(text_of(config.data.train, config.data))
    vocabulary = prepare_vocabulary(pairs, config)
    config = dataclasses.replace(config, model=fit_sizes(config, vocabulary))
    examples, _ = encode_pairs(pairs, vocabulary, config.data)
    judged, _ = encode_pairs(
        read_pairs(text_of(config.data.validation, config.data))[0], vocabulary, config.data
    )
    return Material(config, vocabulary, examples, list(batches(judged, vocabulary, batch_tokens, 0, 0)))


def ours(given: Material, seed: int) -> tuple[Learner, Learn, Judge]:
    torch.manual_seed(seed)
    learner = Learner(Transformer(given.config.model), given.config.training)

    def learn(batch: Batch, number: int) -> float:
        return learner.learn([batch], number).plain_loss

    @torch.no_grad()
    def judge() -> float:
        learner.model.eval()
        losses = [loss_of(learner.model, batch, smoothing=0.0) for batch in given.validation]
        return sum(float(each.plain) for each in losses) / sum(each.tokens for each in losses)

    return learner, learn, judge


def marian(config: ModelConfig) -> nn.Module:
    """Return MarianMTModel of this shape, with its own first weights."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=config.vocabulary,
            d_model=config.width,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.hidden,
            decoder_ffn_dim=config.hidden,
            max_position_embeddings=256,
            pad_token_id=config.pad_id,
            eos_token_id=config.end_id,
            forced_eos_token_id=None,
            decoder_start_token_id=config.start_id,
            activation_function="relu",
            scale_embedding=True,
            dropout=config.dropout,
        )
    )


def peer(given: Material, seed: int, our_start: bool) -> tuple[nn.Module, Learn, Judge]:
    config, training = given.config.model, given.config.training
    torch.manual_seed(seed)
    start = Transformer(config)
    model = marian(config)
    if our_start:
        copy_start(start, model)
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=0.0, betas=training.betas, eps=training.epsilon, weight_decay=0.0, fused=True
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=training.label_smoothing, ignore_index=-100)

    def logits_and_expected(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        expected = batch.target_out.masked_fill(~batch.target_mask, -100)
        mask = batch.source_mask.long()
        said = model(input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.target_in)
        return said.logits.flatten(0, 1), expected.flatten()

    def learn(batch: Batch, number: int) -> float:
        model.train()
        logits, expected = logits_and_expected(batch)
        criterion(logits, expected).backward()
        nn.utils.clip_grad_norm_(model.parameters(), training.clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(number, training, config.width)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(nn.functional.cross_entropy(logits.detach(), expected))

    @torch.no_grad()
    def judge() -> float:
        model.eval()
        total = tokens = 0.0
        for batch in given.validation:
            total += float(nn.functional.cross_entropy(*logits_and_expected(batch), reduction="sum"))
            tokens += batch.tokens
        return total / tokens

    return model, learn, judge


@torch.no_grad()
def copy_start(ours: Transformer, theirs: nn.Module) -> None:
    """Give a MarianMTModel the weights of ours, by name, and the positions that ours computes."""
    renamed = {}
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    for name, tensor in ours.state_dict().items():
        name = name.replace("embedding.weight", "shared.weight").replace(".feed_forward.inner.", ".fc1.")
        name = name.replace(".feed_forward.outer.", ".fc2.").replace(".self_attention.", ".self_attn.")
        name = name.replace(".cross_attention.", ".encoder_attn.")
        for part, other in parts.items():
            name = name.replace(f"_attn.{part}.", f"_attn.{other}.")
        last = 3 if name.startswith("decoder") else 2
        name = name.replace(".residual_1.norm.", ".self_attn_layer_norm.")
        name = name.replace(f".residual_{last}.norm.", ".final_layer_norm.")
        name = name.replace(".residual_2.norm.", ".encoder_attn_layer_norm.")
        renamed[f"model.{name}"] = tensor
    fresh = theirs.state_dict()
    for name in fresh:
        if name.endswith("embed_positions.weight"):
            renamed[name] = sinusoids(256, ours.config.width, torch.float32, torch.device("cpu"))
        if name.endswith("embed_tokens.weight") or name == "lm_head.weight":
            renamed[name] = renamed["model.shared.weight"]
        if name == "final_logits_bias":
            renamed[name] = fresh[name]
    theirs.load_state_dict(renamed)


def contestant(name: str, given: Material) -> tuple[Learn, Judge]:
    kind, _, seed = CONTESTANTS[name]
    made = ours(given, seed) if kind == "ours" else peer(given, seed, our_start="our start" in kind)
    return made[1:]


def run(name: str, data: Path, updates: int, dropout: float, batch_tokens: int) -> None:
    torch.set_num_threads(1)
    given = material(data, dropout, batch_tokens, CONTESTANTS[name][1])
    learn, judge = contestant(name, given)
    tokens, losses, started = 0, [], time.process_time()
    with LOG.open("a", encoding="utf-8") as log:
        for number, batch in zip(range(1, updates + 1), given.batches(), strict=False):
            tokens += batch.tokens
            losses.append(learn(batch, number))
            if number % EVERY and number not in (1, 10, 20):
                continue
            line = {"contestant": name, "dropout": dropout, "batch_tokens": batch_tokens, "update": number}
            line |= {"tokens": tokens, "training_loss": sum(losses) / len(losses)}
            line |= {"validation_loss": judge(), "cpu_seconds": round(time.process_time() - started)}
            log.write(json.dumps(line) + "\n")
            log.flush()
            losses = []


def report() -> None:
    lines = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    found = {(line["dropout"], line["contestant"], line["update"]): line for line in lines}
    assert len({(line["dropout"], line["batch_tokens"]) for line in lines}) == len({key[0] for key in found})
    ends = {
        name: max((line for line in lines if line["contestant"] == name), key=lambda line: line["update"])
        for name in dict.fromkeys(line["contestant"] for line in lines)
    }
    rows = []
    for dropout in sorted({key[0] for key in found}):
        shown = sorted({update for rate, _, update in found if rate == dropout})
        for update in [number for number in shown if number in (1, 10, 20) or number % 500 == 0]:
            losses = [found.get((dropout, name, update)) for name in ends]
            tokens = next(line["tokens"] for line in losses if line)
            cells = ["" if line is None else f"{line['validation_loss']:.6f}" for line in losses]
            budget = next(line["batch_tokens"] for line in losses if line)
            rows.append([f"{dropout:g}", f"{budget:,}", f"{update:,}", f"{tokens:,}", *cells])
    assert all(math.isfinite(line["validation_loss"]) for line in lines)
    seconds = ", ".join(
        f"{name} {line['tokens'] / max(line['cpu_seconds'], 1):,.0f}" for name, line in ends.items()
    )
    about = (
        "Validation loss per target token (no smoothing) on Multi30k en-de, raw and cased, a joint "
        "vocabulary of 8,000. The same vocabulary, batches, order, label "
        "smoothing (0.1), clipping (1.0), AdamW (0.9, 0.98, 1e-9, no weight decay) and rate (peak 0.002, "
        "warm-up 800, then the inverse square root) for all. *Same start*: MarianMTModel begins with our "
        "first weights and positions. All began with the weights of before 2026-11-24; what today's do is in "
        "[first_weights](first_weights.md).",
        f"One thread each, on {processor()}. Target tokens a CPU second, validations included, on a machine "
        f"busy with other work: {seconds}.",
    )
    columns = ("dropout", "padded tokens a batch", "updates", "target tokens", *ends)
    write_report("equal_tokens", "Equal tokens, equal quality", about, columns, rows, "equal_tokens report")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("contestant", nargs="?", choices=CONTESTANTS)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--updates", type=int, default=3000)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    arguments = parser.parse_args()
    if arguments.what == "report":
        report()
        return
    if not (arguments.data / "train.de").exists():
        parser.exit(
            2, f"{arguments.data}: no Multi30k here. First: pellucid data multi30k-en-de (or --data)\n"
        )
    names = [arguments.contestant] if arguments.contestant else list(CONTESTANTS)
    for name in names:
        run(name, arguments.data, arguments.updates, arguments.dropout, arguments.batch_tokens)


if __name__ == "__main__":
    main()
