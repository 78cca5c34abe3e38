"""mBART-50: M2M100 with learned positions and a norm on the embeddings of both stacks."""

from pellucid.interop.families.bart import DEFAULTS, ONE_VOCABULARY, Family
from pellucid.interop.families.m2m100 import read_languages

FAMILY = Family(
    model_type="mbart",
    name="mBART-50",
    defaults=DEFAULTS | dict(vocab_size=50265, pad_token_id=1, decoder_start_token_id=2, eos_token_id=2),
    tokenizer="MBartTokenizer",  # of mBART-25, whose language comes after the text: not read
    tokenizers=dict.fromkeys(("MBart50Tokenizer", "MBart50TokenizerFast"), read_languages),
    fixed=ONE_VOCABULARY,
    ours={"norm": "first", "positions": "learned"},
)
