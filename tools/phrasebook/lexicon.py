"""The words of the phrasebook, as tables that a native speaker can read: one row, four languages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun in four languages, with the languages in which it is feminine."""

    english: tuple[str, ...]  # singular, plural
    french: tuple[str, ...]  # singular, plural
    spanish: tuple[str, ...]  # singular, plural
    hindi: tuple[str, ...]  # direct, oblique, plural direct, plural oblique
    feminine: frozenset[str]


@dataclass(frozen=True)
class Adjective:
    """An adjective in four languages: masculine, feminine, plurals (Hindi: masculine plural and oblique)."""

    english: str
    french: tuple[str, ...]
    spanish: tuple[str, ...]
    hindi: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb in four languages, in the forms that the phrasebook uses."""

    english: tuple[str, ...]  # base, third person, -ing
    french: tuple[str, ...]  # je, il, nous, vous, ils, infinitive
    spanish: tuple[str, ...]  # yo, él, nosotros, ellos, infinitive, gerund
    hindi: str  # the stem; its last word takes the endings


@dataclass(frozen=True)
class Adverbial:
    """A time or place that is said as a whole."""

    english: str
    french: str
    spanish: str
    hindi: str


def _cells(row: str) -> list[list[str]]:
    """The words of a row by language; an underscore is a space within a word's form."""
    return [[form.replace("_", " ") for form in cell.split()] for cell in row.split("|")]


def _padded(forms: list[str], length: int) -> tuple[str, ...]:
    """Forms filled up with "-", which marks a form that the phrasebook does not use."""
    return tuple(forms + ["-"] * (length - len(forms)))


def _noun(row: str) -> Noun:
    english, french, spanish, hindi = _cells(row)
    genders = {"french": french.pop(0), "spanish": spanish.pop(0), "hindi": hindi.pop(0)}
    feminine = frozenset(language for language, gender in genders.items() if gender == "f")
    oblique = hindi if len(hindi) > 1 else hindi * 2
    return Noun(_padded(english, 2), _padded(french, 2), _padded(spanish, 2), _padded(oblique, 4), feminine)


def _adjective(row: str) -> Adjective:
    english, french, spanish, hindi = _cells(row)
    invariable = hindi if len(hindi) > 1 else hindi * 3
    return Adjective(english[0], _padded(french, 4), _padded(spanish, 4), tuple(invariable))


def _verb(row: str) -> Verb:
    english, french, spanish, hindi = _cells(row)
    return Verb(_padded(english, 3), _padded(french, 6), _padded(spanish, 6), hindi[0])


def _rows(table: str) -> list[str]:
    """The rows of a table; an indented line continues the one before."""
    return table.strip().replace("\n    ", " ").splitlines()


# English | French | Spanish | Hindi (direct, oblique, plural, oblique plural); m and f are the genders.
NOUNS = {
    row.split()[0]: _noun(row)
    for row in _rows("""
boy               | m garçon           | m niño             | m लड़का लड़के
girl              | f fille            | f niña             | f लड़की
child children    | m enfant enfants   | m niño niños       | m बच्चा बच्चे बच्चे बच्चों
man               | m homme            | m hombre           | m आदमी
woman             | f femme            | f mujer            | f औरत
brother           | m frère            | m hermano          | m भाई
sister            | f sœur             | f hermana          | f बहन
friend            | m ami              | m amigo            | m दोस्त
cat cats          | m chat chats       | m gato gatos       | f बिल्ली बिल्ली बिल्लियाँ
dog dogs          | m chien chiens     | m perro perros     | m कुत्ता कुत्ते कुत्ते
bird birds        | m oiseau oiseaux   | m pájaro pájaros   | m पक्षी पक्षी पक्षी
book books        | m livre livres     | m libro libros     | f किताब किताब किताबें
letter letters    | f lettre lettres   | f carta cartas     | f चिट्ठी चिट्ठी चिट्ठियाँ
key keys          | f clé clés         | f llave llaves     | f चाबी चाबी चाबियाँ
newspaper         | m journal          | m periódico        | m अखबार
flower flowers    | f fleur fleurs     | f flor flores      | m फूल फूल फूल
apple apples      | f pomme pommes     | f manzana manzanas | m सेब सेब सेब
bread             | m pain             | m pan              | f रोटी
rice              | m riz              | m arroz            | m चावल
fish              | m poisson          | m pescado          | f मछली
water             | f eau              | f agua             | m पानी
milk              | m lait             | f leche            | m दूध
tea               | m thé              | m té               | f चाय
coffee            | m café             | m café             | f कॉफ़ी
money             | m argent           | m dinero           | m पैसा
boat              | m bateau           | m barco            | f नाव
door              | f porte            | f puerta           | m दरवाज़ा दरवाज़े
window            | f fenêtre          | f ventana          | f खिड़की
table             | f table            | f mesa             | f मेज़
chair             | f chaise           | f silla            | f कुर्सी
bed               | m lit              | f cama             | m बिस्तर
mat               | m tapis            | f alfombra         | f चटाई
house             | f maison           | f casa             | m घर
kitchen           | f cuisine          | f cocina           | f रसोई
garden            | m jardin           | m jardín           | m बगीचा बगीचे
tree              | m arbre            | m árbol            | m पेड़
park              | m parc             | m parque           | m पार्क
school            | f école            | f escuela          | m स्कूल
market            | m marché           | m mercado          | m बाज़ार
city              | f ville            | f ciudad           | m शहर
village           | m village          | m pueblo           | m गाँव
river             | f rivière          | m río              | f नदी
""")
}
# One English word, two meanings: the bank that keeps money and the bank of a river.
MONEY_BANK = _noun("bank | f banque | m banco | m बैंक")
RIVER_BANK = _noun("bank | f rive | f orilla | m किनारा किनारे")

# English | French and Spanish: m, f, m plural, f plural | Hindi: m, f, m plural and oblique
ADJECTIVES = {
    row.split()[0]: _adjective(row)
    for row in _rows("""
small  | petit petite petits petites         | pequeño pequeña pequeños pequeñas | छोटा छोटी छोटे
big    | grand grande grands grandes         | grande grande grandes grandes     | बड़ा बड़ी बड़े
new    | nouveau nouvelle nouveaux nouvelles | nuevo nueva nuevos nuevas         | नया नई नए
old    | vieux vieille vieux vieilles        | viejo vieja viejos viejas         | पुराना पुरानी पुराने
red    | rouge rouge rouges rouges           | rojo roja rojos rojas             | लाल
black  | noir noire noirs noires             | negro negra negros negras         | काला काली काले
white  | blanc blanche blancs blanches       | blanco blanca blancos blancas     | सफ़ेद
green  | vert verte verts vertes             | verde verde verdes verdes         | हरा हरी हरे
hot    | chaud chaude                        | caliente caliente                 | गर्म
cold   | froid froide                        | frío fría                         | ठंडा ठंडी ठंडे
open   | ouvert ouverte                      | abierto abierta                   | खुला खुली खुले
closed | fermé fermée                        | cerrado cerrada                   | बंद
happy  | content contente contents           | contento contenta contentos       | खुश
sad    | triste triste tristes               | triste triste tristes             | दुखी
ill    | malade malade malades               | enfermo enferma enfermos          | बीमार
""")
}
BEFORE_THE_NOUN = frozenset({"small", "big", "new", "old"})  # in French; the others follow it
PASSING = frozenset(
    {"hot", "cold", "open", "closed", "happy", "sad", "ill"}
)  # Spanish estar; the others take ser

# What a person is: English | French m, f, plural | Spanish m, f, plural | Hindi m, f
PROFESSIONS = {
    row.split()[0]: _adjective(row)
    for row in _rows("""
student    | étudiant étudiante étudiants     | estudiante estudiante estudiantes | छात्र छात्रा छात्र
teacher    | professeur professeure professeurs | profesor profesora profesores   | शिक्षक शिक्षिका शिक्षक
doctor     | médecin médecin médecins         | médico médica médicos             | डॉक्टर
singer     | chanteur chanteuse chanteurs     | cantante cantante cantantes       | गायक गायिका गायक
journalist | journaliste journaliste journalistes | periodista periodista periodistas | पत्रकार
""")
}

# English: base, third person, -ing | French: je, il, nous, vous, ils, infinitive
#     | Spanish: yo, él, nosotros, ellos, infinitive, gerund | Hindi: stem
VERBS = {
    row.split()[0]: _verb(row)
    for row in _rows("""
eat eats eating | mange mange mangeons mangez mangent manger
    | como come comemos comen comer comiendo | खा
drink drinks drinking | bois boit buvons buvez boivent boire
    | bebo bebe bebemos beben beber bebiendo | पी
read reads reading | lis lit lisons lisez lisent lire
    | leo lee leemos leen leer leyendo | पढ़
write writes writing | écris écrit écrivons écrivez écrivent écrire
    | escribo escribe escribimos escriben escribir escribiendo | लिख
buy buys buying | achète achète achetons achetez achètent acheter
    | compro compra compramos compran comprar comprando | खरीद
see sees - | vois voit voyons voyez voient voir
    | veo ve vemos ven ver - | देख
look_for looks_for looking_for | cherche cherche cherchons cherchez cherchent chercher
    | busco busca buscamos buscan buscar buscando | ढूँढ
bring brings bringing | apporte apporte apportons apportez apportent apporter
    | traigo trae traemos traen traer trayendo | ला
open opens opening | ouvre ouvre ouvrons ouvrez ouvrent ouvrir
    | abro abre abrimos abren abrir abriendo | खोल
sleep sleeps sleeping | dors dort dormons dormez dorment dormir
    | duermo duerme dormimos duermen dormir durmiendo | सो
work works working | travaille travaille travaillons travaillez travaillent travailler
    | trabajo trabaja trabajamos trabajan trabajar trabajando | काम_कर
play plays playing | joue joue jouons jouez jouent jouer
    | juego juega jugamos juegan jugar jugando | खेल
live lives - | habite habite habitons habitez habitent habiter
    | vivo vive vivimos viven vivir - | रह
go goes - | vais va allons allez vont aller
    | voy va vamos van ir - | जा
want wants - | veux veut voulons voulez veulent -
    | quiero quiere queremos quieren - - | चाह
can can - | peux peut pouvons pouvez peuvent -
    | puedo puede podemos pueden - - | सक
like likes - | aime aime aimons aimez aiment -
    | - - - - - - | -
""")
}

TIMES = {
    row.english: row
    for row in (
        Adverbial("every day", "tous les jours", "todos los días", "हर दिन"),
        Adverbial("in the morning", "le matin", "por la mañana", "सुबह"),
        Adverbial("at night", "la nuit", "por la noche", "रात को"),
        Adverbial("on Sundays", "le dimanche", "los domingos", "रविवार को"),
        Adverbial("now", "maintenant", "ahora", "अभी"),
    )
}
HERE = Adverbial("here", "ici", "aquí", "यहाँ")
AT_HOME = Adverbial("at home", "à la maison", "en casa", "घर पर")
AT_SCHOOL = Adverbial("at school", "à l'école", "en la escuela", "स्कूल में")
TO_SCHOOL = Adverbial("to school", "à l'école", "a la escuela", "स्कूल")
