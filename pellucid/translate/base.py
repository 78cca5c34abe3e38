"""Sentences in, translations out."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack, overload

from pellucid.config.schema import Config
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.decoding import decode, decode_batch, evaluating
from pellucid.translate.ensemble import only_one
from pellucid.translate.hypotheses import Found
from pellucid.translate.options import Options, TranslationOptions, options_of
from pellucid.translate.score import Score, log_probabilities
from pellucid.translate.search import Request, Rules
from pellucid.translate.sentences import (
    CHARACTERS,
    TOKENS,
    Sentence,
    prefixes_of,
    read_source,
    read_target,
    take_ids,
    warn_of_truncation,
)
from pellucid.translate.stream import settled
from pellucid.translate.translation import Hypothesis, Translation

PRECISIONS = ("auto", "fp32", "bf16")
SCORED_TOKENS = 4096  # of sources or of targets that are scored together


class BaseTranslator:
    """A model and its vocabulary: translates, samples, streams and scores.

    Several models are an ensemble: a token's probability is the mean of theirs.

    Attributes:
        model: the Transformer, in float32. What measures or explains uses it.
        vocabulary: turns text into token ids and back (encode_source, decode_target, source_tokens, …).
        config: the Config that the model was trained with.
        serving: the model that translates: a copy in bf16 with precision="bf16", else the model itself.
        languages: the (source, target) pairs of languages that the model was made for.
    """

    def __init__(
        self,
        model: Transformer | Sequence[Transformer],
        vocabulary: Vocabulary,
        config: Config,
        precision: str = "auto",
    ) -> None:
        if precision not in PRECISIONS:
            raise UsageError(
                f"precision = {precision!r} is not one of {', '.join(PRECISIONS)}. Choose one of these."
            )
        self._models = (model,) if isinstance(model, Transformer) else tuple(model)
        self.vocabulary = vocabulary
        self.config = config
        # What measures or explains uses the model itself; what only translates may use fewer bits.
        self._serving = self._models
        if precision == "bf16":
            self._serving = tuple(copy.deepcopy(each).bfloat16() for each in self._models)
        self._never_said = [*never_said(self._models[0], vocabulary), *config.translation.suppressed]
        self._longest = max(TOKENS, self.config.data.max_length)

    def __repr__(self) -> str:
        config, count = self._models[0].config, len(self._models)
        shape = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
        shape = f"an ensemble of {count}, the first with {shape}" if count > 1 else shape
        languages = ", ".join(f"{source}→{target}" for source, target in self.languages)
        return f"<Translator {languages}{': ' if languages else ''}{shape}>"

    @property
    def model(self) -> Transformer:
        """The model in float32, which measures and explains; an error where there are several."""
        return only_one(self._models)

    @property
    def serving(self) -> Transformer:
        """The model that translates: `model`, or its copy in the precision that was asked for."""
        return only_one(self._serving)

    @property
    def languages(self) -> tuple[tuple[str, str], ...]:
        """The (source, target) pairs that the model was made for; the targets are what `to` may be."""
        return self.vocabulary.languages

    @property
    def _characters(self) -> int:
        """So many of a text are read at most; what comes after them is cut off."""
        return self._longest * CHARACTERS

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a Sequence[str] too, and then the first holds
        self, sources: str, to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> Translation: ...
    @overload
    def translate(
        self, sources: Sequence[str], to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> list[Translation]: ...
    def translate(
        self, sources: str | Sequence[str], to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> Translation | list[Translation]:
        """Translate a string into a Translation, a list into a list; an empty line has an empty translation.

        to: the target language; needed where the model has several.
        beam: hypotheses that are followed at once; 1 is greedy. Default: [translation] beam of the model, 5.
        n_best: how many of them are returned. Default: 1.
        length_penalty: a hypothesis's log-probability is divided by length ** length_penalty. Default: 1.0.
        min_length: the least tokens of a translation, without its end token. Default: 0.
        max_length: the most tokens, with the end token. Default: twice the source's tokens plus 20, at most
            [translation] max_length of the model, 512.
        prefix: text or token ids that the translation begins with: one for all sources, or a list with one
            for each. Default: none.
        sample: draw n_best hypotheses at random in place of the beam search. Default: False.
        temperature: with sample; below 1 favours likely tokens, above 1 unlikely ones. Default: 1.0.
        top_k: with sample; draw from so many of the likeliest tokens. Default: all.
        top_p: with sample; draw from the likeliest tokens that have this probability together. Default: 1.0.
        seed: with sample; the same seed draws the same. Default: 0.
        batch_tokens: source tokens that are translated together; less needs less memory. Default: what fits.
        """
        if not isinstance(sources, Iterable):
            raise UsageError(f"sources = {sources!r} must be a text, or a list of them.")
        texts = [sources] if isinstance(sources, str) else list(sources)
        self._check_language(to)
        sentences = [read_source(text, to, self.vocabulary, self._longest) for text in texts]
        warn_of_truncation(sentences, self._longest)
        translations = self._translate(sentences, options)
        return translations[0] if isinstance(sources, str) else translations

    def translate_ids(
        self, sources: Sequence[Sequence[int]], to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> list[Translation]:
        """As `translate`, for who tokenises elsewhere: a source is a list of ids with the end token in."""
        self._check_language(to)
        each = enumerate(sources)
        sentences = [take_ids(ids, number, to, self.vocabulary, self._longest) for number, ids in each]
        warn_of_truncation(sentences, self._longest)
        return self._translate(sentences, options)

    def stream(
        self, source: str, to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> Iterator[str]:
        """The text of a greedy translation (or one that is drawn), each piece as soon as it is settled."""
        if any(options.get(name) not in (None, 1) for name in ("beam", "n_best")):
            raise UsageError(
                "stream follows one hypothesis, for with more the text may change until its end. "
                "Leave out beam and n_best, or use translate."
            )
        self._check_language(to)
        sentence = read_source(source, to, self.vocabulary, self._longest)
        warn_of_truncation([sentence], self._longest)
        return self._stream(sentence, *self._requests([sentence], {**options, "beam": 1}))

    def score(self, sources: Sequence[str], targets: Sequence[str], to: str | None = None) -> list[Score]:
        """How probable each target is, given its source: log-probabilities, the end token included."""
        if isinstance(sources, str) or isinstance(targets, str) or len(sources) != len(targets):
            given = ["one text" if isinstance(side, str) else f"{len(side)}" for side in (sources, targets)]
            raise UsageError(
                f"score was given {given[0]} as sources and {given[1]} as targets. "
                "Give two lists with a target for each source."
            )
        self._check_language(to)
        asked = [read_source(text, to, self.vocabulary, self._longest) for text in sources]
        each = zip(targets, asked, strict=True)
        said = [read_target(text, sentence.to, self.vocabulary, self._longest) for text, sentence in each]
        either = [target if target.truncated else source for source, target in zip(asked, said, strict=True)]
        warn_of_truncation(either, self._longest)
        return self._score(asked, said)

    def _translate(self, sentences: Sequence[Sentence], given: Mapping[str, Any]) -> list[Translation]:
        requests, rules, options = self._requests(sentences, given)
        sources = [sentences[request.number].ids for request in requests]
        found = decode(self._serving, sources, requests, rules, options)
        of_number = {
            request.number: each[: options.n_best] for request, each in zip(requests, found, strict=True)
        }
        return [
            self._translation(sentence, of_number.get(number, []))
            for number, sentence in enumerate(sentences)
        ]

    def _score(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[Score]:
        source_ids, target_ids = [each.ids for each in sources], [each.ids for each in targets]
        scores = []
        for source, target, log_p in zip(
            sources,
            targets,
            log_probabilities(self._models, source_ids, target_ids, SCORED_TOKENS),
            strict=True,
        ):
            # As `translate` says nothing to an empty line, an empty target is certain there.
            said = [] if source.empty and target.empty else log_p
            scores.append(Score(sum(said), said, self.vocabulary.target_tokens(target.ids[: len(said)])))
        return scores

    def _stream(
        self, sentence: Sentence, requests: list[Request], rules: Rules, options: Options
    ) -> Iterator[str]:
        said, sources = "", [sentence.ids]
        if sentence.empty:
            return
        with evaluating(*self._serving):
            seeds = options.seeds.of(sources)
            for step in decode_batch(self._serving, sources, requests, seeds, rules, options):
                if step.done:
                    text = self._text(step.done[0][0].token_ids, sentence.to)
                else:
                    text = self._text(step.open.tokens[0, 0, 1:].tolist(), sentence.to)
                    text = settled(text, self.vocabulary.preparation)
                if len(text) > len(said):
                    yield text[len(said) :]
                    said = text

    def _requests(
        self, sentences: Sequence[Sentence], given: Mapping[str, Any]
    ) -> tuple[list[Request], Rules, Options]:
        """What the search is asked for: sentences that are not empty, each with its limit and its prefix."""
        prefixes = prefixes_of(given.get("prefix"), sentences, self.vocabulary)
        options = options_of(given, self.config.translation)
        config = self._models[0].config
        rules = Rules(
            config.start_id,
            config.end_id,
            forbidden=self._never_said,
            width=options.width,
            length_penalty=options.length_penalty,
            min_length=options.min_length,
            forced_end=self.config.translation.forced_end,
        )
        requests = []
        for number, (sentence, prefix) in enumerate(zip(sentences, prefixes, strict=True)):
            if not sentence.empty:
                limit = self._limit(len(sentence.ids), options)
                if len(prefix) >= limit:
                    raise UsageError(
                        f"sentence {number + 1}: a prefix of {len(prefix)} tokens leaves no room within "
                        f"max_length = {limit}. Set max_length = {len(prefix) + 1} or more."
                    )
                requests.append(Request(number, limit, prefix))
        return requests, rules, options

    def _limit(self, source_length: int, options: Options) -> int:
        if options.max_length is not None:
            return options.max_length
        return max(min(2 * source_length + 20, self.config.translation.max_length), options.min_length + 1)

    def _translation(self, sentence: Sentence, found: list[Found]) -> Translation:
        hypotheses = [self._hypothesis(each, sentence.to) for each in found] or [
            Hypothesis("", [], [], 0.0, [], True)
        ]
        return Translation(sentence.text, hypotheses, sentence.truncated)

    def _hypothesis(self, found: Found, to: str | None) -> Hypothesis:
        tokens = self.vocabulary.target_tokens(found.token_ids)
        return Hypothesis(self._text(found.token_ids, to), tokens, **vars(found))

    def _text(self, ids: list[int], to: str | None) -> str:
        # A byte token can be a line feed, and a translation is one line.
        return self.vocabulary.decode_target(ids, to).replace("\n", " ")

    def _check_language(self, to: str | None) -> None:
        if to is not None:
            self.vocabulary.target_language(to)


def never_said(model: Transformer, vocabulary: Vocabulary) -> list[int]:
    """Ids that no translation holds: pad, start, unknown, and the tags >>xx<< of a joint vocabulary."""
    config = model.config
    tags = [vocabulary.target.piece_to_id(f">>{language}<<") for language in vocabulary.target_languages]
    return sorted({config.pad_id, config.start_id, config.unknown_id, *tags} - {config.end_id})
