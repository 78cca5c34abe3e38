"""Text while it grows: what is settled already, whatever the next tokens are."""

import re

# Where a straight quotation mark stands, words to its left and right may yet be joined to it.
_QUOTE = re.compile(r"\"|(?<!\w)'|'(?!\w)")


def settled(text: str, preparation: str) -> str:
    """The beginning of an unfinished translation that its end cannot change."""
    text = text.rstrip("\ufffd")  # a character of which not all bytes have come
    if preparation != "words":
        return text
    quote = _QUOTE.search(text)
    # The last word may get punctuation, and so may the word before a quotation mark.
    return text[: text.rfind(" ", 0, quote.start() if quote else len(text)) + 1]
