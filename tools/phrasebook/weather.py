"""The weather, now, later and before."""

from collections.abc import Iterator

from tools.phrasebook.forms import Adverbial, rows
from tools.phrasebook.frames import Filled, Frame
from tools.phrasebook.lexicon import CITIES, TIMES, city

# The sentence in each language, and its times; in Hindi the time comes first.
_WEATHER = [
    [cell.strip() for cell in row.split("|")]
    for row in rows("""
it is raining {0} | il pleut {0} | está lloviendo {0} | {0} बारिश हो रही है | now
=it rains {0} | il pleut {0} | llueve {0} | {0} बारिश होती है | now
it is not raining {0} | il ne pleut pas {0} | no está lloviendo {0} | {0} बारिश नहीं हो रही है | now
is it raining {0}? | est-ce qu'il pleut {0} | está lloviendo {0} | {0} बारिश हो रही है | now
it is snowing {0} | il neige {0} | está nevando {0} | {0} बर्फ़ गिर रही है | now
is it snowing {0}? | est-ce qu'il neige {0} | está nevando {0} | {0} बर्फ़ गिर रही है | now
it is hot {0} | il fait chaud {0} | hace calor {0} | {0} गर्मी है | now
=it is warm {0} | il fait chaud {0} | hace calor {0} | {0} गर्मी है | now
it is very hot {0} | il fait très chaud {0} | hace mucho calor {0} | {0} बहुत गर्मी है | now
it is cold {0} | il fait froid {0} | hace frío {0} | {0} ठंड है | now
it is very cold {0} | il fait très froid {0} | hace mucho frío {0} | {0} बहुत ठंड है | now
it is not cold {0} | il ne fait pas froid {0} | no hace frío {0} | {0} ठंड नहीं है | now
it is not hot {0} | il ne fait pas chaud {0} | no hace calor {0} | {0} गर्मी नहीं है | now
is it cold {0}? | est-ce qu'il fait froid {0} | hace frío {0} | {0} ठंड है | now
is it hot {0}? | est-ce qu'il fait chaud {0} | hace calor {0} | {0} गर्मी है | now
it is sunny {0} | il y a du soleil {0} | hace sol {0} | {0} धूप है | now
it is windy {0} | il y a du vent {0} | hace viento {0} | {0} हवा चल रही है | now
the weather is good {0} | il fait beau {0} | hace buen tiempo {0} | {0} मौसम अच्छा है | now
=the weather is nice {0} | il fait beau {0} | hace buen tiempo {0} | {0} मौसम अच्छा है | now
=the weather is beautiful {0} | il fait beau {0} | hace buen tiempo {0} | {0} मौसम अच्छा है | now
the weather is bad {0} | il fait mauvais {0} | hace mal tiempo {0} | {0} मौसम खराब है | now
=is the weather nice {0}? | est-ce qu'il fait beau {0} | hace buen tiempo {0} | {0} मौसम अच्छा है | now
is the weather good {0}? | est-ce qu'il fait beau {0} | hace buen tiempo {0} | {0} मौसम अच्छा है | now
it will rain {0} | il va pleuvoir {0} | va a llover {0} | {0} बारिश होगी | later
it will not rain {0} | il ne va pas pleuvoir {0} | no va a llover {0} | {0} बारिश नहीं होगी | later
will it rain {0}? | est-ce qu'il va pleuvoir {0} | va a llover {0} | {0} बारिश होगी | later
it will snow {0} | il va neiger {0} | va a nevar {0} | {0} बर्फ़ गिरेगी | later
will it snow {0}? | est-ce qu'il va neiger {0} | va a nevar {0} | {0} बर्फ़ गिरेगी | later
it will be hot {0} | il va faire chaud {0} | va a hacer calor {0} | {0} गर्मी होगी | later
it will be cold {0} | il va faire froid {0} | va a hacer frío {0} | {0} ठंड होगी | later
will it be cold {0}? | est-ce qu'il va faire froid {0} | va a hacer frío {0} | {0} ठंड होगी | later
it rained {0} | il a plu {0} | llovió {0} | {0} बारिश हुई | before
it did not rain {0} | il n'a pas plu {0} | no llovió {0} | {0} बारिश नहीं हुई | before
it snowed {0} | il a neigé {0} | nevó {0} | {0} बर्फ़ गिरी | before
it was hot {0} | il faisait chaud {0} | hacía calor {0} | {0} गर्मी थी | before
it was cold {0} | il faisait froid {0} | hacía frío {0} | {0} ठंड थी | before
it was very cold {0} | il faisait très froid {0} | hacía mucho frío {0} | {0} बहुत ठंड थी | before
""")
]
_EMPTY = Adverbial("", "", "", "")
_THERE = [city(name, "in") for name in CITIES]
_WHEN = {
    "now": [_EMPTY, TIMES["today"], TIMES["now"], Adverbial("here", "ici", "aquí", "यहाँ"), *_THERE],
    "later": [_EMPTY, TIMES["tomorrow"], TIMES["today"], *_THERE],
    "before": [_EMPTY, TIMES["yesterday"], *_THERE],
}


def weather() -> Iterator[Frame]:
    for english, french, spanish, hindi, times in _WEATHER:
        mood = "question" if english.endswith("?") else "statement"
        sources = ("en",) if english.startswith("=") else ("en", "fr")
        for time in _WHEN[times]:
            yield Filled((english.strip("=?"), french, spanish, hindi), (time,), mood, sources)
