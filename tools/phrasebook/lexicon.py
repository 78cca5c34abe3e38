"""The adjectives, verbs and times of the phrasebook, as tables: one row, four languages."""

from tools.phrasebook.forms import Adverbial, adjective, rows, verb

# English | French and Spanish: m, f, m plural, f plural | Hindi: m, f, m plural and oblique
ADJECTIVES = {
    row.split()[0]: adjective(row)
    for row in rows("""
small  | petit petite petits petites         | pequeño pequeña pequeños pequeñas | छोटा छोटी छोटे
big    | grand grande grands grandes         | grande grande grandes grandes     | बड़ा बड़ी बड़े
new    | nouveau nouvelle nouveaux nouvelles | nuevo nueva nuevos nuevas         | नया नई नए
old    | vieux vieille vieux vieilles        | viejo vieja viejos viejas         | पुराना पुरानी पुराने
red    | rouge rouge rouges rouges           | rojo roja rojos rojas             | लाल
black  | noir noire noirs noires             | negro negra negros negras         | काला काली काले
white  | blanc blanche blancs blanches       | blanco blanca blancos blancas     | सफ़ेद
green  | vert verte verts vertes             | verde verde verdes verdes         | हरा हरी हरे
blue   | bleu bleue bleus bleues             | azul azul azules azules           | नीला नीली नीले
yellow | jaune jaune jaunes jaunes           | amarillo amarilla amarillos amarillas | पीला पीली पीले
brown  | marron marron marron marron         | marrón marrón marrones marrones   | भूरा भूरी भूरे
good   | bon bonne bons bonnes               | bueno buena buenos buenas         | अच्छा अच्छी अच्छे
bad    | mauvais mauvaise mauvais mauvaises  | malo mala malos malas             | बुरा बुरी बुरे
beautiful | beau belle beaux belles          | hermoso hermosa hermosos hermosas | सुंदर
cute   | mignon mignonne mignons mignonnes   | bonito bonita bonitos bonitas     | प्यारा प्यारी प्यारे
young  | jeune jeune jeunes jeunes           | joven joven jóvenes jóvenes       | जवान
tall   | grand grande grands grandes         | alto alta altos altas             | लंबा लंबी लंबे
long   | long longue longs longues           | largo larga largos largas         | लंबा लंबी लंबे
kind   | gentil gentille gentils             | amable amable amables             | दयालु
intelligent | intelligent intelligente intelligents | inteligente inteligente inteligentes | बुद्धिमान
smart  | intelligent intelligente intelligents | inteligente inteligente inteligentes | बुद्धिमान
strong | fort forte forts                    | fuerte fuerte fuertes             | मज़बूत
rich   | riche riche riches                  | rico rica ricos                   | अमीर
poor   | pauvre pauvre pauvres               | pobre pobre pobres                | गरीब
lazy   | paresseux paresseuse paresseux      | perezoso perezosa perezosos       | आलसी
fast   | rapide rapide rapides rapides       | rápido rápida rápidos rápidas     | तेज़
slow   | lent lente lents lentes             | lento lenta lentos lentas         | धीमा धीमी धीमे
easy   | facile facile faciles faciles       | fácil fácil fáciles fáciles       | आसान
difficult | difficile difficile difficiles difficiles | difícil difícil difíciles difíciles | मुश्किल
interesting | intéressant intéressante intéressants intéressantes
    | interesante interesante interesantes interesantes | दिलचस्प
important | important importante importants importantes
    | importante importante importantes importantes | महत्वपूर्ण
expensive | cher chère chers chères          | caro cara caros caras             | महँगा महँगी महँगे
clean  | propre propre propres propres       | limpio limpia limpios limpias     | साफ़
dirty  | sale sale sales sales               | sucio sucia sucios sucias         | गंदा गंदी गंदे
hot    | chaud chaude                        | caliente caliente                 | गर्म
cold   | froid froide                        | frío fría                         | ठंडा ठंडी ठंडे
open   | ouvert ouverte                      | abierto abierta                   | खुला खुली खुले
closed | fermé fermée                        | cerrado cerrada                   | बंद
happy  | content contente contents           | contento contenta contentos       | खुश
sad    | triste triste tristes               | triste triste tristes             | दुखी
ill    | malade malade malades               | enfermo enferma enfermos          | बीमार
sick   | malade malade malades               | enfermo enferma enfermos          | बीमार
tired  | fatigué fatiguée fatigués           | cansado cansada cansados          | थका_हुआ थकी_हुई थके_हुए
angry  | fâché fâchée fâchés                 | enfadado enfadada enfadados       | नाराज़
busy   | occupé occupée occupés              | ocupado ocupada ocupados          | व्यस्त
ready  | prêt prête prêts                    | listo lista listos                | तैयार
""")
}
BEFORE_THE_NOUN = frozenset(
    ["small", "big", "new", "old", "good", "bad", "beautiful", "young", "tall", "long"]
)  # in French; the others follow it
PASSING = frozenset(
    [
        "hot",
        "cold",
        "open",
        "closed",
        "happy",
        "sad",
        "ill",
        "sick",
        "tired",
        "angry",
        "busy",
        "ready",
        "clean",
        "dirty",
    ]
)  # Spanish estar; the others take ser

# What a person is: English | French m, f, plural | Spanish m, f, plural | Hindi m, f
PROFESSIONS = {
    row.split()[0]: adjective(row)
    for row in rows("""
student    | étudiant étudiante étudiants     | estudiante estudiante estudiantes | छात्र छात्रा छात्र
teacher    | professeur professeure professeurs | profesor profesora profesores   | शिक्षक शिक्षिका शिक्षक
doctor     | médecin médecin médecins         | médico médica médicos             | डॉक्टर
singer     | chanteur chanteuse chanteurs     | cantante cantante cantantes       | गायक गायिका गायक
journalist | journaliste journaliste journalistes | periodista periodista periodistas | पत्रकार
""")
}

# English: base, third person, -ing, past | French: je, il, nous, vous, ils, infinitive, participle
#     | Spanish: yo, él, nosotros, ellos, infinitive, gerund, past | Hindi: stem; irregular past; ने
VERBS = {
    row.split()[0]: verb(row)
    for row in rows("""
eat eats eating ate | mange mange mangeons mangez mangent manger mangé
    | como come comemos comen comer comiendo comí comió comimos comieron | खा ने
drink drinks drinking drank | bois boit buvons buvez boivent boire bu
    | bebo bebe bebemos beben beber bebiendo bebí bebió bebimos bebieron | पी पिया पी पिए ने
read reads reading read | lis lit lisons lisez lisent lire lu
    | leo lee leemos leen leer leyendo leí leyó leímos leyeron | पढ़ ने
write writes writing wrote | écris écrit écrivons écrivez écrivent écrire écrit
    | escribo escribe escribimos escriben escribir escribiendo escribí escribió escribimos escribieron | लिख ने
buy buys buying bought | achète achète achetons achetez achètent acheter acheté
    | compro compra compramos compran comprar comprando compré compró compramos compraron | खरीद ने
see sees - saw | vois voit voyons voyez voient voir vu
    | veo ve vemos ven ver - vi vio vimos vieron | देख ने
look_for looks_for looking_for - | cherche cherche cherchons cherchez cherchent chercher
    | busco busca buscamos buscan buscar buscando | ढूँढ
bring brings bringing - | apporte apporte apportons apportez apportent apporter
    | traigo trae traemos traen traer trayendo | ला
open opens opening opened | ouvre ouvre ouvrons ouvrez ouvrent ouvrir ouvert
    | abro abre abrimos abren abrir abriendo abrí abrió abrimos abrieron | खोल ने
cook cooks cooking cooked | cuisine cuisine cuisinons cuisinez cuisinent cuisiner cuisiné
    | cocino cocina cocinamos cocinan cocinar cocinando cociné cocinó cocinamos cocinaron | पका ने
watch watches watching watched | regarde regarde regardons regardez regardent regarder regardé
    | miro mira miramos miran mirar mirando miré miró miramos miraron | देख ने
listen_to listens_to listening_to - | écoute écoute écoutons écoutez écoutent écouter
    | escucho escucha escuchamos escuchan escuchar escuchando | सुन
learn learns learning learned | apprends apprend apprenons apprenez apprennent apprendre appris
    | aprendo aprende aprendemos aprenden aprender aprendiendo aprendí aprendió aprendimos aprendieron | सीख ने
speak speaks speaking - | parle parle parlons parlez parlent parler
    | hablo habla hablamos hablan hablar hablando | बोल
understand understands - - | comprends comprend comprenons comprenez comprennent comprendre
    | entiendo entiende entendemos entienden entender - | समझ
sleep sleeps sleeping slept | dors dort dormons dormez dorment dormir dormi
    | duermo duerme dormimos duermen dormir durmiendo dormí durmió dormimos durmieron | सो
work works working worked | travaille travaille travaillons travaillez travaillent travailler travaillé
    | trabajo trabaja trabajamos trabajan trabajar trabajando trabajé trabajó trabajamos trabajaron
    | काम_कर किया - - ने
play plays playing played | joue joue jouons jouez jouent jouer joué
    | juego juega jugamos juegan jugar jugando jugué jugó jugamos jugaron | खेल
live lives - lived | habite habite habitons habitez habitent habiter habité
    | vivo vive vivimos viven vivir - viví vivió vivimos vivieron | रह
go goes going went | vais va allons allez vont aller +allé
    | voy va vamos van ir - fui fue fuimos fueron | जा गया गई गए
come comes coming came | viens vient venons venez viennent venir +venu
    | vengo viene venimos vienen venir - vine vino vinimos vinieron | आ
run runs running ran | cours court courons courez courent courir couru
    | corro corre corremos corren correr corriendo corrí corrió corrimos corrieron | दौड़
walk walks walking walked | marche marche marchons marchez marchent marcher marché
    | camino camina caminamos caminan caminar caminando caminé caminó caminamos caminaron | चल
swim swims swimming - | nage nage nageons nagez nagent nager
    | nado nada nadamos nadan nadar nadando | तैर
sing sings singing sang | chante chante chantons chantez chantent chanter chanté
    | canto canta cantamos cantan cantar cantando canté cantó cantamos cantaron | गा ने
dance dances dancing danced | danse danse dansons dansez dansent danser dansé
    | bailo baila bailamos bailan bailar bailando bailé bailó bailamos bailaron | नाच
jump jumps jumping - | saute saute sautons sautez sautent sauter
    | salto salta saltamos saltan saltar saltando | कूद
fly flies flying - | - vole - - - voler
    | - vuela - - volar volando | उड़
laugh laughs laughing - | ris rit rions riez rient rire
    | río ríe reímos ríen reír riendo | हँस
cry cries crying cried | pleure pleure pleurons pleurez pleurent pleurer pleuré
    | lloro llora lloramos lloran llorar llorando lloré lloró lloramos lloraron | रो
want wants - - | veux veut voulons voulez veulent -
    | quiero quiere queremos quieren - - | चाह
can can - - | peux peut pouvons pouvez peuvent -
    | puedo puede podemos pueden - - | सक
like likes - - | aime aime aimons aimez aiment -
    | - - - - - - | -
""")
}
# Verbs with a past; of the others the phrasebook says none.
PAST = tuple(name for name, row in VERBS.items() if row.english[3] != "-")

TIMES = {
    row.english: row
    for row in (
        Adverbial("every day", "tous les jours", "todos los días", "हर दिन"),
        Adverbial("in the morning", "le matin", "por la mañana", "सुबह"),
        Adverbial("at night", "la nuit", "por la noche", "रात को"),
        Adverbial("on Sundays", "le dimanche", "los domingos", "रविवार को"),
        Adverbial("now", "maintenant", "ahora", "अभी"),
        Adverbial("today", "aujourd'hui", "hoy", "आज"),
        Adverbial("tomorrow", "demain", "mañana", "कल"),
        Adverbial("yesterday", "hier", "ayer", "कल"),
    )
}
HERE = Adverbial("here", "ici", "aquí", "यहाँ")
AT_HOME = Adverbial("at home", "à la maison", "en casa", "घर पर")
AT_SCHOOL = Adverbial("at school", "à l'école", "en la escuela", "स्कूल में")
TO_SCHOOL = Adverbial("to school", "à l'école", "a la escuela", "स्कूल")

# English | French: in and to, from | Spanish | Hindi
CITIES = {
    row.split()[0]: [cell.strip() for cell in row.split("|")]
    for row in rows("""
Paris   | à Paris       | de Paris     | París          | पेरिस
London  | à Londres     | de Londres   | Londres        | लंदन
Madrid  | à Madrid      | de Madrid    | Madrid         | मैड्रिड
Delhi   | à Delhi       | de Delhi     | Delhi          | दिल्ली
Berlin  | à Berlin      | de Berlin    | Berlín         | बर्लिन
India   | en Inde       | d'Inde       | India          | भारत
France  | en France     | de France    | Francia        | फ़्रांस
Spain   | en Espagne    | d'Espagne    | España         | स्पेन
England | en Angleterre | d'Angleterre | Inglaterra     | इंग्लैंड
Germany | en Allemagne  | d'Allemagne  | Alemania       | जर्मनी
America | en Amérique   | d'Amérique   | América        | अमेरिका
""")
}


def city(name: str, preposition: str) -> Adverbial:
    """in Paris, to Paris or from Paris: French has one form for the first two."""
    english, french, french_from, spanish, hindi = CITIES[name]
    spanish_word = {"in": "en", "to": "a", "from": "de"}[preposition]
    hindi_word = {"in": " में", "to": "", "from": " से"}[preposition]
    away = preposition == "from"
    return Adverbial(
        f"{preposition} {english}",
        french_from if away else french,
        f"{spanish_word} {spanish}",
        f"{hindi}{hindi_word}",
    )


# The languages, and what else one learns, plays and talks about without an article in English.
LANGUAGES = {
    row.split()[0]: Adverbial(*(cell.strip() for cell in row.split("|")))
    for row in rows("""
English | anglais  | inglés  | अंग्रेज़ी
French  | français | francés | फ़्रेंच
Spanish | espagnol | español | स्पेनिश
Hindi   | hindi    | hindi   | हिंदी
""")
}
# Said in English and never the translation of a French word, which has another one.
ENGLISH_ONLY = frozenset(["her", "movie", "tall", "smart", "sick", "going", "coming"])
