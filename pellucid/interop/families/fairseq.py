"""fairseq's translators (transformer_wmt_en_de, transformer_iwslt_de_en and the like): a checkpoint, and a
dictionary for each side. Its names are those of transformers, whose models of this kind come from it."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from pellucid.interop.families.bart import DEFAULTS, Family
from pellucid.interop.families.marian import number_pieces
from pellucid.interop.families.tensors import EMBEDDINGS, HEAD, NORMS
from pellucid.interop.foreign import FAIRSEQ, Foreign
from pellucid.interop.pieces import CONTROL, SIDES, read_apart
from pellucid.interop.tensor_files import check_kinds, load_pickled, only_tensors
from pellucid.text.vocabulary import Vocabulary

# What a checkpoint holds beside tensors and plain values: settings, and stop-watches of the training.
CLASSES = ["argparse.Namespace"]
CLASSES += [f"fairseq.meters.{each}Meter" for each in ("Average", "Time", "Stopwatch")]
SETTINGS = {"d_model": "encoder_embed_dim"}
SETTINGS |= {f"{stack}_ffn_dim": f"{stack}_ffn_embed_dim" for stack in NORMS}
SETTINGS |= {name: name for stack in NORMS for name in (f"{stack}_layers", f"{stack}_attention_heads")}
REFUSED = ("no_token_positional_embeddings", "cross_self_attention", "no_decoder_final_norm")
SIZES = ("vocab_size", "decoder_vocab_size")
LEFT_OUT = (".version", "._float_tensor")  # of the format, and of nothing


def open_fairseq(foreign: Foreign) -> None:
    """Read the settings and the weights of a folder."""
    name = foreign.settings_in = foreign.find("model.pt", "checkpoint_best.pt", FAIRSEQ)
    with foreign.blaming(name):
        held = load_pickled(foreign.folder / name, CLASSES)
    try:
        args = dict(_args(held))
        foreign.config = {theirs: args[each] for theirs, each in SETTINGS.items()}
        foreign.tensors = dict(_renamed(only_tensors(held["model"], foreign.folder / name)))
        sizes = [len(foreign.tensors[each]) for each in EMBEDDINGS]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise foreign.fault(f"{name}: fairseq's class TransformerModel did not write it.") from None
    with foreign.blaming(name):
        check_kinds(foreign.tensors)
    first, shared = (bool(args.get(each)) for each in ("encoder_normalize_before", "share_all_embeddings"))
    for each, value in (dict.fromkeys(REFUSED, False) | {"decoder_normalize_before": first}).items():
        if bool(args.get(each)) != value:
            raise foreign.wrong(f"{each} = {args.get(each)!r:.60} is another architecture.")
    foreign.config |= dict(zip(SIZES, sizes, strict=True)) | {
        "dropout": args.get("dropout", 0.1),
        "attention_dropout": args.get("attention_dropout") or 0.0,
        "activation_dropout": args.get("activation_dropout") or args.get("relu_dropout") or 0.0,
        "activation_function": args.get("activation_fn") or "relu",
        "scale_embedding": not args.get("no_scale_embedding"),
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": shared or bool(args.get("share_decoder_input_output_embed")),
    }
    foreign.ours = {"norm": "first" if first else "last"}
    foreign.tokenizer = {f"{side}_lang": args.get(f"{side}_lang") for side in ("source", "target")}
    foreign.generation = {"num_beams": 5, "max_length": 201}  # of fairseq-generate


def _args(held: Any) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a checkpoint, of which old ones hold one table and new ones several."""
    new = held.get("cfg") or {}
    for part in (held.get("args"), new.get("task"), new.get("model")):
        yield from (vars(part) if isinstance(part, Namespace) else part or {}).items()


def _renamed(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors by the names of transformers, also those of checkpoints from before 2019."""
    for name, tensor in tensors.items():
        start, _, end = f"model.{name}".rpartition(".")
        before, _, number = start.rpartition(".layer_norms.")
        if end.startswith("in_proj_"):  # query, key and value in one
            for part, each in zip("qkv", tensor.chunk(3), strict=True):
                yield f"{start}.{part}_proj.{end.removeprefix('in_proj_')}", each
        elif before:
            yield f"{before}.{NORMS[name.partition('.')[0]][int(number)]}.{end}", tensor
        elif name in ("decoder.output_projection.weight", "decoder.embed_out"):
            yield HEAD, tensor
        elif not name.endswith(LEFT_OUT):
            yield f"model.{name}", tensor


def read_vocabulary(foreign: Foreign, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary of a folder: its dictionaries and, if they are there, the SentencePiece models
    source.spm and target.spm, or one for both, that split text."""
    sides, names = [], []
    joint = sorted(foreign.folder.glob("*.model"))
    for side, own, size in zip(("source", "target"), SIDES, SIZES, strict=True):
        name = f"dict.{foreign.tokenizer.get(f'{side}_lang')}.txt"
        name = name if (foreign.folder / name).exists() else foreign.find("dict.txt", "dict.*.txt")
        table = _dictionary(foreign, name)
        if len(table) != settings[size]:
            here = f"{len(table)} tokens with the special ones"
            raise foreign.fault(f"{name}: {here}, but the model has {settings[size]}.")
        sides.append(read_apart(foreign, joint[0].name if len(joint) == 1 else own, table))
        names.append(name)
    models, tables = zip(*sides, strict=True)
    return number_pieces(foreign, settings, models, tables, names)


def _dictionary(foreign: Foreign, name: str) -> dict[str, int]:
    """Return the ids of the tokens in a dictionary: one a line, with its count."""
    table = {token: place for place, token in enumerate(CONTROL)}
    for number, line in enumerate(foreign.bytes(name).decode("utf-8", "replace").rstrip("\n").split("\n"), 1):
        token, *count = line.removesuffix(" #fairseq:overwrite").rstrip().rsplit(" ", 1)
        if len(count) != 1 or not count[0].isdigit():
            raise foreign.fault(f"{name}, line {number}: {line!r:.60} is not a token and its count.")
        table.setdefault(token, len(table))
    return table


FAMILY = Family(
    model_type="fairseq.pt",
    name="fairseq",
    defaults=DEFAULTS | dict(pad_token_id=1, decoder_start_token_id=2, eos_token_id=2),
    tokenizer="fairseq",
    tokenizers={"fairseq": read_vocabulary},
    ours={"positions": "fairseq"},
)
