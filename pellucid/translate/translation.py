"""The translation of a sentence, and the part of an unfinished translation that will not change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pellucid.search.hypotheses import Found
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.call import Call

# Where sentences end, in many scripts. Of a source, what may be an abbreviation or an ordinal does not count,
# such as "z. B." or "am 3. Mai".
_END = re.compile(r"[.!?…।॥؟۔]+[\"'”’»)\]]*(?=\s|$)|[。！？]+")
_SURE_END = re.compile(r"(?<!\d)(?<!\b\w)[.!?…।॥؟۔]+[\"'”’»)\]]*(?=\s+(?![a-z])|\s*$)|[。！？]+")
# Shortened to two signs before: to look for the end of a long run takes the square of its length.
_RUN = re.compile(r"([.!?…।॥؟۔])[.!?…।॥؟۔]+")
LOST = "{} sentences in, {} out. Give the model one sentence a line."
TRUNCATED = "too long, only its beginning was translated. Split it into sentences."
UNFINISHED = (
    "the translation reached its limit of tokens and is not finished. Split the line into sentences, or "
    "raise the limit with max_length."
)
# A straight quotation mark may still be joined to the words on its left and on its right.
_QUOTE = re.compile(r"\"|(?<!\w)'|'(?!\w)")


@dataclass(frozen=True)
class Hypothesis:
    """One possible translation. Its tokens do not include the start token; they end with the end token if it
    is finished."""

    text: str
    tokens: list[str]
    token_ids: list[int]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    log_probabilities: list[float]
    finished: bool


@dataclass(frozen=True)
class Translation:
    """A source and its hypotheses, best first. `text`, `score` and `tokens` are those of the first."""

    source: str
    hypotheses: list[Hypothesis]
    truncated: bool = False  # the source was too long, and only its beginning was translated
    unknown: Sequence[str] = ()  # words or characters of the source that the vocabulary does not have
    source_shares: Sequence[float] | None = field(default=None, repr=False)  # of its tokens, if asked for

    @property
    def source_share(self) -> float | None:
        """Return the mean share of the source in the tokens of the best hypothesis, from 0 to 1, if it was
        asked for: docs/why.md. It is low where a model invents. None for an empty translation."""
        return fmean(self.source_shares) if self.source_shares else None

    @property
    def text(self) -> str:
        """Return the text of the best hypothesis."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """Return the score of the best hypothesis."""
        return self.hypotheses[0].score

    @property
    def tokens(self) -> list[str]:
        """Return the tokens of the best hypothesis."""
        return self.hypotheses[0].tokens

    @property
    def is_finished(self) -> bool:
        """Return whether the best hypothesis ends with the end token."""
        return self.hypotheses[0].finished

    @property
    def doubts(self) -> list[str]:
        """Say why the translation may be wrong: its source was cut, it is not finished, or it has fewer
        sentences, counted by their final punctuation. Unknown words are in `unknown`."""
        doubts = [TRUNCATED] if self.truncated else []
        source, text = (_RUN.sub(r"\1\1", each) for each in (self.source, self.text))
        said = len(_SURE_END.findall(source)), max(len(_END.findall(text)), 1)
        if not self.is_finished:
            doubts.append(UNFINISHED)
        elif said[1] < said[0]:
            doubts.append(LOST.format(*said))
        return doubts


def translations_of(
    call: Call, found: Sequence[Sequence[Found]], vocabulary: Vocabulary
) -> list[Translation]:
    """Return a translation for each sentence of the call, made from the hypotheses that the search found; an
    empty one for an empty sentence."""
    translations, each_found = [], iter(found)
    for sentence in call.sentences:
        hypotheses = [
            Hypothesis(
                text_of(each.token_ids, sentence.to, vocabulary),
                vocabulary.target_tokens(each.token_ids),
                **vars(each),
            )
            for each in ([] if sentence.empty else next(each_found))[: call.n_best]
        ]
        nothing = [Hypothesis("", [], [], 0.0, [], finished=True)]
        translations.append(
            Translation(sentence.text, hypotheses or nothing, sentence.truncated, sentence.unknown)
        )
    return translations


def text_of(ids: list[int], to: str | None, vocabulary: Vocabulary) -> str:
    """Return the text of target ids in one line: a line feed (some vocabularies have a token for it) becomes
    a space."""
    return vocabulary.decode_target(ids, to).replace("\n", " ")


def stable_beginning(text: str, preparation: str) -> str:
    """Return the beginning of an unfinished translation that later tokens cannot change."""
    text = text.rstrip("\ufffd")  # a character whose last bytes are missing
    if preparation != "words":
        return text
    quote = _QUOTE.search(text)
    # The last word may still get punctuation, and so may the word before a quotation mark.
    return text[: text.rfind(" ", 0, quote.start() if quote else len(text)) + 1]
