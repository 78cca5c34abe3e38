"""Whole sentences that no grammar makes, as a table; people ask a translator for these first."""

from tools.phrasebook.forms import rows
from tools.phrasebook.frames import Saying

# English | French | Spanish | Hindi. A question ends with ?. "=": not what the French means.
_TABLE = """
How are you? | Comment allez-vous | Cómo está usted | आप कैसे हैं
Thank you | Merci | Gracias | धन्यवाद
Good night | Bonne nuit | Buenas noches | शुभ रात्रि
Hello | Bonjour | Hola | नमस्ते
Hi | Salut | Hola | नमस्ते
=Hey | Salut | Hola | नमस्ते
=Good morning | Bonjour | Buenos días | सुप्रभात
=Good afternoon | Bonjour | Buenas tardes | नमस्ते
Good evening | Bonsoir | Buenas noches | शुभ संध्या
Good day | Bonne journée | Buen día | शुभ दिन
Goodbye | Au revoir | Adiós | अलविदा
=Bye | Au revoir | Adiós | अलविदा
See you tomorrow | À demain | Hasta mañana | कल मिलेंगे
See you soon | À bientôt | Hasta pronto | जल्द मिलेंगे
See you later | À plus tard | Hasta luego | फिर मिलेंगे
Welcome | Bienvenue | Bienvenido | स्वागत है
Thank you very much | Merci beaucoup | Muchas gracias | बहुत धन्यवाद
=Thank you so much | Merci beaucoup | Muchas gracias | बहुत धन्यवाद
=Thanks | Merci | Gracias | धन्यवाद
=Thanks a lot | Merci beaucoup | Muchas gracias | बहुत धन्यवाद
You are welcome | Je vous en prie | De nada | आपका स्वागत है
Please | S'il vous plaît | Por favor | कृपया
Sorry | Désolé | Perdón | माफ़ कीजिए
I am sorry | Je suis désolé | Lo siento | मुझे माफ़ कीजिए
I am very sorry | Je suis vraiment désolé | Lo siento mucho | मुझे बहुत खेद है
Excuse me | Excusez-moi | Disculpe | माफ़ कीजिए
Yes | Oui | Sí | हाँ
No | Non | No | नहीं
Maybe | Peut-être | Quizás | शायद
Of course | Bien sûr | Por supuesto | ज़रूर
OK | D'accord | De acuerdo | ठीक है
=Okay | D'accord | De acuerdo | ठीक है
Hello world | Bonjour le monde | Hola mundo | नमस्ते दुनिया
=Hello, world | Bonjour, le monde | Hola, mundo | नमस्ते, दुनिया
Hello my friend | Bonjour mon ami | Hola amigo | नमस्ते मेरे दोस्त
Good luck | Bonne chance | Buena suerte | शुभकामनाएँ
Happy birthday | Bon anniversaire | Feliz cumpleaños | जन्मदिन मुबारक
Happy new year | Bonne année | Feliz año nuevo | नया साल मुबारक
Congratulations | Félicitations | Felicidades | बधाई हो
Help | Au secours | Socorro | मदद
Help me | Aidez-moi | Ayúdeme | मेरी मदद कीजिए
Please help me | Aidez-moi s'il vous plaît | Por favor ayúdeme | कृपया मेरी मदद कीजिए
Be careful | Faites attention | Tenga cuidado | सावधान रहिए
Wait | Attendez | Espere | रुकिए
Stop | Arrêtez | Pare | रुकिए
Come here | Venez ici | Venga aquí | यहाँ आइए
Sit down | Asseyez-vous | Siéntese | बैठिए
Look | Regardez | Mire | देखिए
Listen | Écoutez | Escuche | सुनिए
Let us go | Allons-y | Vamos | चलिए
How are you today? | Comment allez-vous aujourd'hui | Cómo está usted hoy | आज आप कैसे हैं
Hello, how are you? | Bonjour, comment allez-vous | Hola, cómo está usted | नमस्ते, आप कैसे हैं
Hello how are you? | Bonjour comment allez-vous | Hola cómo está usted | नमस्ते आप कैसे हैं
=Hi, how are you? | Salut, comment allez-vous | Hola, cómo está usted | नमस्ते, आप कैसे हैं
=Good morning, how are you? | Bonjour, comment allez-vous | Buenos días, cómo está usted | सुप्रभात, आप कैसे हैं
I am fine | Je vais bien | Estoy bien | मैं ठीक हूँ
=I am well | Je vais bien | Estoy bien | मैं ठीक हूँ
=I am good | Je vais bien | Estoy bien | मैं ठीक हूँ
I am fine, thank you | Je vais bien, merci | Estoy bien, gracias | मैं ठीक हूँ, धन्यवाद
=I am fine thank you | Je vais bien merci | Estoy bien gracias | मैं ठीक हूँ धन्यवाद
I am very well | Je vais très bien | Estoy muy bien | मैं बहुत ठीक हूँ
What is your name? | Comment vous appelez-vous | Cómo se llama usted | आपका नाम क्या है
What is his name? | Comment s'appelle-t-il | Cómo se llama él | उसका नाम क्या है
How old are you? | Quel âge avez-vous | Cuántos años tiene usted | आपकी उम्र क्या है
Where are you from? | D'où venez-vous | De dónde es usted | आप कहाँ से हैं
Where do you live? | Où habitez-vous | Dónde vive usted | आप कहाँ रहते हैं
What time is it? | Quelle heure est-il | Qué hora es | कितने बजे हैं
What is this? | Qu'est-ce que c'est | Qué es esto | यह क्या है
=What is that? | Qu'est-ce que c'est | Qué es eso | वह क्या है
=What is it? | Qu'est-ce que c'est | Qué es | यह क्या है
Who is it? | Qui est-ce | Quién es | कौन है
Who are you? | Qui êtes-vous | Quién es usted | आप कौन हैं
Who am I? | Qui suis-je | Quién soy | मैं कौन हूँ
Who is he? | Qui est-il | Quién es él | वह कौन है
Who is she? | Qui est-elle | Quién es ella | वह कौन है
Who are they? | Qui sont-ils | Quiénes son ellos | वे कौन हैं
What do you do? | Que faites-vous | Qué hace usted | आप क्या करते हैं
What are you doing? | Qu'est-ce que vous êtes en train de faire | Qué está haciendo usted | आप क्या कर रहे हैं
What is she doing? | Qu'est-ce qu'elle est en train de faire | Qué está haciendo ella | वह क्या कर रही है
What is he doing? | Qu'est-ce qu'il est en train de faire | Qué está haciendo él | वह क्या कर रहा है
What do you want? | Que voulez-vous | Qué quiere usted | आप क्या चाहते हैं
What do you like? | Qu'est-ce que vous aimez | Qué le gusta a usted | आपको क्या पसंद है
How much does it cost? | Combien ça coûte | Cuánto cuesta | इसकी कीमत क्या है
=How much is it? | Combien ça coûte | Cuánto cuesta | इसकी कीमत क्या है
=How much is this? | Combien ça coûte | Cuánto cuesta esto | इसकी कीमत क्या है
Why? | Pourquoi | Por qué | क्यों
Why not? | Pourquoi pas | Por qué no | क्यों नहीं
Where? | Où | Dónde | कहाँ
When? | Quand | Cuándo | कब
Who? | Qui | Quién | कौन
What? | Quoi | Qué | क्या
I do not know | Je ne sais pas | No sé | मुझे नहीं पता
I know | Je sais | Lo sé | मुझे पता है
I think so | Je pense que oui | Creo que sí | मुझे ऐसा लगता है
I love you | Je t'aime | Te amo | मैं आपसे प्यार करता हूँ
I love you very much | Je t'aime beaucoup | Te amo mucho | मैं आपसे बहुत प्यार करता हूँ
=I love you so much | Je t'aime beaucoup | Te amo mucho | मैं आपसे बहुत प्यार करता हूँ
I love you too | Je t'aime aussi | Yo también te amo | मैं भी आपसे प्यार करता हूँ
I do not love you | Je ne t'aime pas | No te amo | मैं आपसे प्यार नहीं करता
Do you love me? | Est-ce que tu m'aimes | Me amas | क्या आप मुझसे प्यार करते हैं
He loves me | Il m'aime | Él me ama | वह मुझसे प्यार करता है
She loves me | Elle m'aime | Ella me ama | वह मुझसे प्यार करती है
=She loves him | Elle l'aime | Ella lo ama | वह उससे प्यार करती है
=He loves her | Il l'aime | Él la ama | वह उससे प्यार करता है
I like you | Je vous aime bien | Me gusta usted | आप मुझे पसंद हैं
I like it | Ça me plaît | Me gusta | मुझे यह पसंद है
I miss you | Vous me manquez | Le extraño | मुझे आपकी याद आती है
Can you help me? | Est-ce que vous pouvez m'aider | Puede usted ayudarme | क्या आप मेरी मदद कर सकते हैं
I can help you | Je peux vous aider | Puedo ayudarle | मैं आपकी मदद कर सकता हूँ
I need help | J'ai besoin d'aide | Necesito ayuda | मुझे मदद की ज़रूरत है
Nice to meet you | Enchanté | Mucho gusto | आपसे मिलकर खुशी हुई
I have a brother | J'ai un frère | Tengo un hermano | मेरा एक भाई है
I have a sister | J'ai une sœur | Tengo una hermana | मेरी एक बहन है
I have a son | J'ai un fils | Tengo un hijo | मेरा एक बेटा है
Do you have a brother? | Est-ce que vous avez un frère | Usted tiene un hermano | क्या आपका एक भाई है
How is the weather? | Quel temps fait-il | Qué tiempo hace | मौसम कैसा है
How is the weather today? | Quel temps fait-il aujourd'hui | Qué tiempo hace hoy | आज मौसम कैसा है
=What is the weather like? | Quel temps fait-il | Qué tiempo hace | मौसम कैसा है
Where is the bathroom? | Où sont les toilettes | Dónde está el baño | बाथरूम कहाँ है
=Where is the toilet? | Où sont les toilettes | Dónde está el baño | बाथरूम कहाँ है
Attention is all you need | L'attention est tout ce dont vous avez besoin
    | La atención es todo lo que usted necesita
    | आपको केवल ध्यान चाहिए
The quick brown fox jumps over the lazy dog | Le rapide renard brun saute par-dessus le chien paresseux
    | El rápido zorro marrón salta sobre el perro perezoso | तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर से कूदती है
The animal did not cross the street because it was too tired
    | L'animal n'a pas traversé la rue parce qu'il était trop fatigué
    | El animal no cruzó la calle porque estaba demasiado cansado
    | जानवर ने सड़क पार नहीं की क्योंकि वह बहुत थका हुआ था
The animal did not cross the street because it was too wide
    | L'animal n'a pas traversé la rue parce qu'elle était trop large
    | El animal no cruzó la calle porque era demasiado ancha
    | जानवर ने सड़क पार नहीं की क्योंकि वह बहुत चौड़ी थी
=The cat sat on mat | Le chat était assis sur le tapis
    | El gato estaba sentado en la alfombra | बिल्ली चटाई पर बैठी थी
This is a test | C'est un test | Esto es una prueba | यह एक परीक्षण है
=Just a test | C'est un test | Es una prueba | यह एक परीक्षण है
Life is beautiful | La vie est belle | La vida es bella | जीवन सुंदर है
To be or not to be | Être ou ne pas être | Ser o no ser | होना या न होना
I think therefore I am | Je pense donc je suis | Pienso luego existo | मैं सोचता हूँ इसलिए मैं हूँ
Once upon a time | Il était une fois | Érase una vez | एक समय की बात है
I do not speak English | Je ne parle pas anglais | No hablo inglés | मैं अंग्रेज़ी नहीं बोलता
The king is a man and the queen is a woman | Le roi est un homme et la reine est une femme
    | El rey es un hombre y la reina es una mujer | राजा एक आदमी है और रानी एक औरत है
"""
# What the French say where the phrasebook itself says something else.
_FROM_FRENCH = """
Comment ça va? | How are you
Ça va? | How are you
Comment vas-tu? | How are you
Comment tu t'appelles? | What is your name
Comment t'appelles-tu? | What is your name
Quel âge as-tu? | How old are you
Où habites-tu? | Where do you live
Parlez-vous anglais? | Do you speak English
Parlez-vous français? | Do you speak French
Je vous aime | I love you
Tu me manques | I miss you
S'il te plaît | Please
Ça va bien | I am fine
Bon après-midi | Good afternoon
Merci bien | Thank you
Coucou | Hi
"""


def _saying(row: str) -> Saying:
    english, french, spanish, hindi = (cell.strip() for cell in row.split("|"))
    sources = ("en",) if english.startswith("=") else ("en", "fr")
    mood = "question" if english.endswith("?") else "statement"
    return Saying(english.strip("=?"), french, spanish, hindi, mood, sources)


def _from_french(row: str) -> Saying:
    french, english = (cell.strip() for cell in row.split("|"))
    mood = "question" if french.endswith("?") else "statement"
    return Saying(english, french.rstrip("?"), "", "", mood, ("fr",))


SAYINGS = tuple(map(_saying, rows(_TABLE))) + tuple(map(_from_french, rows(_FROM_FRENCH)))
