"""The adjectives, professions, times, cities and languages of the phrasebook: a row has four languages."""

from tools.phrasebook.forms import Adverbial, adjective, rows

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
kind   | gentil gentille gentils gentilles   | amable amable amables amables     | दयालु
intelligent | intelligent intelligente intelligents intelligentes
    | inteligente inteligente inteligentes inteligentes | बुद्धिमान
smart  | intelligent intelligente intelligents | inteligente inteligente inteligentes | बुद्धिमान
strong | fort forte forts fortes             | fuerte fuerte fuertes fuertes     | मज़बूत
rich   | riche riche riches riches           | rico rica ricos ricas             | अमीर
poor   | pauvre pauvre pauvres               | pobre pobre pobres                | गरीब
lazy   | paresseux paresseuse paresseux paresseuses | perezoso perezosa perezosos perezosas | आलसी
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
hot    | chaud chaude chauds chaudes         | caliente caliente calientes calientes | गर्म
cold   | froid froide froids froides         | frío fría fríos frías             | ठंडा ठंडी ठंडे
open   | ouvert ouverte ouverts ouvertes     | abierto abierta abiertos abiertas | खुला खुली खुले
closed | fermé fermée fermés fermées         | cerrado cerrada cerrados cerradas | बंद
happy  | content contente contents           | contento contenta contentos       | खुश
sad    | triste triste tristes               | triste triste tristes             | दुखी
ill    | malade malade malades               | enfermo enferma enfermos          | बीमार
sick   | malade malade malades               | enfermo enferma enfermos          | बीमार
tired  | fatigué fatiguée fatigués fatiguées | cansado cansada cansados cansadas | थका_हुआ थकी_हुई थके_हुए
angry  | fâché fâchée fâchés                 | enfadado enfadada enfadados       | नाराज़
busy   | occupé occupée occupés              | ocupado ocupada ocupados          | व्यस्त
ready  | prêt prête prêts                    | listo lista listos                | तैयार
nervous | nerveux nerveuse nerveux           | nervioso nerviosa nerviosos       | बेचैन
worried | inquiet inquiète inquiets          | preocupado preocupada preocupados | चिंतित
alone  | seul seule seuls                    | solo sola solos                   | अकेला अकेली अकेले
lost   | perdu perdue perdus perdues         | perdido perdida perdidos perdidas | खोया_हुआ खोई_हुई खोए_हुए
heavy  | lourd lourde lourds lourdes         | pesado pesada pesados pesadas     | भारी
short  | court courte courts courtes         | corto corta cortos cortas         | छोटा छोटी छोटे
full   | plein pleine pleins pleines         | lleno llena llenos llenas         | भरा_हुआ भरी_हुई भरे_हुए
empty  | vide vide vides vides               | vacío vacía vacíos vacías         | खाली
wet    | mouillé mouillée mouillés mouillées | mojado mojada mojados mojadas     | गीला गीली गीले
dry    | sec sèche secs sèches               | seco seca secos secas             | सूखा सूखी सूखे
broken | cassé cassée cassés cassées         | roto rota rotos rotas             | टूटा_हुआ टूटी_हुई टूटे_हुए
sweet  | sucré sucrée sucrés sucrées         | dulce dulce dulces dulces         | मीठा मीठी मीठे
famous | célèbre célèbre célèbres célèbres   | famoso famosa famosos famosas     | प्रसिद्ध
strange | étrange étrange étranges étranges  | extraño extraña extraños extrañas | अजीब
funny  | drôle drôle drôles drôles           | divertido divertida divertidos divertidas | मज़ेदार
calm   | calme calme calmes calmes           | tranquilo tranquila tranquilos tranquilas | शांत
round  | rond ronde ronds rondes             | redondo redonda redondos redondas | गोल
grey   | gris grise gris grises              | gris gris grises grises           | स्लेटी
pink   | rose rose roses roses               | rosa rosa rosas rosas             | गुलाबी
purple | violet violette violets violettes   | morado morada morados moradas     | बैंगनी
correct | correct correcte corrects correctes | correcto correcta correctos correctas | सही
wrong  | faux fausse faux fausses            | incorrecto incorrecta incorrectos incorrectas | गलत
simple | simple simple simples simples       | sencillo sencilla sencillos sencillas | सरल
useful | utile utile utiles utiles           | útil útil útiles útiles           | उपयोगी
dangerous | dangereux dangereuse dangereux dangereuses | peligroso peligrosa peligrosos peligrosas | खतरनाक
brave  | courageux courageuse courageux courageuses | valiente valiente valientes valientes | बहादुर
shy    | timide timide timides timides       | tímido tímida tímidos tímidas     | शर्मीला शर्मीली शर्मीले
honest | honnête honnête honnêtes honnêtes   | honesto honesta honestos honestas | ईमानदार
polite | poli polie polis polies             | educado educada educados educadas | विनम्र
""")
}
BEFORE_THE_NOUN = frozenset(
    ["small", "big", "new", "old", "good", "bad", "beautiful", "young", "tall", "long"]
)  # in French; the others follow it
# Spanish estar; the others take ser
PASSING = frozenset(
    name
    for row in (
        "hot cold open closed happy sad ill sick tired angry busy ready clean dirty",
        "nervous worried alone lost full empty wet dry broken",
    )
    for name in row.split()
)

# What a person is: English | French m, f, plural | Spanish m, f, plural | Hindi m, f
PROFESSIONS = {
    row.split()[0]: adjective(row)
    for row in rows("""
student    | étudiant étudiante étudiants     | estudiante estudiante estudiantes | छात्र छात्रा छात्र
teacher    | professeur professeure professeurs | profesor profesora profesores   | शिक्षक शिक्षिका शिक्षक
doctor     | médecin médecin médecins         | médico médica médicos             | डॉक्टर
singer     | chanteur chanteuse chanteurs     | cantante cantante cantantes       | गायक गायिका गायक
journalist | journaliste journaliste journalistes | periodista periodista periodistas | पत्रकार
engineer   | ingénieur ingénieure ingénieurs  | ingeniero ingeniera ingenieros    | इंजीनियर
nurse      | infirmier infirmière infirmiers  | enfermero enfermera enfermeros    | नर्स
lawyer     | avocat avocate avocats           | abogado abogada abogados          | वकील
farmer     | agriculteur agricultrice agriculteurs | agricultor agricultora agricultores | किसान
artist     | artiste artiste artistes         | artista artista artistas          | कलाकार
writer     | écrivain écrivaine écrivains     | escritor escritora escritores     | लेखक लेखिका लेखक
actor      | acteur actrice acteurs           | actor actriz actores              | अभिनेता अभिनेत्री अभिनेता
driver     | chauffeur chauffeuse chauffeurs  | conductor conductora conductores  | ड्राइवर
dancer     | danseur danseuse danseurs        | bailarín bailarina bailarines     | नर्तक नर्तकी नर्तक
scientist  | scientifique scientifique scientifiques | científico científica científicos | वैज्ञानिक
""")
}

TIMES = {
    row.english: row
    for row in (
        Adverbial("every day", "tous les jours", "todos los días", "हर दिन"),
        Adverbial("in the morning", "le matin", "por la mañana", "सुबह"),
        Adverbial("at night", "la nuit", "por la noche", "रात को"),
        Adverbial("on Sundays", "le dimanche", "los domingos", "रविवार को"),
        Adverbial("on Mondays", "le lundi", "los lunes", "सोमवार को"),
        Adverbial("on Fridays", "le vendredi", "los viernes", "शुक्रवार को"),
        Adverbial("on Saturdays", "le samedi", "los sábados", "शनिवार को"),
        Adverbial("this morning", "ce matin", "esta mañana", "आज सुबह"),
        Adverbial("this evening", "ce soir", "esta noche", "आज शाम को"),
        Adverbial("next week", "la semaine prochaine", "la próxima semana", "अगले हफ़्ते"),
        Adverbial("last week", "la semaine dernière", "la semana pasada", "पिछले हफ़्ते"),
        Adverbial("next year", "l'année prochaine", "el próximo año", "अगले साल"),
        Adverbial("last year", "l'année dernière", "el año pasado", "पिछले साल"),
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
Rome    | à Rome        | de Rome      | Roma           | रोम
Tokyo   | à Tokyo       | de Tokyo     | Tokio          | टोक्यो
Mumbai  | à Mumbai      | de Mumbai    | Bombay         | मुंबई
Italy   | en Italie     | d'Italie     | Italia         | इटली
China   | en Chine      | de Chine     | China          | चीन
Russia  | en Russie     | de Russie    | Rusia          | रूस
Japan   | au Japon      | du Japon     | Japón          | जापान
Canada  | au Canada     | du Canada    | Canadá         | कनाडा
Mexico  | au Mexique    | du Mexique   | México         | मेक्सिको
Brazil  | au Brésil     | du Brésil    | Brasil         | ब्राज़ील
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
German  | allemand | alemán  | जर्मन
Italian | italien  | italiano | इतालवी
Chinese | chinois  | chino   | चीनी
Japanese | japonais | japonés | जापानी
""")
}
# Said in English and never the translation of a French word, which has another one.
ENGLISH_ONLY = frozenset(
    ["her", "movie", "movies", "tall", "smart", "sick", "going", "coming", "daughter", "daughters"]
)
