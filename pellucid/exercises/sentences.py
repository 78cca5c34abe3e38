"""The sentences that the exercises ask about, as the demo model translates them."""

import functools

from pellucid.explanation import Explanation
from pellucid.translator import Translator, load


@functools.cache
def demo() -> Translator:
    """The model that comes with the package."""
    return load("demo", "cpu", precision="fp32")


@functools.cache
def explained(text: str, to: str, target: str | None = None) -> Explanation:
    """A translation of the demo model with every matrix."""
    return demo().explain(text, to=to, target=target)


def how_are_you() -> Explanation:
    """How are you → आप कैसे हैं."""
    return explained("How are you", "hi")


def cats() -> Explanation:
    """I like cats → Me gustan los gatos."""
    return explained("I like cats", "es")
