"""The families of transformers models that Pellucid reads. A new one is a file here, and its name below."""

from pellucid.errors import PellucidError
from pellucid.interop.families import m2m100, marian, pegasus
from pellucid.interop.families.bart import Family, Reader
from pellucid.interop.foreign import CONFIG, TOKENIZER, Foreign

FAMILIES = {module.FAMILY.model_type: module.FAMILY for module in (marian, m2m100, pegasus)}
TOKENIZERS = {name: read for family in FAMILIES.values() for name, read in family.tokenizers.items()}


def family_of(foreign: Foreign) -> Family:
    """Return the family of a model; raise an error if Pellucid does not have it."""
    kind = foreign.config.get("model_type")
    if kind not in FAMILIES:
        raise PellucidError(
            f"{foreign.folder}: {CONFIG} says model_type = {kind!r:.60}, which is another architecture. "
            f"Pellucid takes in {', '.join(each.name for each in FAMILIES.values())}. Choose such a folder."
        )
    return FAMILIES[kind]


def tokenizer_of(foreign: Foreign) -> Reader:
    """Return what reads the vocabulary of a folder: any tokenizer may lie beside any model."""
    name = foreign.tokenizer.get("tokenizer_class", family_of(foreign).tokenizer)
    if name not in TOKENIZERS:
        raise foreign.fault(
            f"{TOKENIZER}: tokenizer_class = {name!r:.60} is not one of {', '.join(TOKENIZERS)}."
        )
    return TOKENIZERS[name]
