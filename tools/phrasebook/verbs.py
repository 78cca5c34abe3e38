"""The verbs of the phrasebook, as a table: one row, four languages."""

from tools.phrasebook.forms import rows, verb

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
look_for looks_for looking_for looked_for | cherche cherche cherchons cherchez cherchent chercher cherché
    | busco busca buscamos buscan buscar buscando busqué buscó buscamos buscaron | ढूँढ ने
bring brings bringing brought | apporte apporte apportons apportez apportent apporter apporté
    | traigo trae traemos traen traer trayendo traje trajo trajimos trajeron | ला
open opens opening opened | ouvre ouvre ouvrons ouvrez ouvrent ouvrir ouvert
    | abro abre abrimos abren abrir abriendo abrí abrió abrimos abrieron | खोल ने
cook cooks cooking cooked | cuisine cuisine cuisinons cuisinez cuisinent cuisiner cuisiné
    | cocino cocina cocinamos cocinan cocinar cocinando cociné cocinó cocinamos cocinaron | पका ने
watch watches watching watched | regarde regarde regardons regardez regardent regarder regardé
    | miro mira miramos miran mirar mirando miré miró miramos miraron | देख ने
listen_to listens_to listening_to listened_to | écoute écoute écoutons écoutez écoutent écouter écouté
    | escucho escucha escuchamos escuchan escuchar escuchando escuché escuchó escuchamos escucharon | सुन ने
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
swim swims swimming swam | nage nage nageons nagez nagent nager nagé
    | nado nada nadamos nadan nadar nadando nadé nadó nadamos nadaron | तैर
sing sings singing sang | chante chante chantons chantez chantent chanter chanté
    | canto canta cantamos cantan cantar cantando canté cantó cantamos cantaron | गा ने
dance dances dancing danced | danse danse dansons dansez dansent danser dansé
    | bailo baila bailamos bailan bailar bailando bailé bailó bailamos bailaron | नाच
jump jumps jumping jumped | saute saute sautons sautez sautent sauter sauté
    | salto salta saltamos saltan saltar saltando salté saltó saltamos saltaron | कूद
fly flies flying - | - vole - - - voler
    | - vuela - - volar volando | उड़
laugh laughs laughing laughed | ris rit rions riez rient rire ri
    | río ríe reímos ríen reír riendo reí rió reímos rieron | हँस
cry cries crying cried | pleure pleure pleurons pleurez pleurent pleurer pleuré
    | lloro llora lloramos lloran llorar llorando lloré lloró lloramos lloraron | रो
sell sells selling sold | vends vend vendons vendez vendent vendre vendu
    | vendo vende vendemos venden vender vendiendo vendí vendió vendimos vendieron | बेच ने
wash washes washing washed | lave lave lavons lavez lavent laver lavé
    | lavo lava lavamos lavan lavar lavando lavé lavó lavamos lavaron | धो ने
close closes closing closed | ferme ferme fermons fermez ferment fermer fermé
    | cierro cierra cerramos cierran cerrar cerrando cerré cerró cerramos cerraron | बंद_कर किया की किए ने
break breaks breaking broke | casse casse cassons cassez cassent casser cassé
    | rompo rompe rompemos rompen romper rompiendo rompí rompió rompimos rompieron | तोड़ ने
clean cleans cleaning cleaned | nettoie nettoie nettoyons nettoyez nettoient nettoyer nettoyé
    | limpio limpia limpiamos limpian limpiar limpiando limpié limpió limpiamos limpiaron
    | साफ़_कर किया की किए ने
count counts counting counted | compte compte comptons comptez comptent compter compté
    | cuento cuenta contamos cuentan contar contando conté contó contamos contaron | गिन ने
carry carries carrying carried | porte porte portons portez portent porter porté
    | llevo lleva llevamos llevan llevar llevando llevé llevó llevamos llevaron | उठा ने
drive drives driving drove | conduis conduit conduisons conduisez conduisent conduire conduit
    | conduzco conduce conducimos conducen conducir conduciendo conduje condujo condujimos condujeron | चला ने
finish finishes finishing finished | finis finit finissons finissez finissent finir fini
    | termino termina terminamos terminan terminar terminando terminé terminó terminamos terminaron
    | खत्म_कर किया की किए ने
hear hears - heard | entends entend entendons entendez entendent entendre entendu
    | oigo oye oímos oyen oír - oí oyó oímos oyeron | सुन ने
choose chooses choosing chose | choisis choisit choisissons choisissez choisissent choisir choisi
    | elijo elige elegimos eligen elegir eligiendo elegí eligió elegimos eligieron | चुन ने
send sends sending sent | envoie envoie envoyons envoyez envoient envoyer envoyé
    | envío envía enviamos envían enviar enviando envié envió enviamos enviaron | भेज ने
throw throws throwing threw | lance lance lançons lancez lancent lancer lancé
    | lanzo lanza lanzamos lanzan lanzar lanzando lancé lanzó lanzamos lanzaron | फेंक ने
build builds building built | construis construit construisons construisez construisent construire construit
    | construyo construye construimos construyen construir construyendo construí construyó
    construimos construyeron | बना ने
visit visits visiting visited | visite visite visitons visitez visitent visiter visité
    | visito visita visitamos visitan visitar visitando visité visitó visitamos visitaron | देख ने
wait waits waiting waited | attends attend attendons attendez attendent attendre attendu
    | espero espera esperamos esperan esperar esperando esperé esperó esperamos esperaron
    | इंतज़ार_कर किया - - ने
travel travels travelling travelled | voyage voyage voyageons voyagez voyagent voyager voyagé
    | viajo viaja viajamos viajan viajar viajando viajé viajó viajamos viajaron
    | यात्रा_कर की - - ने
smile smiles smiling smiled | souris sourit sourions souriez sourient sourire souri
    | sonrío sonríe sonreímos sonríen sonreír sonriendo sonreí sonrió sonreímos sonrieron | मुस्कुरा
fall falls falling fell | tombe tombe tombons tombez tombent tomber +tombé
    | caigo cae caemos caen caer cayendo caí cayó caímos cayeron | गिर
arrive arrives arriving arrived | arrive arrive arrivons arrivez arrivent arriver +arrivé
    | llego llega llegamos llegan llegar llegando llegué llegó llegamos llegaron | पहुँच
study studies studying - | étudie étudie étudions étudiez étudient étudier
    | estudio estudia estudiamos estudian estudiar estudiando | पढ़
teach teaches teaching - | enseigne enseigne enseignons enseignez enseignent enseigner
    | enseño enseña enseñamos enseñan enseñar enseñando | पढ़ा
think thinks thinking thought | pense pense pensons pensez pensent penser pensé
    | pienso piensa pensamos piensan pensar pensando pensé pensó pensamos pensaron | सोच ने
win wins winning won | gagne gagne gagnons gagnez gagnent gagner gagné
    | gano gana ganamos ganan ganar ganando gané ganó ganamos ganaron | जीत
lose loses losing lost | perds perd perdons perdez perdent perdre perdu
    | pierdo pierde perdemos pierden perder perdiendo perdí perdió perdimos perdieron | हार
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
