"""The families of models that Pellucid reads. A new one is a file here, and its name below."""

from typing import Any

from pellucid.errors import PellucidError
from pellucid.interop.families import fairseq, m2m100, marian, marian_npz, mbart, pegasus
from pellucid.interop.families.bart import Family, Reader
from pellucid.interop.foreign import CONFIG, FAIRSEQ, MARIAN, TOKENIZER, Foreign

FAMILIES = {module.FAMILY.model_type: module.FAMILY for module in (marian, m2m100, pegasus, mbart)}
TOKENIZERS = {name: read for family in FAMILIES.values() for name, read in family.tokenizers.items()}
# Programs whose folders have no config.json: what opens them, by their weights.
OTHERS = {
    MARIAN: (marian_npz.open_marian, marian_npz.FAMILY),
    FAIRSEQ: (fairseq.open_fairseq, fairseq.FAMILY),
}


def open_other(foreign: Foreign) -> bool:
    """Read the settings and the weights of a folder without config.json; return whether there is one."""
    for pattern, (read, family) in OTHERS.items():
        if any(foreign.folder.glob(pattern)):
            read(foreign)
            foreign.config = {**foreign.config, "model_type": family.model_type}
            return True
    return False


def family_of(foreign: Foreign) -> Family:
    """Return the family of a model; raise an error if Pellucid does not have it."""
    kind: Any = foreign.config.get("model_type")
    others = {family.model_type: family for _, family in OTHERS.values()}
    known = FAMILIES if foreign.settings_in == CONFIG else others
    if kind not in known:
        raise PellucidError(
            f"{foreign.folder}: {CONFIG} says model_type = {kind!r:.60}, which is another architecture. "
            f"Pellucid takes in {', '.join(each.name for each in known.values())}. Choose such a folder."
        )
    return known[kind]


def tokenizer_of(foreign: Foreign) -> Reader:
    """Return what reads the vocabulary of a folder: any tokenizer may lie beside any model."""
    family = family_of(foreign)
    known = TOKENIZERS | {**family.tokenizers}
    name = foreign.tokenizer.get("tokenizer_class", family.tokenizer)
    if name not in known:
        raise foreign.fault(f"{TOKENIZER}: tokenizer_class = {name!r:.60} is not one of {', '.join(known)}.")
    return known[name]
