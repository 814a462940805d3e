import Foundation
import SQLCipherKitCore
@testable import SQLCipherKitSearch
import Testing
import TestSupport

/// Other forms of words, by the rules of each language.
@Suite struct WordStemsTests {
    /// Words and their stems, as Snowball's own Python code (snowballstemmer 2.0.0) gives them for words of dictionaries.
    static let stems: [FullTextSearch.Language: String] = [
        .danish: """
            afløsnings afløsning nalle nal meldryssedes meldryssed fjoge fjog munkevæsens munkevæs klistren klistr \
            julestads julestad indkode indkod letbanen letban receptionsløve receptionsløv kvalme kvalm \
            subjektivere subjektiv buldermørkeste buldermørkest vellønnedes vellønned fængselsvæsner fængselsvæsn \
            kvalmegrænse kvalmegræns riber rib spansklærer spansklær trykkemaskine trykkemaskin voluntarisme voluntarism \
            guppyen guppy ukrainer ukrain gaffe gaf klejneres klejn
            """,
        .dutch: """
            samenkleven samenklev rotanstokken rotanstok verhuizing verhuiz akerboom akerbom \
            kantonrechters kantonrechter runderhaas runderhas wetsteen wetsten encanailleren encanailler mishagen mishag \
            comprimeren comprimer onschadelĳkheid onschadelĳk consulterend consulter face fac driekoningen driekon \
            valideer valider terrassen terrass olieboringen oliebor dodĳnen dodĳn ontvetten ontvet \
            rangordening rangorden daarenboven daarenbov boombals boombal kĳkervaring kĳkervar figurisme figurism
            """,
        .french: """
            décompactage décompactag prénotion prénot vélocipède vélociped mésozoaire mésozoair sécrétèrent sécret \
            tartares tartar hordéine hordéin anaplasie anaplas stigmatisme stigmat baïonnette baïonnet buvetier buveti \
            repli repl animalesques animalesqu emboîtures emboîtur concatémère concatémer désidératif désider \
            gréseuse gréseux intraversable intravers hydarthrose hydarthros gyrolaser gyrolas lancéolé lancéol cadi cad \
            entérostomie entérostom papillonnerai papillon
            """,
        .german: """
            kompositionen komposition freikratzen freikratz denunziationen denunziation eunuchen eunuch \
            ausgestandenes ausgestand befestigen befest beherrschtheit beherrscht gesetzgebung gesetzgeb \
            beweglichem beweg entkerner entkern brötchen brotch geschlissen geschliss verzeichnen verzeichn filtern filt \
            bedrängnis bedrangnis aurichs aurich schnabeltier schnabelti äxteschwingend axteschwing weinkeltern weinkelt \
            kriegsblinden kriegsblind wetterstürze wettersturz isometrien isometri abgebunden abgebund harmonisch harmon
            """,
        .italian: """
            colitiche colit oraziana orazian agnone agnon serpentiformi serpentiform illustrissima illustrissim \
            esacisottaedro esacisottaedr sbarbicare sbarbic romantici romant tecnologizzare tecnologizz \
            millimetrato millimetr grondone grondon marinare marin broncorragia broncorrag principiando princip \
            sitografia sitograf agghindamento agghind palchiste palchist terziale terzial refutabile refut \
            dislalia dislal sopraccigliare sopraccigl opinabilità opin sudorale sudoral marine marin
            """,
        .norwegian: """
            kontraktskravet kontraktskrav allmennsansen allmennsans lauvmeisen lauvmeis sendefrekvens sendefrekv \
            kystleiene kystlei idrettslærer idrettslær tarmsystemet tarmsystem byggenummer byggenumm angivingen angiving \
            trefaseområde trefaseområd tallerkenvarmer tallerkenvarm sahelbelte sahelbelt hjerterots hjerterot \
            tåregresset tåregress handøvla handøvl fjollet fjoll bankvirksomhet bankvirksom hodeløse hodeløs \
            fjorårsforma fjorårsform landverten landvert sektorgruppe sektorgrupp gulrots gulrot persondelen persondel \
            retorte retort
            """,
        .portuguese: """
            incipientes incipient apelatório apelatóri reconquista reconqu adega adeg antevidência antevident \
            cotovia cotov cidrão cidrã corpulento corpulent semiviver semiviv rosbifes rosbif reviria rev fadigoso fadig \
            caro car maremoto maremot erosão erosã problema problem regato regat decadentismo decadent visitar visit \
            choupo choup corrida corr oscilar oscil comparador compar indecomponível indecompon
            """,
        .russian: """
            поденкой поденк скукота скукот кирка кирк побуждавших побужда супралитораль супралиторал скалываться скалыва \
            запылённость запылен инородный инородн лейкоцит лейкоц баллотированный баллотирова скупивший скуп \
            преисподней преисподн полунамёк полунамек флюктуировал флюктуирова ценностный ценностн углубивший углуб \
            осмеявшему осмея безоконному безокон гороховидным гороховидн приподними приподн \
            землеустройство землеустройств зубовой зубов святославовичем святославович просвечивание просвечиван
            """,
        .spanish: """
            chubutense chubutens reclamante reclam olerlas olerl pistraque pistraqu circundante circund expeler expel \
            botamen botam fustán fustan herbicida herbic congoja congoj jazarino jazarin bojacá bojac anagrama anagram \
            enhestadura enhestadur automedonte automedont contraguardias contraguardi solicitaciones solicit \
            arreboles arrebol juárez juarez aforamiento afor centauras centaur porqueta porquet espuerta espuert \
            frontes front
            """,
        .swedish: """
            sorgfyllda sorgfylld frihetsälskande frihetsälsk biljättar biljät störtvågor störtvåg \
            rättfärdiggöra rättfärdiggör konturskurna konturskurn krismöte krismöt vemodiga vemod genomblöda genomblöd \
            novembermorgnar novembermorgn grillkrydda grillkryd handlöst handlös runforskningens runforskning \
            centiliternas centilit sedlighet sed krysspejla krysspejl hälsohets hälsohet jungfruresa jungfrures \
            proportionerad proportioner blomstergata blomstergat åskledaren åskled mångfaldiga mångfald \
            bakåtvolternas bakåtvolt oblandbar oblandb
            """,
    ]

    private static func snowballStem(_ word: [UInt8], _ rules: WordStems) throws -> [UInt8]? {
        try word.withUnsafeBufferPointer { try rules.snowballStem($0).map(Array.init) }
    }

    @Test(arguments: FullTextSearch.Language.allCases) func stemsAreThoseOfSnowball(_ language: FullTextSearch.Language) throws {
        let rules = try WordStems(language)
        let words = Self.stems[language, default: "caresses caress ponies poni relational relat"].split(separator: " ").map { Array($0.utf8) }
        for place in stride(from: 0, to: words.count, by: 2) {
            let stem = try language == .english ? rules.stem(words[place]) : Self.snowballStem(words[place], rules)
            #expect(stem == words[place + 1], "\(String(decoding: words[place], as: UTF8.self))")
        }
        // Digits, broken UTF-8, capitals, another script, and what is too short or too long.
        let others: [[UInt8]] = [
            [], Array("a1b2".utf8), [0x61, 0x62, 0xc3], [0xc3, 0xc3, 0xa9], [0xff, 0xfe, 0xfd], Array("ABCD".utf8), Array("寺寺".utf8), Array("ab".utf8),
            Array(repeating: 0x61, count: 121),
        ]
        for other in others { #expect(try rules.stem(other) == nil, "\(other)") }
        #expect(try rules.stem(Array("книгами".utf8)) == (language == .russian ? Array("книг".utf8) : nil))
    }

    /// Nouns in forms that Snowball's rules for the language give different stems, without accents as in an index.
    @Test(arguments: [
        (FullTextSearch.Language.danish, "sekvensen sekvens, kvaliteten kvalitet, artikler artikel, noglerne nogle, programmer program"),
        (.dutch, "locaties locatie, plannen plan, getallen getal, grenzen grens, codes code, licenties licentie"),
        (.french, "essais essai, tissus tissu, lieux lieu, indications indication, natives natif"),
        (.german, """
            algorithmen algorithmus, kriterien kriterium, menus menu, themen thema, schemata schema, konten konto, modi modus, \
            feldern feld, fenstern fensters, artikeln artikels, daten datum, makros makro, arrays array, archivs archiv
            """),
        (.italian, "righe riga, buchi buco, paghe paga"),
        (.norwegian, "kvaliteten kvalitet, programmer program, foresporsler foresporsel, friheten frihet"),
        (.portuguese, "acoes acao, dimensoes dimensao, imagens imagem, animais animal, cartoes cartao"),
        (.spanish, "ciudades ciudad, margenes margen, raices raiz, configuraciones configuracion"),
        (.swedish, "huset hus, innehallet innehall, framsidan framsida, nycklar nyckel, sakerheten sakerhet"),
    ])
    func formsOfNounsHaveOneStem(_ language: FullTextSearch.Language, pairs: String) throws {
        let rules = try WordStems(language)
        var differing = 0
        for pair in pairs.split(separator: ",") {
            let words = pair.split(separator: " ").map { Array($0.utf8) }
            let stem = try #require(try rules.stem(words[0]))
            #expect(try rules.stem(words[1]) == stem && rules.isInflection(words[0], of: words[1]), "\(pair)")
            for word in words {
                #expect(rules.beginnings(of: stem).contains { word.starts(with: $0) }, "\(String(decoding: word, as: UTF8.self))")
            }
            differing += try Self.snowballStem(words[0], rules) == Self.snowballStem(words[1], rules) ? 0 : 1
        }
        #expect(differing > 0)
    }

    /// The plural of a typed noun comes before other words of its family, which the rules give the same stem.
    @Test func inflectionsComeBeforeOtherWordsOfTheFamily() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .multilingual()))
        try db.execute("INSERT INTO f(rowid, a) VALUES (1, 'un periodo de actividades'), (2, 'un activo por periodo')")
        var search = FullTextSearch("actividad periodo ")
        search.languages = [.spanish]
        let hits = try db.fullText("f").search(search).hits
        #expect(hits.map(\.rowID) == [1, 2])
        #expect(hits.map(\.inexactness) == [1, 3])
    }

    /// Typed words, and a text that has each in another form, from the table in the article.
    private static func forms(_ language: FullTextSearch.Language) throws -> (typed: String, text: String) {
        let article = try String(contentsOf: Repository.file("Sources/SQLCipherKit/Documentation.docc/Search.md"), encoding: .utf8)
        let row = try #require(article.split(separator: "\n").first { $0.hasPrefix("| `\(language)` |") })
        let cells = row.split(separator: "`")
        return (String(cells[3]), String(cells[5]))
    }

    @Test(arguments: FullTextSearch.Language.allCases) func otherFormsAreFoundAndMarked(_ language: FullTextSearch.Language) throws {
        let (typed, text) = try Self.forms(language)
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .multilingual()))
        try db.execute("INSERT INTO f(rowid, a) VALUES (1, \(text)), (2, 'lorem ipsum dolor sit amet')")
        let index = try db.fullText("f")
        var search = FullTextSearch(typed + " ")
        (search.typoTolerance, search.prefixMatching) = (.none, .none)
        search.languages = []
        #expect(try index.search(search).hits.isEmpty)
        search.languages = Set(FullTextSearch.Language.allCases)
        let count = typed.split(separator: " ").count
        #expect(try index.search(search).hits.first?.matchedWordCount == count)
        search.languages = [language]
        let hit = try #require(try index.search(search).hits.first)
        #expect(hit.matchedWordCount == count && hit.rowID == 1)
        #expect(hit.snippet?.description.count { $0 == "[" } == count, "\(hit.snippet?.description ?? "")")
    }

    static let libraries: [(FullTextSearch.Language, typed: String, text: String)] = [
        (.danish, "bibliotekernes", "biblioteket"), (.dutch, "bibliotheken", "bibliotheek"), (.english, "libraries", "library"),
        (.french, "bibliothèques", "bibliothèque"), (.german, "bibliotheken", "bibliothek"), (.italian, "biblioteche", "biblioteca"),
        (.norwegian, "bibliotekene", "biblioteket"), (.portuguese, "bibliotecas", "biblioteca"),
        (.russian, "библиотеками", "библиотека"), (.spanish, "bibliotecas", "biblioteca"), (.swedish, "biblioteken", "bibliotek"),
    ]

    /// Another form than the index has, with two letters swapped, and half typed.
    @Test(arguments: libraries) func mistypedAndHalfTypedFormsAreFound(
        _ language: FullTextSearch.Language, typed: String, text: String
    ) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .multilingual()))
        try db.execute("INSERT INTO f(rowid, a) VALUES (1, \(text)), (2, 'lorem ipsum dolor sit amet')")
        let index = try db.fullText("f")
        let letters = Array(typed)
        let mistyped = String(letters[..<3] + [letters[4], letters[3]] + letters[5...])
        for text in [mistyped, mistyped + " ", String(typed.dropLast())] {
            var search = FullTextSearch(text)
            search.languages = [language]
            let hit = try #require(try index.search(search).hits.first, "\(text)")
            #expect(hit.rowID == 1 && hit.snippet?.hasHighlights == true, "\(text)")
            #expect(try index.correctedText(typed, languages: [language]) == nil)
        }
    }

    /// The German text has words that are frequent in other languages as well.
    @Test(arguments: [FTS5Tokenizer.multilingual(), .multilingual(removesDiacritics: false), .porter(.unicode61())])
    func languagesOfAnIndexAreThoseOfItsTexts(_ tokenizer: FTS5Tokenizer) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: tokenizer))
        let index = try db.fullText("f")
        #expect(try index.languages().isEmpty)
        for _ in 1...40 { try db.execute("INSERT INTO f(a) VALUES ('the name and this van for door een pas les los com ett')") }
        #expect(try index.languages().isEmpty)
        try db.execute("INSERT INTO f(a) VALUES ('Das ist nicht für eine, und auf der Karte wird es mit')")
        #expect(try index.languages() == [.german])
        try db.execute("INSERT INTO f(a) VALUES ('Não é uma, são também pela que seu'), ('А это для нас, как если или при том')")
        #expect(try index.languages() == [.german, .portuguese, .russian])
        for _ in 1...40 { try db.execute("INSERT INTO f(a) VALUES ('a few words')") }
        #expect(try index.languages().isEmpty)
    }

    @Test func compoundsAreFoundByTheirLastPart() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .multilingual()))
        let texts = [
            "Grafikkarten", "Grafik", "Karte", "Landkarte", "Fragenkatalog", "Frage", "Sprachkurse", "Sprache", "Rohrleitungen", "Rohr",
            "Kartenhaus", "het stadhuis", "de stad",
        ]
        for text in texts { try db.execute("INSERT INTO f(a) VALUES (\(text))") }
        let index = try db.fullText("f")
        var search = FullTextSearch("")
        (search.prefixMatching, search.typoTolerance, search.order) = (.none, .none, .rowID)
        func found(_ text: String, _ language: FullTextSearch.Language) throws -> [Int64] {
            search.text = text
            search.languages = [language]
            return try index.search(search).hits.map(\.rowID)
        }
        // The index has no "Land".
        #expect(try found("Karten", .german) == [1, 3])
        for (word, row) in [("Katalogen", 5), ("Kursen", 7), ("Leitung", 9)] as [(String, Int64)] {
            #expect(try found(word, .german) == [row], "\(word)")
        }
        #expect(try found("huis", .dutch) == [12])
        #expect(try found("\"Karten\"", .german) == [] && found("Grafik -Karte", .german) == [2] && found("Karten", .french) == [])
        // Again after a write.
        try db.execute("INSERT INTO f(a) VALUES ('Land')")
        #expect(try found("Karte", .german) == [1, 3, 4])
        search.order = .best
        let all = try index.search(search)
        #expect(all.hits.map(\.rowID) == [3, 4, 1])
        #expect(all.words[0].matches.map(\.kind) == [.exact, .compound, .compound])
        try db.execute("DELETE FROM f WHERE rowid = 1")
        #expect(try index.search(search).hits.map(\.rowID) == [3, 4])
    }

    @Test func elidedWordsAreLeftOutOfFrenchSearches() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: .multilingual()))
        try db.execute("INSERT INTO f(rowid, a) VALUES (1, 'un arbre'), (2, 'l''arbre'), (3, 'l seul')")
        let index = try db.fullText("f")
        var search = FullTextSearch("l'arbre")
        search.dropTokensThreshold = 0
        #expect(try index.search(search).hits.map(\.rowID) == [2])
        search.languages = [.french]
        for text in ["l'arbre", "L\u{2019}arbre", "qu'arbre", "d'arbres"] {
            search.text = text
            let found = try index.search(search)
            #expect(found.hits.map(\.rowID).sorted() == [1, 2], "\(text)")
            #expect(found.words.map(\.isLeftOut) == [true, false], "\(text)")
        }
        for (text, rows) in [("l arbre", [2]), ("\"l'arbre\"", [2]), ("l'", [3, 2]), ("l'arbre OR seul", [1, 2, 3]), ("arbre -l'arbre", [])] as [(String, [Int64])] {
            search.text = text
            #expect(try Set(index.search(search).hits.map(\.rowID)) == Set(rows), "\(text)")
        }
    }
}
