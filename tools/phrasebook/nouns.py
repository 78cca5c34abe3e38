"""The nouns and names of the phrasebook, as tables that a native speaker can read."""

from tools.phrasebook.forms import noun, rows

# English | French | Spanish | Hindi (direct, oblique, plural, oblique plural); m and f are the genders.
NOUNS = {
    row.split()[0]: noun(row)
    for row in rows("""
boy               | m garçon           | m niño             | m लड़का लड़के
girl              | f fille            | f niña             | f लड़की
child children    | m enfant enfants   | m niño niños       | m बच्चा बच्चे बच्चे बच्चों
man               | m homme            | m hombre           | m आदमी
woman             | f femme            | f mujer            | f औरत
brother           | m frère            | m hermano          | m भाई
sister            | f sœur             | f hermana          | f बहन
friend friends    | m ami amis         | m amigo amigos     | m दोस्त दोस्त दोस्त दोस्तों
cat cats          | m chat chats       | m gato gatos       | f बिल्ली बिल्ली बिल्लियाँ बिल्लियों
dog dogs          | m chien chiens     | m perro perros     | m कुत्ता कुत्ते कुत्ते कुत्तों
bird birds        | m oiseau oiseaux   | m pájaro pájaros   | m पक्षी पक्षी पक्षी पक्षियों
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
mother            | f mère             | f madre            | f माँ
father            | m père             | m padre            | m पिता
son               | m fils             | m hijo             | m बेटा बेटे
wife              | f femme            | f esposa           | f पत्नी
husband           | m mari             | m marido           | m पति
family            | f famille          | f familia          | m परिवार
baby              | m bébé             | m bebé             | m शिशु
king              | m roi              | m rey              | m राजा
queen             | f reine            | f reina            | f रानी
teacher           | m professeur       | m profesor         | m शिक्षक
doctor            | m médecin          | m médico           | m डॉक्टर
animal animals    | m animal animaux   | m animal animales  | m जानवर जानवर जानवर जानवरों
horse horses      | m cheval chevaux   | m caballo caballos | m घोड़ा घोड़े घोड़े घोड़ों
cow cows          | f vache vaches     | f vaca vacas       | f गाय गाय गायें गायों
elephant          | m éléphant         | m elefante         | m हाथी
lion              | m lion             | m león             | m शेर
mouse             | f souris           | m ratón            | m चूहा चूहे
fox               | m renard           | m zorro            | f लोमड़ी
rabbit            | m lapin            | m conejo           | m खरगोश
monkey            | m singe            | m mono             | m बंदर
pizza             | f pizza            | f pizza            | m पिज़्ज़ा
cheese            | m fromage          | m queso            | m पनीर
egg eggs          | m œuf œufs         | m huevo huevos     | m अंडा अंडे अंडे
meat              | f viande           | f carne            | m मांस
chicken           | m poulet           | m pollo            | m चिकन
soup              | f soupe            | f sopa             | m सूप
cake              | m gâteau           | m pastel           | m केक
chocolate         | m chocolat         | m chocolate        | f चॉकलेट
orange oranges    | f orange oranges   | f naranja naranjas | m संतरा संतरे संतरे
banana bananas    | f banane bananes   | m plátano plátanos | m केला केले केले
wine              | m vin              | m vino             | f वाइन
juice             | m jus              | m zumo             | m जूस
hotel             | m hôtel            | m hotel            | m होटल
station           | f gare             | f estación         | m स्टेशन
street            | f rue              | f calle            | f सड़क
restaurant        | m restaurant       | m restaurante      | m रेस्तराँ
hospital          | m hôpital          | m hospital         | m अस्पताल
airport           | m aéroport         | m aeropuerto       | m हवाई_अड्डा हवाई_अड्डे
beach             | f plage            | f playa            | m समुद्र_तट
sea               | f mer              | m mar              | m समुद्र
mountain          | f montagne         | f montaña          | m पहाड़
office            | m bureau           | f oficina          | m दफ़्तर
room              | f chambre          | f habitación       | m कमरा कमरे
museum            | m musée            | m museo            | m संग्रहालय
shop              | m magasin          | f tienda           | f दुकान
forest            | f forêt            | m bosque           | m जंगल
library           | f bibliothèque     | f biblioteca       | m पुस्तकालय
university        | f université       | f universidad      | m विश्वविद्यालय
country           | m pays             | m país             | m देश
world             | m monde            | m mundo            | f दुनिया
car cars          | f voiture voitures | m coche coches     | f कार कार कारें
train             | m train            | m tren             | f ट्रेन
bus               | m bus              | m autobús          | f बस
bike              | m vélo             | f bicicleta        | f साइकिल
phone             | m téléphone        | m teléfono         | m फ़ोन
computer          | m ordinateur       | m ordenador        | m कंप्यूटर
photo             | f photo            | f foto             | f तस्वीर
film              | m film             | f película         | f फ़िल्म
movie             | m film             | f película         | f फ़िल्म
music             | f musique          | f música           | m संगीत
song              | f chanson          | f canción          | m गाना गाने
football          | m football         | m fútbol           | m फ़ुटबॉल
tennis            | m tennis           | m tenis            | m टेनिस
question          | f question         | f pregunta         | m सवाल
answer            | f réponse          | f respuesta        | m जवाब
word              | m mot              | f palabra          | m शब्द
sentence          | f phrase           | f frase            | m वाक्य
problem           | m problème         | m problema         | f समस्या
model             | m modèle           | m modelo           | m मॉडल
sun               | m soleil           | m sol              | m सूरज
moon              | f lune             | f luna             | m चाँद
sky               | m ciel             | m cielo            | m आसमान
star              | f étoile           | f estrella         | m तारा तारे
snow              | f neige            | f nieve            | f बर्फ़
ball              | f balle            | f pelota           | f गेंद
shirt             | f chemise          | f camisa           | f कमीज़
shoes shoes       | f - chaussures     | m - zapatos        | m - - जूते जूतों
hat               | m chapeau          | m sombrero         | f टोपी
sofa              | m canapé           | m sofá             | m सोफ़ा सोफ़े
bag               | m sac              | m bolso            | m बैग
gift              | m cadeau           | m regalo           | m तोहफ़ा तोहफ़े
heart             | m cœur             | m corazón          | m दिल
life              | f vie              | f vida             | m जीवन
idea              | f idée             | f idea             | m विचार
river             | f rivière          | m río              | f नदी
""")
}
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
"""),
    )
}
HONOURED = frozenset({"father", "husband"})  # Hindi speaks of them in the plural: मेरे पिता खुश हैं
