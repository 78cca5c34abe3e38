"""Explanations of the tiny translator, for the tests of what is read and of how it is shown."""

import dataclasses
import math
from typing import Any

import pytest
import torch
from tiny import translator

from pellucid.explanation import Explanation
from pellucid.seeing.records import Record


def replaced(explanation: Explanation, record: Record) -> Explanation:
    """The explanation with another tensor in its trace."""
    trace: Any = {**explanation.trace, record.name: record}
    return dataclasses.replace(explanation, trace=trace)


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def spanish() -> Explanation:
    return translator().explain("I like cats", to="es", target="Me gustan los gatos")


@pytest.fixture(scope="module")
def pieces() -> Explanation:
    """With a vocabulary that cuts words into pieces."""
    return translator(kind="unigram").explain("I like cats", to="es", target="Me gustan los gatos")


@pytest.fixture(scope="module")
def broken() -> Explanation:
    """Of a model with one weight that is not a number."""
    served = translator()
    with torch.no_grad():
        next(served.model.encoder.layers.parameters())[0, 0] = math.nan
    return served.explain("I like cats", to="es", target="Me gustan los gatos")
