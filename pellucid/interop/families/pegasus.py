"""Pegasus: MarianMT with the norm first. It was made for summaries, but any tokenizer may lie beside it."""

from pellucid.interop.families.bart import DEFAULTS, ONE_VOCABULARY, Family

FAMILY = Family(
    model_type="pegasus",
    name="MarianMT with the norm first (Pegasus)",
    defaults=DEFAULTS | dict(vocab_size=50265, pad_token_id=0, decoder_start_token_id=0, eos_token_id=1),
    tokenizer="PegasusTokenizer",
    fixed=ONE_VOCABULARY,
    ours={"norm": "first"},
)
