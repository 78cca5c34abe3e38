"""The keys of clients, of which each stands for a client of its own."""

import hmac
from dataclasses import replace
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.serve.admission import Refusal
from pellucid.serve.routes import Asked, Route


class Keys:
    """The keys in a file, one on each line; without a file no key is needed."""

    def __init__(self, path: str | None) -> None:
        self._keys = [] if path is None else Path(path).read_bytes().split()
        if path is not None and not self._keys:
            raise PellucidError(f"{path}: there is no key in this file. Write one on each line.")

    @property
    def are_needed(self) -> bool:
        """Return whether a client needs a key."""
        return bool(self._keys)

    def admit(self, route: Route, asked: Asked) -> Asked:
        """Return the request with its key's number as its client. Raise an error for a wrong key, which takes
        as long for each. A key stands in the header Authorization, behind a word, or in the field api_key."""
        words = asked.request.headers.get("authorization", "").split() or [""]
        given = str(getattr(asked.body, "api_key", None) or words[-1]).encode("utf-8", "replace")
        found = [hmac.compare_digest(given, key) for key in self._keys]
        if route.is_open or not self.are_needed:
            return asked
        if not any(found):
            raise Refusal(403, "the key is missing." if not given else "the key is wrong.")
        return replace(asked, client=f"key {found.index(True)}")
