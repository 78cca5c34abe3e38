"""The keys of clients, of which each stands for a client of its own."""

import hmac
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.serve.admission import Refusal


class Keys:
    """The keys in a file, one on each line; without a file no key is needed."""

    def __init__(self, path: str | None) -> None:
        self._path, self._keys = path, list[bytes]()
        self.read()

    def read(self) -> None:
        """Read the file again; if that is not possible, raise an error, and keep the present keys."""
        if self._path is not None:
            try:
                keys = Path(self._path).read_bytes().split()
            except OSError as error:
                reason = error.strerror or error
                message = f"--keys {self._path}: {reason}. Name a file with one key on each line."
                raise PellucidError(message) from error
            if not keys:
                raise PellucidError(f"{self._path}: there is no key in this file. Write one on each line.")
            self._keys = keys

    @property
    def are_needed(self) -> bool:
        """Return whether a client needs a key."""
        return bool(self._keys)

    def client(self, given: str) -> str:
        """Return the name of the client whose key this is, or raise an error. The time that this takes does
        not tell how much of a key was right."""
        found = [hmac.compare_digest(given.encode("utf-8", "replace"), key) for key in self._keys]
        if not any(found):
            raise Refusal(403, "the key is wrong." if given else "the key is missing.")
        return f"key {found.index(True)}"
