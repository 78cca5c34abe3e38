"""The beginning of a growing text that no later token can change."""

import re

# A straight quotation mark may still be joined to the words on its left and on its right.
_QUOTE = re.compile(r"\"|(?<!\w)'|'(?!\w)")


def stable_beginning(text: str, preparation: str) -> str:
    """Return the beginning of an unfinished translation that its end cannot change."""
    text = text.rstrip("\ufffd")  # a character whose last bytes are missing
    if preparation != "words":
        return text
    quote = _QUOTE.search(text)
    # The last word may still get punctuation, and so may the word before a quotation mark.
    return text[: text.rfind(" ", 0, quote.start() if quote else len(text)) + 1]
