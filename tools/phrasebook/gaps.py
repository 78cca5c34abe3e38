"""Sentences with gaps, person by person: having, wanting, hunger, names, countries, the weather."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.forms import rows
from tools.phrasebook.frames import Filled, Frame, Pair, Thing, agreement
from tools.phrasebook.lexicon import ADJECTIVES, CITIES, city
from tools.phrasebook.nouns import COUNTED, NAMES, NOUNS
from tools.phrasebook.suits import all_described

# Who, in the forms that these sentences need. English: am, do | French: avoir, vouloir, voudrais, venir
#     | Spanish: tener, querer, quisiera, necesitar, ser | Hindi: whom, with whom, the subject, to be
_WHO = [
    [[form.replace("_", " ").strip("-") for form in cell.split()] for cell in row.split("|")]
    for row in rows("""
I am do     | je ai veux voudrais viens
    | - tengo quiero quisiera necesito soy                | मुझे मेरे_पास मैं हूँ
you are do  | vous avez voulez voudriez venez
    | usted tiene quiere quisiera necesita es             | आपको आपके_पास आप हैं
he is does  | il a veut voudrait vient
    | él tiene quiere quisiera necesita es                | उसे उसके_पास वह है
she is does | elle a veut voudrait vient
    | ella tiene quiere quisiera necesita es              | उसे उसके_पास वह है
we are do   | nous avons voulons voudrions venons
    | - tenemos queremos quisiéramos necesitamos somos    | हमें हमारे_पास हम हैं
they are do | ils ont veulent voudraient viennent
    | ellos tienen quieren quisieran necesitan son        | उन्हें उनके_पास वे हैं
my_sister is does    | ma_sœur a veut voudrait vient
    | mi_hermana tiene quiere quisiera necesita es        | मेरी_बहन_को मेरी_बहन_के_पास मेरी_बहन है
my_brother is does   | mon_frère a veut voudrait vient
    | mi_hermano tiene quiere quisiera necesita es        | मेरे_भाई_को मेरे_भाई_के_पास मेरा_भाई है
the_children are do  | les_enfants ont veulent voudraient viennent
    | los_niños tienen quieren quisieran necesitan son    | बच्चों_को बच्चों_के_पास बच्चे हैं
Maria is does        | Maria a veut voudrait vient
    | Maria tiene quiere quisiera necesita es             | मारिया_को मारिया_के_पास मारिया है
""")
]
_ASKING = [row for row in _WHO if row[0][0] not in ("I", "we")]


def _thing(name: str, determiner: str, adjective: str = "", plural: bool = False) -> Thing:
    return Thing(NOUNS[name], determiner, ADJECTIVES[adjective] if adjective else None, plural)


_OWNED = all_described("dog cat horse car bike phone computer book house boat bag hat ball shirt room", "a")
_OWNED += all_described("question problem idea gift dream", "a")
_OWNED += [
    _thing(name, "a") for name in (*COUNTED["animals"], *COUNTED["things"], *COUNTED["food"]) if name != "eye"
]
_OWNED += [_thing(name, number, "", True) for name in ("cat", "dog", "book") for number in ("two", "three")]
_OWNED += [
    _thing(name, number, "", True) for name in ("apple", "car", "horse") for number in ("two", "three")
]
_OWNED += [
    _thing(name, number, "", True)
    for name in (
        *COUNTED["animals"],
        *COUNTED["things"],
        *COUNTED["food"],
        "son",
        "daughter",
        "sister",
        "brother",
    )
    for number in ("two", "three", "four", "five", "ten")
]
_MASS = [_thing(name, "some") for name in ["money", "water", "bread", "milk", "cheese", "chocolate", "rice"]]


def having() -> Iterator[Frame]:
    """I have a dog, in the three moods; in French pas de."""
    for ((en, _, do), (fr, a, *_), (es, tiene, *_), (_, hi, *_)), thing in product(_WHO, [*_OWNED, *_MASS]):
        has = "have" if do == "do" else "has"
        texts = (f"{en} {has} {{0}}", f"{fr} {a} {{0}}", f"{es} {tiene} {{0}}", f"{hi} {{0}} {{is0}}")
        yield Filled(texts, (thing,))
        if not thing.plural:
            western = (f"{en} {do} not have {{0}}", f"{fr} ne {a} pas {{no0}}", f"{es} no {tiene} {{0}}")
            yield Filled((*western, f"{hi} {{0}} नहीं {{is0}}"), (thing,), "not")
    for ((en, _, do), (fr, a, *_), (es, tiene, *_), (_, hi, *_)), thing in product(
        _ASKING, [*_OWNED, *_MASS]
    ):
        western = (f"{do} {en} have {{0}}", f"est-ce que {fr} {a} {{0}}", f"{es} {tiene} {{0}}")
        yield Filled((*western, f"{hi} {{0}} {{is0}}"), (thing,), "question")


_WANTED = [
    _thing(name, "a")
    for name in ["coffee", "tea", "pizza", "apple", "orange", "car", "phone", "computer", "book", "bag"]
]
_WANTED += [_thing(name, "a") for name in ["dog", "cat", "room", "cake", "banana", "bike", "gift", "shirt"]]
_WANTED += [
    _thing(name, "a") for name in (*COUNTED["food"], *COUNTED["things"]) if name not in ("hand", "eye")
]
_SUPPLIES = [
    _thing(name, "some")
    for name in ["water", "milk", "bread", "money", "juice", "wine", "meat", "cheese", "soup"]
]
_POLITE = [
    ("", "", ""),
    (" please", " s'il vous plaît", " por favor"),
    (", please", ", s'il vous plaît", ", por favor"),
]


def wanting() -> Iterator[Frame]:
    """I want, I would like, I need; Hindi says चाहिए for the first two."""
    for who, thing in product(_WHO, [*_WANTED, *_SUPPLIES]):
        (en, _, do), (fr, a, veut, voudrait, _), (es, _, quiere, quisiera, necesita, _), (hi, *_) = who
        s = "s" if do == "does" else ""
        yield Filled(
            (f"{en} want{s} {{0}}", f"{fr} {veut} {{0}}", f"{es} {quiere} {{0}}", f"{hi} {{0}} चाहिए"),
            (thing,),
        )
        for please, plaît, favor in _POLITE if en in ("I", "we") else _POLITE[:1]:
            texts = (
                f"{en} would like {{0}}{please}",
                f"{fr} {voudrait} {{0}}{plaît}",
                f"{es} {quisiera} {{0}}{favor}",
            )
            yield Filled((*texts, f"{'कृपया ' if please else ''}{hi} {{0}} चाहिए"), (thing,))
        of = "{no0}" if thing.determiner == "some" else "de {0}"
        texts = (f"{en} need{s} {{0}}", f"{fr} {a} besoin {of}", f"{es} {necesita} {{0}}")
        yield Filled((*texts, f"{hi} {{o0}} की ज़रूरत है"), (thing,))
        if who in _ASKING:
            texts = (f"{do} {en} want {{0}}", f"est-ce que {fr} {veut} {{0}}", f"{es} {quiere} {{0}}")
            yield Filled((*texts, f"{hi} {{0}} चाहिए"), (thing,), "question")
    for who, word in product(_ASKING, ("or", "and")):
        (en, _, do), (fr, _, veut, *_), (es, _, quiere, *_), (hi, *_) = who
        texts = (f"{do} {en} want {{0}}", f"est-ce que {fr} {veut} {{0}}", f"{es} {quiere} {{0}}")
        for first, second in (("tea", "coffee"), ("water", "wine"), ("milk", "juice"), ("meat", "fish")):
            choice = (Pair(_thing(first, "some"), _thing(second, "some"), word),)
            yield Filled((*texts, f"{hi} {{0}} चाहिए"), choice, "question")


_STATES = [
    [cell.strip() for cell in row.split("|")]
    for row in rows("""
hungry  | faim    | hambre | भूख लगी
thirsty | soif    | sed    | प्यास लगी
cold    | froid   | frío   | ठंड लग रही
sleepy  | sommeil | sueño  | नींद आ रही
""")
]


def hungry() -> Iterator[Frame]:
    """Where English says to be, French and Spanish say to have: j'ai faim, tengo hambre."""
    for who, (state, faim, hambre, bhukh) in product(_WHO, _STATES):
        (en, am, _), (fr, a, *_), (es, tiene, *_), (hi, *_) = who
        yield Filled(
            (f"{en} {am} {state}", f"{fr} {a} {faim}", f"{es} {tiene} {hambre}", f"{hi} {bhukh} है"), ()
        )
        texts = (f"{en} {am} not {state}", f"{fr} ne {a} pas {faim}", f"{es} no {tiene} {hambre}")
        first, _, rest = bhukh.partition(" ")
        yield Filled((*texts, f"{hi} {first} नहीं {rest} है"), (), "not")
        texts = (f"{en} {am} very {state}", f"{fr} {a} très {faim}", f"{es} {tiene} mucho {hambre}")
        much = texts if state in ("cold", "sleepy") else (*texts[:2], f"{es} {tiene} mucha {hambre}")
        yield Filled((*much, f"{hi} बहुत {bhukh} है"), ())
        if who in _ASKING:
            texts = (f"{am} {en} {state}", f"est-ce que {fr} {a} {faim}", f"{es} {tiene} {hambre}")
            yield Filled((*texts, f"{hi} {bhukh} है"), (), "question")


_NAMED = [
    [cell.strip() for cell in row.split("|")]
    for row in rows("""
my name is {0}      | je m'appelle {0}       | me llamo {0}      | मेरा नाम {0} है
his name is {0}     | il s'appelle {0}       | él se llama {0}   | उसका नाम {0} है
her name is {0}     | elle s'appelle {0}     | ella se llama {0} | उसका नाम {0} है
I am {0}            | je suis {0}            | soy {0}           | मैं {0} हूँ
who is {0}?         | qui est {0}            | quién es {0}      | {0} कौन है
where is {0}?       | où est {0}             | dónde está {0}    | {0} कहाँ है
hello {0}           | bonjour {0}            | hola {0}          | नमस्ते {0}
thank you {0}       | merci {0}              | gracias {0}       | धन्यवाद {0}
goodbye {0}         | au revoir {0}          | adiós {0}         | अलविदा {0}
I love {0}          | j'aime {0}             | amo a {0}         | मैं {0} से प्यार करता हूँ
is your name {0}?   | est-ce que vous vous appelez {0} | usted se llama {0} | आपका नाम {0} है
{0} is here         | {0} est ici            | {0} está aquí     | {0} यहाँ है
{0} is not here     | {0} n'est pas ici      | {0} no está aquí  | {0} यहाँ नहीं है
""")
]


def names() -> Iterator[Frame]:
    for (english, *others), name in product(_NAMED, NAMES):
        if not (name.endswith("a") or name in ("Lucy", "Alice")) or "his name" not in english:
            mood = "who" if english[:3] in ("who", "whe") else "question" if "?" in english else "statement"
            yield Filled((english.rstrip("?"), *others), (Thing(NAMES[name], ""),), mood, ("en", "fr"))
    for noun in NAMES.values():
        kin = "sister" if "french" in noun.feminine else "brother"
        this = "esta" if "french" in noun.feminine else "este"
        yield Filled(
            ("{0} is {1}", "{0} est {1}", "{0} es {1}", "{0} {1} है"), (Thing(noun, ""), _thing(kin, "my"))
        )
        yield Filled(("this is {0}", "c'est {0}", f"{this} es {{0}}", "यह {0} है"), (Thing(noun, ""),))


def countries() -> Iterator[Frame]:
    for who, name in product(_WHO, CITIES):
        (en, am, _), (fr, *_, vient), (es, *_, ser), (*_, hi, is_) = who
        away = city(name, "from")
        texts = (f"{fr} {vient} {{0}}", f"{es} {ser} {{0}}")
        yield Filled((f"{en} {am} {{0}}", *texts, f"{hi} {{0}} {is_}"), (away,))
        texts = (f"{fr} ne {vient} pas {{0}}", f"{es} no {ser} {{0}}")
        yield Filled((f"{en} {am} not {{0}}", *texts, f"{hi} {{0}} नहीं {is_}"), (away,), "not")
        if who in _ASKING:
            texts = (f"est-ce que {fr} {vient} {{0}}", f"{es} {ser} {{0}}")
            yield Filled((f"{am} {en} {{0}}", *texts, f"{hi} {{0}} {is_}"), (away,), "question")


_SHOWN = [
    thing
    for owner in ("my", "your", "a")
    for thing in all_described("book house car dog cat phone bag room school key shirt computer", owner)
]
_SHOWN += [
    _thing(name, "my")
    for name in ["friend", "brother", "sister", "mother", "family", "teacher", "son", "wife"]
]


_MANY = [name for kind in ("things", "animals", "people", "food", "places") for name in COUNTED[kind]]
_SHOWN += [_thing(name, owner) for name, owner in product(_MANY, ("a", "my", "our", "their"))]


def this_is() -> Iterator[Frame]:
    """This is my house; he is my friend."""
    for thing in _SHOWN:
        este = "esta" if agreement(thing, "spanish").feminine else "este"
        yield Filled(("this is {0}", "c'est {0}", f"{este} es {{0}}", "यह {0} है"), (thing,))
        texts = ("this is not {0}", "ce n'est pas {0}", f"{este} no es {{0}}", "यह {0} नहीं है")
        yield Filled(texts, (thing,), "not")
        yield Filled(
            ("is this {0}", "est-ce que c'est {0}", f"{este} es {{0}}", "यह {0} है"), (thing,), "question"
        )
    for name, owner in product(_MANY, ("my", "your", "his", "her", "our", "their")):
        things = _thing(name, owner, "", True)
        estos = "estas" if agreement(things, "spanish").feminine else "estos"
        texts = ("these are {0}", "ce sont {0}", f"{estos} son {{0}}", "ये {0} हैं")
        yield Filled(texts, (things,), sources=("en",) if owner == "her" else ("en", "fr"))
    kin = [("he", "il", "él", name) for name in ["friend", "brother", "son", "teacher", "doctor"]]
    kin += [("she", "elle", "ella", name) for name in ("sister", "mother", "wife")]
    for (en, fr, es, name), owner in product(kin, ("my", "your", "his")):
        thing = _thing(name, owner)
        yield Filled((f"{en} is {{0}}", f"{fr} est {{0}}", f"{es} es {{0}}", "वह {0} है"), (thing,))
        yield Filled(
            (f"{en} is not {{0}}", f"{fr} n'est pas {{0}}", f"{es} no es {{0}}", "वह {0} नहीं है"),
            (thing,),
            "not",
        )
        yield Filled(
            (f"is {en} {{0}}", f"est-ce que {fr} est {{0}}", f"{es} es {{0}}", "वह {0} है"),
            (thing,),
            "question",
        )


_LOVED = [
    _thing(name, "all")
    for name in ["pizza", "music", "football", "chocolate", "coffee", "tea", "cheese", "tennis"]
]
_LOVED += [_thing(name, "all", "", True) for name in ["cat", "dog", "book", "flower", "horse", "bird"]]
_DEAR = [
    _thing(name, "own")
    for name in ["mother", "father", "sister", "brother", "family", "wife", "husband", "son", "dog", "cat"]
]
_DEAR += [_thing(name, "own") for name in ("friend", "country", "school", "house")]


def loving() -> Iterator[Frame]:
    """I love my mother: aimer; I love pizza: adorer."""
    lovers = {"I": ("je", "", "me", "मुझे"), "we": ("nous", "", "nos", "हमें"), "he": ("il", "a él", "le", "उसे")}
    lovers |= {"she": ("elle", "a ella", "le", "उसे"), "they": ("ils", "a ellos", "les", "उन्हें")}
    adore = {"je": "adore", "nous": "adorons", "il": "adore", "elle": "adore", "ils": "adorent"}
    for (en, (fr, to, me, hi)), thing in product(lovers.items(), _LOVED):
        pleases = "encantan" if thing.plural else "encanta"
        loves = "loves" if en in ("he", "she") else "love"
        texts = (f"{en} {loves} {{0}}", f"{fr} {adore[fr]} {{0}}", f"{to} {me} {pleases} {{0}}")
        yield Filled((*texts, f"{hi} {{0}} बहुत पसंद {{is0}}"), (thing,))
    for thing in _DEAR:
        yield Filled(("I love {0}", "j'aime {0}", "amo a {0}", "मैं {o0} से प्यार करता हूँ"), (thing,))
        yield Filled(("I miss {0}", "{0} me manque", "extraño a {0}", "मुझे {o0} की याद आती है"), (thing,))
