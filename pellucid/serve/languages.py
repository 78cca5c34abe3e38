"""Which model translates between which languages, and in which language a text is."""

import functools
from collections.abc import Iterable, KeysView, Sequence
from typing import Any, NamedTuple

from pellucid.errors import UsageError, did_you_mean, list_known
from pellucid.serve.codes import broad, by_codes, find, short

READ = 2000  # characters of a text, in which its language is detected


class Named(NamedTuple):
    """A model on the command line: its folder, and the pair of languages written after it, if any."""

    path: str
    pair: tuple[str, str] | None = None

    @classmethod
    def of(cls, written: str) -> "Named":
        """Read MODEL or MODEL:SOURCE-TARGET, such as runs/m30k:en-de."""
        path, colon, languages = written.rpartition(":")
        source, hyphen, target = languages.partition("-")
        is_pair = colon and hyphen and source.isidentifier() and target.replace("-", "_").isidentifier()
        return cls(path, (source, target)) if is_pair else cls(written)

    def pairs(self, languages: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs that this model serves, given those that it names itself: all, or the one that is
        written after its folder."""
        known = list(languages)
        if self.pair is None and not known:
            raise UsageError(
                f"{self.path} does not name its languages. Write them after it, such as {self.path}:en-de."
            )
        if self.pair is not None and known and self.pair not in known:
            offered = list_known([f"{source}-{target}" for source, target in known])
            raise UsageError(f"{self.path} does not translate {'-'.join(self.pair)}, but {offered}.")
        return known if self.pair is None else [self.pair]


class Languages:
    """The pairs of languages that are served, each with its model."""

    def __init__(self, models: Iterable[tuple[str, Iterable[tuple[str, str]], Any]]) -> None:
        self._models: dict[tuple[str, str], Any] = {}
        names: dict[tuple[str, str], str] = {}
        for name, pairs, model in models:
            for pair in pairs:
                if pair in names:
                    raise UsageError(
                        f"{names[pair]} and {name} both translate {'-'.join(pair)}. Leave one out, or choose "
                        f"another pair of one, such as {name}:SOURCE-TARGET."
                    )
                names[pair], self._models[pair] = name, model
        self.known = [*dict.fromkeys([*self.sources(), *self.targets()])]
        self._codes = by_codes(self.known)

    def find(self, code: str, among: Sequence[str], field: str = "") -> str:
        """Return the one of these languages that a client means by a code; raise an error if there is none.
        field: of the request, if the error shall name it and all of the languages."""
        if (found := find(code, self._codes)) is not None and found in among:
            return found
        if not field:
            raise UsageError(f"{code} is not supported")
        known = list_known([short(each).upper() for each in among])
        raise UsageError(f"{field} = {code[:20]!r} is not supported, but {known}.")

    @property
    def pairs(self) -> KeysView[tuple[str, str]]:
        """Return all pairs (source, target)."""
        return self._models.keys()

    def sources(self, target: str | None = None) -> list[str]:
        """Return the languages that can be translated to this one, or to any."""
        return [*dict.fromkeys(source for source, to in self._models if target in (None, to))]

    def targets(self, source: str | None = None) -> list[str]:
        """Return the languages that this one, or any, can be translated to."""
        return [*dict.fromkeys(to for begin, to in self._models if source in (None, begin))]

    def model(self, source: str, target: str) -> Any:
        """Return the model of a pair; raise an error if there is none."""
        if (source, target) in self._models:
            return self._models[source, target]
        for name, code, known in (("target", target, self.targets()), ("source", source, self.sources())):
            if code not in known:
                near = did_you_mean(code, known)
                raise UsageError(f"{name}: there is no language {code!r}, but {list_known(known)}.{near}")
        raise UsageError(
            f"no model translates {source} to {target}. From {source}: {list_known(self.targets(source))}."
        )


@functools.cache
def identifier() -> Any:
    """Return what detects languages. To load it takes a second."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect(text: str, among: Iterable[str]) -> dict[str, float]:
    """Return how probable it is, for each of these languages, that the text is in it; the likeliest first. It
    is 0 for a language that the detector does not know."""
    found = dict(identifier().rank(text[:READ]))
    likely = {code: found.get(broad(code), 0.0) for code in among}
    total = sum(likely.values()) or 1.0
    return {code: p / total for code, p in sorted(likely.items(), key=lambda each: -each[1])}
