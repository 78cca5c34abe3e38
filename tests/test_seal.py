"""What sealing writes: values as JSON can say them."""

import json
import math

from pellucid.seal import jsonable


def test_json_has_words_for_what_is_not_a_finite_number() -> None:
    value = {"best": -math.inf, 3: (math.nan, [math.inf, 0.1 + 0.2]), "none": None, "on": True, "name": "inf"}
    said = {"best": "-inf", "3": ["nan", ["inf", 0.1 + 0.2]], "none": None, "on": True, "name": "inf"}
    assert jsonable(value) == said
    assert json.loads(json.dumps(said, allow_nan=False)) == said
