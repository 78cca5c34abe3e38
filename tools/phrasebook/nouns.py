"""The nouns and names of the phrasebook, as tables that a native speaker can read."""

from tools.phrasebook.forms import noun, rows

# English | French | Spanish | Hindi (direct, oblique, plural, oblique plural); m and f are the genders.
_PEOPLE = """
boy boys          | m garçon garçons   | m niño niños       | m लड़का लड़के लड़के लड़कों
girl girls        | f fille filles     | f niña niñas       | f लड़की लड़की लड़कियाँ लड़कियों
child children    | m enfant enfants   | m niño niños       | m बच्चा बच्चे बच्चे बच्चों
man men           | m homme hommes     | m hombre hombres   | m आदमी आदमी आदमी आदमियों
woman women       | f femme femmes     | f mujer mujeres    | f औरत औरत औरतें औरतों
brother brothers  | m frère frères     | m hermano hermanos | m भाई भाई भाई भाइयों
sister sisters    | f sœur sœurs       | f hermana hermanas | f बहन बहन बहनें बहनों
friend friends    | m ami amis         | m amigo amigos     | m दोस्त दोस्त दोस्त दोस्तों
mother            | f mère             | f madre            | f माँ
father            | m père             | m padre            | m पिता
son sons          | m fils fils        | m hijo hijos       | m बेटा बेटे बेटे बेटों
daughter daughters | f fille filles    | f hija hijas       | f बेटी बेटी बेटियाँ बेटियों
wife              | f femme            | f esposa           | f पत्नी
husband           | m mari             | m marido           | m पति
grandmother       | f grand-mère       | f abuela           | f दादी
grandfather       | m grand-père       | m abuelo           | m दादा
uncle             | m oncle            | m tío              | m चाचा
aunt              | f tante            | f tía              | f चाची
neighbour neighbours | m voisin voisins | m vecino vecinos  | m पड़ोसी पड़ोसी पड़ोसी पड़ोसियों
family            | f famille          | f familia          | m परिवार
baby babies       | m bébé bébés       | m bebé bebés       | m शिशु शिशु शिशु शिशुओं
king              | m roi              | m rey              | m राजा
queen             | f reine            | f reina            | f रानी
teacher teachers  | m professeur professeurs | m profesor profesores | m शिक्षक शिक्षक शिक्षक शिक्षकों
doctor doctors    | m médecin médecins | m médico médicos   | m डॉक्टर डॉक्टर डॉक्टर डॉक्टरों
student students  | m étudiant étudiants | m estudiante estudiantes | m छात्र छात्र छात्र छात्रों
"""
_ANIMALS = """
cat cats          | m chat chats       | m gato gatos       | f बिल्ली बिल्ली बिल्लियाँ बिल्लियों
dog dogs          | m chien chiens     | m perro perros     | m कुत्ता कुत्ते कुत्ते कुत्तों
bird birds        | m oiseau oiseaux   | m pájaro pájaros   | m पक्षी पक्षी पक्षी पक्षियों
animal animals    | m animal animaux   | m animal animales  | m जानवर जानवर जानवर जानवरों
horse horses      | m cheval chevaux   | m caballo caballos | m घोड़ा घोड़े घोड़े घोड़ों
cow cows          | f vache vaches     | f vaca vacas       | f गाय गाय गायें गायों
elephant elephants | m éléphant éléphants | m elefante elefantes | m हाथी हाथी हाथी हाथियों
lion lions        | m lion lions       | m león leones      | m शेर शेर शेर शेरों
mouse mice        | f souris souris    | m ratón ratones    | m चूहा चूहे चूहे चूहों
fox foxes         | m renard renards   | m zorro zorros     | f लोमड़ी लोमड़ी लोमड़ियाँ लोमड़ियों
rabbit rabbits    | m lapin lapins     | m conejo conejos   | m खरगोश खरगोश खरगोश खरगोशों
monkey monkeys    | m singe singes     | m mono monos       | m बंदर बंदर बंदर बंदरों
tiger tigers      | m tigre tigres     | m tigre tigres     | m बाघ बाघ बाघ बाघों
bear bears        | m ours ours        | m oso osos         | m भालू भालू भालू भालुओं
wolf wolves       | m loup loups       | m lobo lobos       | m भेड़िया भेड़िये भेड़िये भेड़ियों
sheep -           | m mouton -         | f oveja -          | f भेड़
goat goats        | f chèvre chèvres   | f cabra cabras     | f बकरी बकरी बकरियाँ बकरियों
duck ducks        | m canard canards   | m pato patos       | f बत्तख बत्तख बत्तखें बत्तखों
pig pigs          | m cochon cochons   | m cerdo cerdos     | m सूअर सूअर सूअर सूअरों
snake snakes      | m serpent serpents | f serpiente serpientes | m साँप साँप साँप साँपों
camel camels      | m chameau chameaux | m camello camellos | m ऊँट ऊँट ऊँट ऊँटों
"""
_THINGS = """
book books        | m livre livres     | m libro libros     | f किताब किताब किताबें किताबों
letter letters    | f lettre lettres   | f carta cartas     | f चिट्ठी चिट्ठी चिट्ठियाँ चिट्ठियों
key keys          | f clé clés         | f llave llaves     | f चाबी चाबी चाबियाँ चाबियों
newspaper newspapers | m journal journaux | m periódico periódicos | m अखबार अखबार अखबार अखबारों
flower flowers    | f fleur fleurs     | f flor flores      | m फूल फूल फूल फूलों
boat boats        | m bateau bateaux   | m barco barcos     | f नाव नाव नावें नावों
door doors        | f porte portes     | f puerta puertas   | m दरवाज़ा दरवाज़े दरवाज़े दरवाज़ों
window windows    | f fenêtre fenêtres | f ventana ventanas | f खिड़की खिड़की खिड़कियाँ खिड़कियों
table tables      | f table tables     | f mesa mesas       | f मेज़ मेज़ मेज़ें मेज़ों
chair chairs      | f chaise chaises   | f silla sillas     | f कुर्सी कुर्सी कुर्सियाँ कुर्सियों
bed beds          | m lit lits         | f cama camas       | m बिस्तर बिस्तर बिस्तर बिस्तरों
mat               | m tapis            | f alfombra         | f चटाई
car cars          | f voiture voitures | m coche coches     | f कार कार कारें कारों
train trains      | m train trains     | m tren trenes      | f ट्रेन ट्रेन ट्रेनें ट्रेनों
bus buses         | m bus bus          | m autobús autobuses | f बस बस बसें बसों
bike bikes        | m vélo vélos       | f bicicleta bicicletas | f साइकिल साइकिल साइकिलें साइकिलों
plane planes      | m avion avions     | m avión aviones    | m हवाई_जहाज़ हवाई_जहाज़ हवाई_जहाज़ हवाई_जहाज़ों
phone phones      | m téléphone téléphones | m teléfono teléfonos | m फ़ोन फ़ोन फ़ोन फ़ोनों
computer computers | m ordinateur ordinateurs | m ordenador ordenadores | m कंप्यूटर कंप्यूटर कंप्यूटर कंप्यूटरों
machine machines  | f machine machines | f máquina máquinas | f मशीन मशीन मशीनें मशीनों
photo photos      | f photo photos     | f foto fotos       | f तस्वीर तस्वीर तस्वीरें तस्वीरों
film films        | m film films       | f película películas | f फ़िल्म फ़िल्म फ़िल्में फ़िल्मों
movie movies      | m film films       | f película películas | f फ़िल्म फ़िल्म फ़िल्में फ़िल्मों
song songs        | f chanson chansons | f canción canciones | m गाना गाने गाने गानों
story stories     | f histoire histoires | f historia historias | f कहानी कहानी कहानियाँ कहानियों
ball balls        | f balle balles     | f pelota pelotas   | f गेंद गेंद गेंदें गेंदों
toy toys          | m jouet jouets     | m juguete juguetes | m खिलौना खिलौने खिलौने खिलौनों
shirt shirts      | f chemise chemises | f camisa camisas   | f कमीज़ कमीज़ कमीज़ें कमीज़ों
dress dresses     | f robe robes       | m vestido vestidos | f पोशाक पोशाक पोशाकें पोशाकों
coat coats        | m manteau manteaux | m abrigo abrigos   | m कोट कोट कोट कोटों
shoes shoes       | f - chaussures     | m - zapatos        | m - - जूते जूतों
hat hats          | m chapeau chapeaux | m sombrero sombreros | f टोपी टोपी टोपियाँ टोपियों
umbrella umbrellas | m parapluie parapluies | m paraguas paraguas | m छाता छाते छाते छातों
sofa              | m canapé           | m sofá             | m सोफ़ा सोफ़े
bag bags          | m sac sacs         | m bolso bolsos     | m बैग बैग बैग बैगों
box boxes         | f boîte boîtes     | f caja cajas       | m डिब्बा डिब्बे डिब्बे डिब्बों
gift gifts        | m cadeau cadeaux   | m regalo regalos   | m तोहफ़ा तोहफ़े तोहफ़े तोहफ़ों
pen pens          | m stylo stylos     | m bolígrafo bolígrafos | m पेन पेन पेन पेनों
pencil pencils    | m crayon crayons   | m lápiz lápices    | f पेंसिल पेंसिल पेंसिलें पेंसिलों
cup cups          | f tasse tasses     | f taza tazas       | m कप कप कप कपों
glass glasses     | m verre verres     | m vaso vasos       | m गिलास गिलास गिलास गिलासों
plate plates      | f assiette assiettes | m plato platos   | f प्लेट प्लेट प्लेटें प्लेटों
knife knives      | m couteau couteaux | m cuchillo cuchillos | m चाकू चाकू चाकू चाकुओं
spoon spoons      | f cuillère cuillères | f cuchara cucharas | m चम्मच चम्मच चम्मच चम्मचों
bottle bottles    | f bouteille bouteilles | f botella botellas | f बोतल बोतल बोतलें बोतलों
clock clocks      | f horloge horloges | m reloj relojes    | f घड़ी घड़ी घड़ियाँ घड़ियों
lamp lamps        | f lampe lampes     | f lámpara lámparas | m लैंप लैंप लैंप लैंपों
guitar guitars    | f guitare guitares | f guitarra guitarras | m गिटार गिटार गिटार गिटारों
ticket tickets    | m billet billets   | m billete billetes | m टिकट टिकट टिकट टिकटों
map maps          | f carte cartes     | m mapa mapas       | m नक्शा नक्शे नक्शे नक्शों
hand hands        | f main mains       | f mano manos       | m हाथ हाथ हाथ हाथों
eye eyes          | m œil yeux         | m ojo ojos         | f आँख आँख आँखें आँखों
heart             | m cœur             | m corazón          | m दिल
"""
_FOOD = """
apple apples      | f pomme pommes     | f manzana manzanas | m सेब सेब सेब सेबों
orange oranges    | f orange oranges   | f naranja naranjas | m संतरा संतरे संतरे संतरों
banana bananas    | f banane bananes   | m plátano plátanos | m केला केले केले केलों
mango mangoes     | f mangue mangues   | m mango mangos     | m आम आम आम आमों
lemon lemons      | m citron citrons   | m limón limones    | m नींबू नींबू नींबू नींबुओं
tomato tomatoes   | f tomate tomates   | m tomate tomates   | m टमाटर टमाटर टमाटर टमाटरों
onion onions      | m oignon oignons   | f cebolla cebollas | m प्याज़ प्याज़ प्याज़ प्याज़ों
egg eggs          | m œuf œufs         | m huevo huevos     | m अंडा अंडे अंडे अंडों
sandwich sandwiches | m sandwich sandwichs | m bocadillo bocadillos | m सैंडविच सैंडविच सैंडविच सैंडविचों
pizza pizzas      | f pizza pizzas     | f pizza pizzas     | m पिज़्ज़ा पिज़्ज़ा पिज़्ज़ा पिज़्ज़ों
cake cakes        | m gâteau gâteaux   | m pastel pasteles  | m केक केक केक केकों
bread             | m pain             | m pan              | f रोटी
rice              | m riz              | m arroz            | m चावल
fish              | m poisson          | m pescado          | f मछली
cheese            | m fromage          | m queso            | m पनीर
meat              | f viande           | f carne            | m मांस
chicken           | m poulet           | m pollo            | m चिकन
soup              | f soupe            | f sopa             | m सूप
salad             | f salade           | f ensalada         | m सलाद
butter            | m beurre           | f mantequilla      | m मक्खन
sugar             | m sucre            | m azúcar           | f चीनी
salt              | m sel              | f sal              | m नमक
honey             | m miel             | f miel             | m शहद
chocolate         | m chocolat         | m chocolate        | f चॉकलेट
water             | f eau              | f agua             | m पानी
milk              | m lait             | f leche            | m दूध
tea               | m thé              | m té               | f चाय
coffee            | m café             | m café             | f कॉफ़ी
wine              | m vin              | m vino             | f वाइन
beer              | f bière            | f cerveza          | f बियर
juice             | m jus              | m zumo             | m जूस
money             | m argent           | m dinero           | m पैसा
"""
_PLACES = """
house houses      | f maison maisons   | f casa casas       | m घर घर घर घरों
kitchen           | f cuisine          | f cocina           | f रसोई
garden gardens    | m jardin jardins   | m jardín jardines  | m बगीचा बगीचे बगीचे बगीचों
tree trees        | m arbre arbres     | m árbol árboles    | m पेड़ पेड़ पेड़ पेड़ों
park parks        | m parc parcs       | m parque parques   | m पार्क पार्क पार्क पार्कों
school schools    | f école écoles     | f escuela escuelas | m स्कूल स्कूल स्कूल स्कूलों
market markets    | m marché marchés   | m mercado mercados | m बाज़ार बाज़ार बाज़ार बाज़ारों
city cities       | f ville villes     | f ciudad ciudades  | m शहर शहर शहर शहरों
village villages  | m village villages | m pueblo pueblos   | m गाँव गाँव गाँव गाँवों
hotel hotels      | m hôtel hôtels     | m hotel hoteles    | m होटल होटल होटल होटलों
station stations  | f gare gares       | f estación estaciones | m स्टेशन स्टेशन स्टेशन स्टेशनों
street streets    | f rue rues         | f calle calles     | f सड़क सड़क सड़कें सड़कों
restaurant restaurants | m restaurant restaurants | m restaurante restaurantes | m रेस्तराँ रेस्तराँ रेस्तराँ रेस्तराँओं
hospital hospitals | m hôpital hôpitaux | m hospital hospitales | m अस्पताल अस्पताल अस्पताल अस्पतालों
airport           | m aéroport         | m aeropuerto       | m हवाई_अड्डा हवाई_अड्डे
beach beaches     | f plage plages     | f playa playas     | m समुद्र_तट समुद्र_तट समुद्र_तट समुद्र_तटों
sea               | f mer              | m mar              | m समुद्र
mountain mountains | f montagne montagnes | f montaña montañas | m पहाड़ पहाड़ पहाड़ पहाड़ों
office            | m bureau           | f oficina          | m दफ़्तर
room rooms        | f chambre chambres | f habitación habitaciones | m कमरा कमरे कमरे कमरों
museum museums    | m musée musées     | m museo museos     | m संग्रहालय संग्रहालय संग्रहालय संग्रहालयों
shop shops        | m magasin magasins | f tienda tiendas   | f दुकान दुकान दुकानें दुकानों
forest forests    | f forêt forêts     | m bosque bosques   | m जंगल जंगल जंगल जंगलों
library           | f bibliothèque     | f biblioteca       | m पुस्तकालय
university        | f université       | f universidad      | m विश्वविद्यालय
church churches   | f église églises   | f iglesia iglesias | m गिरजाघर गिरजाघर गिरजाघर गिरजाघरों
temple temples    | m temple temples   | m templo templos   | m मंदिर मंदिर मंदिर मंदिरों
castle castles    | m château châteaux | m castillo castillos | m किला किले किले किलों
bridge bridges    | m pont ponts       | m puente puentes   | m पुल पुल पुल पुलों
building buildings | m bâtiment bâtiments | m edificio edificios | f इमारत इमारत इमारतें इमारतों
wall walls        | m mur murs         | f pared paredes    | f दीवार दीवार दीवारें दीवारों
lake lakes        | m lac lacs         | m lago lagos       | f झील झील झीलें झीलों
island islands    | f île îles         | f isla islas       | m द्वीप द्वीप द्वीप द्वीपों
farm farms        | f ferme fermes     | f granja granjas   | m खेत खेत खेत खेतों
cinema            | m cinéma           | m cine             | m सिनेमाघर
river rivers      | f rivière rivières | m río ríos         | f नदी नदी नदियाँ नदियों
country countries | m pays pays        | m país países      | m देश देश देश देशों
world             | m monde            | m mundo            | f दुनिया
"""
_THOUGHTS = """
music             | f musique          | f música           | m संगीत
football          | m football         | m fútbol           | m फ़ुटबॉल
tennis            | m tennis           | m tenis            | m टेनिस
question questions | f question questions | f pregunta preguntas | m सवाल सवाल सवाल सवालों
answer answers    | f réponse réponses | f respuesta respuestas | m जवाब जवाब जवाब जवाबों
word words        | m mot mots         | f palabra palabras | m शब्द शब्द शब्द शब्दों
sentence sentences | f phrase phrases  | f frase frases     | m वाक्य वाक्य वाक्य वाक्यों
language languages | f langue langues  | m idioma idiomas   | f भाषा भाषा भाषाएँ भाषाओं
translation translations | f traduction traductions | f traducción traducciones | m अनुवाद अनुवाद अनुवाद अनुवादों
number numbers    | m nombre nombres   | m número números   | f संख्या संख्या संख्याएँ संख्याओं
problem problems  | m problème problèmes | m problema problemas | f समस्या समस्या समस्याएँ समस्याओं
model models      | m modèle modèles   | m modelo modelos   | m मॉडल मॉडल मॉडल मॉडलों
matrix            | f matrice          | f matriz           | m मैट्रिक्स
lesson lessons    | f leçon leçons     | f lección lecciones | m पाठ पाठ पाठ पाठों
game games        | m jeu jeux         | m juego juegos     | m खेल खेल खेल खेलों
party parties     | f fête fêtes       | f fiesta fiestas   | f पार्टी पार्टी पार्टियाँ पार्टियों
dream dreams      | m rêve rêves       | m sueño sueños     | m सपना सपने सपने सपनों
idea ideas        | f idée idées       | f idea ideas       | m विचार विचार विचार विचारों
day days          | m jour jours       | m día días         | m दिन दिन दिन दिनों
life              | f vie              | f vida             | m जीवन
sun               | m soleil           | m sol              | m सूरज
moon              | f lune             | f luna             | m चाँद
sky               | m ciel             | m cielo            | m आसमान
star stars        | f étoile étoiles   | f estrella estrellas | m तारा तारे तारे तारों
cloud clouds      | m nuage nuages     | f nube nubes       | m बादल बादल बादल बादलों
snow              | f neige            | f nieve            | f बर्फ़
rain              | f pluie            | f lluvia           | f बारिश
wind              | m vent             | m viento           | f हवा
fire              | m feu              | m fuego            | f आग
"""
_KINDS = {"people": _PEOPLE, "animals": _ANIMALS, "things": _THINGS, "food": _FOOD}
_KINDS |= {"places": _PLACES, "thoughts": _THOUGHTS}
NOUNS = {row.split()[0]: noun(row) for table in _KINDS.values() for row in rows(table)}
CREATURES = tuple(row.split()[0] for row in rows(_ANIMALS))
# The nouns that have a singular and a plural, by kind.
COUNTED = {
    kind: [
        name
        for name in (row.split()[0] for row in rows(table))
        if "-" not in (*NOUNS[name].english, NOUNS[name].french[0], NOUNS[name].hindi[2])
    ]
    for kind, table in _KINDS.items()
}
_LARGE = "boat door window table chair bed car train bus plane bike machine film movie song story hand eye"
SMALL = [name for name in COUNTED["things"] if name not in _LARGE.split()]  # what a hand can carry
# One English word, two meanings: the bank that keeps money and the bank of a river.
MONEY_BANK = noun("bank | f banque | m banco | m बैंक")
RIVER_BANK = noun("bank | f rive | f orilla | m किनारा किनारे")

# English, French and Spanish write a name alike; Hindi writes it by its sound.
NAMES = {
    name: noun("{0} | {1} {0} | {1} {0} | {1} {2}".format(name, *rest))
    for name, *rest in map(
        str.split,
        rows("""
Ana    f आना
Anna   f अन्ना
Maria  f मारिया
Sara   f सारा
Emma   f एम्मा
Julia  f जूलिया
Lucy   f लूसी
Alice  f ऐलिस
Sofia  f सोफ़िया
Priya  f प्रिया
John   m जॉन
Paul   m पॉल
Tom    m टॉम
Peter  m पीटर
David  m डेविड
Daniel m डैनियल
Raj    m राज
Ravi   m रवि
Ali    m अली
Max    m मैक्स
Sam    m सैम
Carlos m कार्लोस
Alex   m ऐलेक्स
Leo    m लियो
Marco  m मार्को
Pedro  m पेड्रो
Omar   m उमर
Amit   m अमित
Laura  f लौरा
Elena  f एलेना
Nina   f नीना
Anita  f अनीता
"""),
    )
}
# Hindi speaks of them in the plural: मेरे पिता खुश हैं
HONOURED = frozenset({"father", "husband", "grandfather", "uncle"})
