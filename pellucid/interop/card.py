"""The model card, README.md: what a model is, how to use it, under which licence, from which text, and how
good. Its header is what hubs of models read."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config
from pellucid.folder.load import without_weights
from pellucid.folder.whole_file import write_whole
from pellucid.interop.foreign import Foreign
from pellucid.text.vocabulary import targets_of

CARD = "README.md"
OURS = "<!-- Pellucid wrote this page, and writes it anew. To keep changes of yours, delete this line. -->"
TEXT = """---
{header}
---
{ours}

# {name}

{what}

```python
{use}
```

## Licence

{licence}
"""
UNKNOWN = (
    "Unknown: `[data] licence` did not say under which licence its text is. Find out before you give it away."
)
METRICS = {"bleu": "BLEU", "chrf": "chrF"}
CODE = re.compile(r"[a-z]{2,3}")  # of a language, by ISO 639
USE = {
    "pellucid": """import pellucid

translator = pellucid.load({folder!r})
print(translator.translate("Your sentence."{to}).text)""",
    "huggingface": """from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer, model = (each.from_pretrained({folder!r}) for each in (AutoTokenizer, AutoModelForSeq2SeqLM))
ids = model.generate(**tokenizer("{tag}Your sentence.", return_tensors="pt"))
print(tokenizer.decode(ids[0], skip_special_tokens=True))""",
    "ctranslate2": """import ctranslate2
from sentencepiece import SentencePieceProcessor

engine = ctranslate2.Translator({folder!r})
source = SentencePieceProcessor(model_file="{folder}/source.spm")
target = SentencePieceProcessor(model_file="{folder}/target.spm")
pieces = [{piece}*source.encode("Your sentence.", out_type=str), "</s>"]
print(target.decode(engine.translate_batch([pieces])[0].hypotheses[0]))""",
    "onnx": "# Two graphs and tokens.json. Pellucid's docs/elsewhere.md decodes them with onnxruntime.",
}
LIBRARIES = {"huggingface": "transformers"}  # the others are called as their programs


def read_licence(foreign: Foreign) -> str:
    """Return the licence that a model card names in its header; "" if there is none."""
    content = foreign.bytes(CARD) if (foreign.folder / CARD).exists() else b""
    return licence_in(content.decode("utf-8", "replace"))


def licence_in(card: str) -> str:
    """Return the licence that the header of a model card names; "" if there is none."""
    header = re.match(r"---\n(.*?)\n---", card, re.DOTALL)
    named = re.search(r"^license: *(\S.*?) *$", header[1], re.MULTILINE) if header else None
    return named[1].strip("'\"") if named else ""


def write_card(config: Config, manifest: Mapping[str, Any], folder: Path, program: str, name: str) -> None:
    """Write the model card of a folder, unless somebody else's is there; see `card_of`."""
    path = folder / CARD
    if not path.exists() or OURS in path.read_text("utf-8", "replace"):
        write_whole(path, card_of(config, manifest, program, name).encode())


def card_of(config: Config, manifest: Mapping[str, Any], program: str, name: str) -> str:
    """Return the model card of a folder for this program. name: of the folder, as its user will see it."""
    about = manifest.get("provenance", {})
    text = TEXT.format(
        header="\n".join(
            f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in _header(config, about, program, name).items()
            if value
        ),
        ours=OURS,
        name=name,
        what=_what(config, manifest),
        use=_use(config, program, name),
        licence=_licence(config, about),
    )
    if data := about.get("data"):
        text += "\n## Text\n\n| file | SHA-256 |\n|---|---|\n"
        text += "".join(f"| {file} | `{sha256}` |\n" for file, sha256 in data.items())
    if scores := about.get("scores", {}).get("validation"):
        text += f"\n## Quality\n\nOn {scores['sentences']:,} validation pairs, by which it was chosen:\n\n"
        text += "".join(
            f"- {name} {scores[metric]:.2f} (`{scores[f'{metric}_signature']}`)\n"
            for metric, name in METRICS.items()
        )
    return text


def _header(config: Config, about: Mapping[str, Any], program: str, name: str) -> dict[str, Any]:
    """Return what hubs read. It is written as YAML, of which JSON is a part."""
    scores, results = about.get("scores", {}).get("validation"), []
    if scores:
        task, text = {"type": "translation"}, {"name": "validation text", "type": "text"}
        metrics = [{"type": metric, "value": round(scores[metric], 2)} for metric in METRICS]
        results = [{"name": name, "results": [{"task": task, "dataset": text, "metrics": metrics}]}]
    codes = dict.fromkeys(code for pair in config.data.languages for code in pair if CODE.fullmatch(code))
    return {
        "language": [*codes],
        "license": about.get("licence") or config.data.licence,
        "library_name": LIBRARIES.get(program, program),
        "pipeline_tag": "translation",
        "tags": ["translation", "pellucid"],
        "model-index": results,
    }


def _licence(config: Config, about: Mapping[str, Any]) -> str:
    """Say what the licence is, and that of what."""
    licence = about.get("licence") or config.data.licence
    if not licence:
        return UNKNOWN
    return f"{licence}: that of its text." if licence == config.data.licence else f"{licence}."


def _what(config: Config, manifest: Mapping[str, Any]) -> str:
    about, step = manifest.get("provenance", {}), manifest.get("step")
    model, size = config.model, sum(each.numel() for each in without_weights(config.model).parameters())
    pairs = ", ".join(f"{source} to {target}" for source, target in config.data.languages)
    made = about.get("what") or f"imported from {about.get('folder', 'elsewhere')}"
    made = made if step is None else f"step {step}"  # a checkpoint
    return (
        f"An encoder-decoder Transformer that translates{f' ({pairs})' if pairs else ''}: {size:,} "
        f"parameters, {model.encoder_layers}+{model.decoder_layers} layers, width {model.width}; {made}."
    )


def _use(config: Config, program: str, name: str) -> str:
    targets = targets_of(config.data.languages)
    to = targets[0] if len(targets) > 1 else ""
    tags = {"to": f", to={to!r}", "tag": f">>{to}<< ", "piece": f'">>{to}<<", '} if to else {}
    return USE[program].format(folder=name, **dict.fromkeys(("to", "tag", "piece"), "") | tags)
