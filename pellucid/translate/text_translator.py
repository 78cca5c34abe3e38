"""Translate text: sentences in, translations out."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Unpack, cast, overload

from pellucid.config.schema import Config
from pellucid.decoding.decoder import Decoder, open_session
from pellucid.decoding.ensemble import only_one
from pellucid.decoding.serving import Serving
from pellucid.decoding.threads import decode, decode_each
from pellucid.errors import Setting, UsageError
from pellucid.model import Transformer
from pellucid.search.lane import raise_if_failed
from pellucid.search.options import TranslationOptions
from pellucid.search.request import Request
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.call import Call, is_one, make_call
from pellucid.translate.likelihood import Along, Score, score_texts
from pellucid.translate.sentences import (
    TOKENS,
    Sentence,
    check_texts,
    read_source,
    read_target,
    take_ids,
    warn_of_truncation,
)
from pellucid.translate.source_share import UsualShare, source_shares
from pellucid.translate.translation import Translation, stable_beginning, text_of, translations_of

USUAL = (64, 32)  # tokens of sources, of those that come one by one
MANY = 300  # of each: sentences for which there should be room


class TextTranslator:
    """A model and its vocabulary: translates, samples, streams and scores.

    Several models form an ensemble: the probability of a token is the mean of the models' probabilities.

    Attributes:
        vocabulary: turns text into token ids and back (encode_source, decode_target, source_tokens, …).
        config: the Config that the model was trained with.
        usual_share: the source's share in translations of its validation text, if its folder says so.
    """

    usual_share: UsualShare | None = None

    def __init__(
        self,
        model: Transformer | Sequence[Transformer],
        vocabulary: Vocabulary,
        config: Config,
        precision: str = "auto",
    ) -> None:
        self._models = (model,) if isinstance(model, Transformer) else tuple(model)
        self.vocabulary = vocabulary
        self.config = config
        self._serving = Serving(self._models, precision)
        # Tokens that are read of a text; a model with learned positions has not more of these.
        positions = [each.config.longest for each in self._models if each.config.positions == "learned"]
        self.longest = min([max(TOKENS, self.config.data.max_length), *positions])

    def __repr__(self) -> str:
        config, count = self._models[0].config, len(self._models)
        shape = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
        shape = f"an ensemble of {count}, the first with {shape}" if count > 1 else shape
        languages = ", ".join(f"{source}→{target}" for source, target in self.languages)
        return f"<Translator {languages}{': ' if languages else ''}{shape}>"

    @property
    def model(self) -> Transformer:
        """Return the only model, which scores and explains: in float32, unless it was loaded in bf16. Raise
        an error for an ensemble."""
        return only_one(self._models)

    @property
    def serving(self) -> Transformer:
        """Return the model that translates when no engine is used: `model`, or its copy in bf16 or fp16.
        Inside `pellucid.editing`, an edit of this model changes the translations."""
        return only_one(self._serving.models)

    @property
    def languages(self) -> tuple[tuple[str, str], ...]:
        """Return the (source, target) language pairs; () if they have no names. `to` is a target."""
        return self.vocabulary.languages

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a Sequence[str] too, and then the first holds
        self,
        sources: str,
        to: str | None = None,
        *,
        source_share: bool = False,
        **options: Unpack[TranslationOptions],
    ) -> Translation: ...
    @overload
    def translate(
        self,
        sources: Sequence[str],
        to: str | None = None,
        *,
        source_share: bool = False,
        **options: Unpack[TranslationOptions],
    ) -> list[Translation]: ...
    def translate(
        self,
        sources: str | Sequence[str],
        to: str | None = None,
        *,
        source_share: bool = False,
        **options: Unpack[TranslationOptions],
    ) -> Translation | list[Translation]:
        """Translate a string into a Translation, or a list into a list. An empty line has an empty
        translation.

        to: the target language; needed if the model has several, unless the source begins with >>xx<<.
        source_share: also measure how much of each word comes from the source, for `.source_share` of the
            translations. It costs up to three times the translation. Default: False.
        beam: how many hypotheses are followed; 1 is greedy. Default: the model's [translation] beam, 5.
        n_best: how many hypotheses are returned. Default: 1.
        length_penalty: a hypothesis's log-probability is divided by length ** length_penalty. Default: 1.0.
        min_length: the fewest tokens of a translation, without its end token. Default: 0.
        max_length: the most tokens of a translation, with its end token. Default: twice the source's tokens
            plus 20, at most [translation] max_length of the model, 512.
        no_repeat_ngram_size: no sequence of so many tokens comes twice; 0 is off. Default: the model's, 0.
        repetition_penalty: above 1, tokens that came before become less probable. Default: the model's, 1.0.
        early_stopping: stop as soon as `beam` hypotheses are finished. If False, go on while an open one has
            a better score. Default: the model's, True.
        prefix: text or token ids that the translation begins with: one for all sources, or a list with one
            for each. Default: none.
        sample: draw n_best hypotheses at random instead of beam search. Default: False.
        temperature: with sample; below 1 favours likely tokens, above 1 unlikely ones. Default: 1.0.
        top_k: with sample; draw only from the top_k likeliest tokens. Default: all.
        top_p: with sample; draw from the likeliest tokens that together have this probability. Default: 1.0.
        seed: with sample; the same seed gives the same translations. Default: 0.
        batch_tokens: source tokens that are decoded together; fewer need less memory. Default: what fits.
        memory: MB that translating may take besides the model; sentences that do not fit wait. Default: 4000.
        """
        several = isinstance(sources, Iterable) and not isinstance(sources, str | bytes)
        texts = list(sources) if several else [cast("str", sources)]
        sentences = self._read_sources(texts, to)
        measured = self._translate_measured if source_share else self._translate
        translations = measured(sentences, options)
        return translations[0] if isinstance(sources, str) else translations

    def translate_each(
        self, sources: Iterable[str], to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> Iterator[Translation]:
        """Translate texts as they come, for example the lines of a file or of a pipe, and yield their
        translations in order. However many they are, they take no more memory. The options are those of
        `translate`, with one prefix for all; what was too long is marked, but not warned of. The weights are
        those at the first translation, and so is an edit."""
        if isinstance(sources, str | bytes):
            raise UsageError("translate_each was given a single text. Put it in a list: [text].")
        if not is_one(options.get("prefix")):
            raise UsageError(
                "{}: a list of prefixes. Give translate_each one, or use translate.",
                Setting("prefix"),
            )
        call = self.typical(to, options)
        return self._translate_each(sources, to, options, call)

    def _translate_each(
        self, sources: Iterable[str], to: str | None, options: TranslationOptions, typical: Call
    ) -> Iterator[Translation]:
        calls, numbers = deque[Call](), itertools.count()

        def prepare(text: str) -> Request | None:
            number = next(numbers)
            calls.append(self.call(self._read_sources([text], to, number), options, number))
            return next(iter(calls[-1].requests), None)

        decoder = self.decoder(typical)
        for hypotheses in decode_each(decoder, sources, prepare, typical.requests, typical.special):
            call = calls.popleft()
            yield from translations_of(call, [hypotheses] if call.requests else [], self.vocabulary)

    def translate_ids(
        self, sources: Sequence[Sequence[int]], to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> list[Translation]:
        """Translate sources that the caller has tokenised: lists of ids, each ending with the end token."""
        self._check_language(to)
        each = enumerate(sources)
        sentences = [take_ids(ids, number, to, self.vocabulary, self.longest) for number, ids in each]
        return self._translate(sentences, options)

    def stream(
        self, source: str, to: str | None = None, **options: Unpack[TranslationOptions]
    ) -> Iterator[str]:
        """Yield a greedy or sampled translation piece by piece, each piece as soon as later tokens cannot
        change it. Raise an error if `beam` or `n_best` is above 1."""
        if any(options.get(name) not in (None, 1) for name in ("beam", "n_best")):
            raise UsageError(
                "stream follows one hypothesis, because with several the text may change until its end. "
                "Leave out beam and n_best, or use translate."
            )
        sentences = self._read_sources([source], to)
        warn_of_truncation(sentences, self.longest)
        return self._stream(sentences[0], self.call(sentences, {**options, "beam": 1}))

    def score(
        self, sources: Sequence[str], targets: Sequence[str], to: str | None = None, along: Along = iter
    ) -> list[Score]:
        """Return how probable each target is as the translation of its source: the log-probability of each
        token, end token included, and their sum. The language with which a target of M2M100 or NLLB begins
        has the log-probability 0. along: takes the list of batches and yields them, such as tqdm."""
        if isinstance(sources, str) or isinstance(targets, str) or len(sources) != len(targets):
            sides = ["one text" if isinstance(side, str) else f"{len(side)}" for side in (sources, targets)]
            raise UsageError(
                f"score was given {sides[0]} as sources and {sides[1]} as targets. "
                "Give two lists with a target for each source."
            )
        check_texts(targets, "target")
        asked = self._read_sources(sources, to)
        each = zip(targets, asked, strict=True)
        wanted = list[Sentence]()
        for number, (text, source) in enumerate(each, 1):
            if source.empty and source.to is None and text.strip() and self.vocabulary.target_languages[1:]:
                reason = "the source is empty, so it names no language for its target"
                raise UsageError(f"pair {number}: {reason}. Leave the pair out, or say the language.")
            wanted.append(read_target(text, source.to, self.vocabulary, self.longest))
        pairs = list(zip(asked, wanted, strict=True))
        cut = [target if target.truncated else source for source, target in pairs]
        warn_of_truncation(cut, self.longest)
        return score_texts(self._models, pairs, self.vocabulary, along)

    def call(self, sentences: Sequence[Sentence], options: TranslationOptions, first: int = 0) -> Call:
        """Return the input of the search: sentences, a request for each that is not empty, and rules. first:
        the index of the first sentence."""
        return make_call(sentences, options, self._models[0], self.vocabulary, self.config.translation, first)

    def prepare(self, texts: Sequence[str], to: str | None, options: TranslationOptions) -> Call:
        """Return the input of the search for these texts."""
        return self.call(self._read_sources(texts, to), options)

    def typical(self, to: str | None, options: TranslationOptions) -> Call:
        """Return the input of the search for sentences of usual lengths, which tells how much room those need
        that come one by one."""
        self._check_language(to)
        to = to or next(iter(self.vocabulary.target_languages), None)  # any, if each source names its own
        lengths = (self.longest, *USUAL * MANY)
        sentences = [Sentence("", "", [self.vocabulary.end_id] * each, to) for each in lengths]
        # Without the prefix, which may be too long for them though it is not for the sources.
        return self.call(sentences, {**options, "prefix": None})

    def decoder(self, call: Call) -> Decoder:
        """Return what decodes the sentences of this call: engines, or the models in PyTorch."""
        return self._serving.decoder(call.requests)

    def _read_sources(self, texts: Sequence[str], to: str | None, first: int = 0) -> list[Sentence]:
        self._check_language(to)
        check_texts(texts, first=first)
        return [read_source(text, to, self.vocabulary, self.longest) for text in texts]

    def _translate(self, sentences: Sequence[Sentence], options: TranslationOptions) -> list[Translation]:
        warn_of_truncation(sentences, self.longest, stacklevel=4)
        call = self.call(sentences, options)
        results = decode(self.decoder(call), call.requests, call.special) if call.requests else []
        return translations_of(call, results, self.vocabulary)

    def _translate_measured(
        self, sentences: Sequence[Sentence], options: TranslationOptions
    ) -> list[Translation]:
        model = self.model  # an ensemble has none: an error before the work
        translations = self._translate(sentences, options)
        said = [translation.hypotheses[0].token_ids for translation in translations]
        pairs = [(sentence.ids, ids) for sentence, ids in zip(sentences, said, strict=True)]
        each = zip(translations, source_shares(model, pairs), strict=True)
        return [replace(translation, source_shares=shares) for translation, shares in each]

    def _stream(self, sentence: Sentence, call: Call) -> Iterator[str]:
        said, ended = "", not call.requests
        if ended:
            return
        with open_session(self.decoder(call), call.requests, call.special) as session:
            while not ended:
                step = session.step()
                ended = session.is_idle
                if ended:
                    ids = raise_if_failed(step.ended[0])[0].token_ids
                else:
                    ids = step.open[0].hypotheses.tokens[0, 0, 1:].tolist()
                text = text_of(ids, sentence.to, self.vocabulary)
                text = text if ended else stable_beginning(text, self.vocabulary.preparation)
                if len(text) > len(said):
                    yield text[len(said) :]
                    said = text

    def _check_language(self, to: str | None) -> None:
        if to is not None:
            self.vocabulary.target_language(to)
