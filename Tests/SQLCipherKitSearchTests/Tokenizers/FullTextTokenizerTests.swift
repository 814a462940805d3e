import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

@Suite struct FullTextTokenizerTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    func found(_ table: String, _ text: String) throws -> [Int64] {
        try db.fullText(table).hits(FullTextSearch(exactly: text.hasSuffix("*") ? .prefix(String(text.dropLast())) : .phrase(text), order: .rowID)).map(\.rowID)
    }

    /// Creates a table of texts, with row ids from 1.
    func table(_ name: String, _ tokenizer: FTS5Tokenizer, _ texts: String...) throws {
        try db.create(FTS5Table(name, columns: ["a"], tokenizer: tokenizer))
        for text in texts { try db.execute("INSERT INTO \(identifier: name) VALUES (\(text))") }
    }

    @Test func stopWordFilterDropsStopWords() throws {
        try db.register(.tokenFilter(FTS5StopWords(FullTextSearch.englishStopWords, base: .porter(.unicode61())), as: "english"))
        try table("f", .custom("english"), "The cats of the house", "THE end of a house")
        #expect(try found("f", "the cat") == [1])
        #expect(try found("f", "the") == [])
        #expect(try found("f", "\"house of cats\"") == [])
        #expect(try found("f", "\"cats in the house\"") == [1])
        #expect(try db.fullText("f").terms().map(\.term) == ["cat", "end", "hous"])
        // A prefix that is also a stop word.
        try db.execute("INSERT INTO f VALUES ('theatre')")
        #expect(try found("f", "the*") == [3])
        #expect(try db.fullText("f").passesIntegrityCheck())
    }

    @Test(arguments: [FTS5Synonyms.Side.query, .document]) func synonymFilterFindsSynonyms(side: FTS5Synonyms.Side) throws {
        try db.register(.tokenFilter(FTS5Synonyms([["car", "Automobile", "auto"], ["fast", "quick"]], side: side), as: "syn"))
        try table("f", .custom("syn"), "a quick automobile", "a fast CAR here", "slow train")
        #expect(try found("f", "auto") == [1, 2])
        #expect(try found("f", "\"fast car\"") == [1, 2])
        #expect(try found("f", "train") == [3])
        let terms = try db.fullText("f").terms().map(\.term)
        #expect(terms.contains("auto") == (side == .document))
        let hits = try db.fullText("f").hits(FullTextSearch(exactly: "auto").with { $0.highlightedColumns = ["a"] })
        #expect(hits.map { "\($0.highlights["a"] ?? HighlightedText(""))" }.sorted() == [
            "a fast [CAR] here", "a quick [automobile]",
        ])
        #expect(throws: DatabaseError.self) {
            try db.register(.tokenFilter(FTS5Synonyms([["sports car", "x"]]), as: "bad"))
            try db.create(FTS5Table("g", columns: ["a"], tokenizer: .custom("bad")))
        }
    }

    @Test func compatibilityFoldingFindsVariants() throws {
        try db.register(.tokenFilter(FTS5CompatibilityFolding(), as: "folding"))
        try table("f", .custom("folding"), "Straße", "ｆｕｌｌｗｉｄｔｈ", "ﬁnd ﬂow", "year ٢٠٢٤", "plain")
        #expect(try found("f", "STRASSE") == [1])
        #expect(try found("f", "fullwidth") == [2])
        #expect(try found("f", "find flow") == [3])
        #expect(try found("f", "2024") == [4])
        #expect(try found("f", "Plain") == [5])
    }

    @Test func tokenFiltersCanBeChained() throws {
        try db.register(.tokenFilter(FTS5CompatibilityFolding(), as: "folding"))
        try db.register(.tokenFilter(FTS5StopWords(["the"], base: .custom("folding")), as: "stopped"))
        try db.register(.tokenFilter(FTS5Synonyms([["road", "street"]], base: .custom("stopped")), as: "all"))
        try table("f", .custom("all"), "the Ｒｏａｄ")
        #expect(try found("f", "the street") == [1])
    }

    /// Sentences without spaces, with the words that a reader sees in them.
    static let unspaced: [(text: String, words: [String])] = [
        ("我们昨天在大学图书馆学习加密数据库的使用方法", ["我们", "昨天", "大学", "图书馆", "学习", "加密", "数据库", "使用", "方法", "数据"]),
        ("这本书介绍全文检索和中文分词技术", ["书", "介绍", "全文", "检索", "中文", "分词", "技术", "全文检索"]),
        ("北京今天下雨所以火车晚点了", ["北京", "今天", "下雨", "所以", "火车", "晚点"]),
        ("昨日は図書館でデータベースの本を読みました", ["昨日", "図書館", "データベース", "本", "読み", "データ"]),
        ("東京駅から新幹線で大阪へ行きます", ["東京", "東京駅", "新幹線", "大阪", "行き"]),
        ("한국어검색은조사때문에어렵습니다", ["한국어", "검색", "조사", "때문", "어렵"]),
        ("ฉันอ่านหนังสือเกี่ยวกับฐานข้อมูลที่ห้องสมุด", ["ฉัน", "อ่าน", "หนังสือ", "ฐานข้อมูล", "ข้อมูล", "ห้องสมุด"]),
        ("วันนี้ฝนตกหนักมากที่กรุงเทพ", ["วันนี้", "ฝน", "ตก", "หนัก", "มาก", "กรุงเทพ"]),
    ]

    /// The share of the words that a query finds in their sentence.
    func recall(_ tokenizer: FTS5Tokenizer, _ name: String) throws -> Double {
        try db.create(FTS5Table(name, columns: ["a"], tokenizer: tokenizer))
        for (text, _) in Self.unspaced { try db.execute("INSERT INTO \(identifier: name) VALUES (\(text))") }
        var hits = 0, words = 0
        for (index, item) in Self.unspaced.enumerated() {
            for word in item.words {
                words += 1
                if try found(name, word).contains(Int64(index + 1)) { hits += 1 }
            }
        }
        return Double(hits) / Double(words)
    }

    @Test func cjkTokenizerFindsWordsInUnspacedText() throws {
        try db.register(.cjkTokenizer(as: "cjk"))
        #expect(try recall(.custom("cjk"), "cjk") == 1)
        let plain = try recall(.unicode61(), "plain"), trigram = try recall(.trigram(), "trigram")
        #expect(plain < 0.2, "unicode61 finds \(plain)")
        #expect(trigram < 0.6, "trigram finds \(trigram)")
        // Words that are not in the text are not found, and those found are marked.
        #expect(try found("cjk", "据数") == [] && found("cjk", "图书数据") == [] && found("cjk", "สมุดห้อง") == [])
        let hit = try db.fullText("cjk").hits(FullTextSearch(exactly: "图书馆").with { $0.highlightedColumns = ["a"] }).first
        #expect(hit?.highlights["a"]?.parts.filter(\.isHighlighted).map(\.text) == ["图书馆"])
        try db.execute("INSERT INTO cjk VALUES ('Swift 6でＳＱＬiteとCafé を使う')")
        for word in ["swift", "6", "sqlite", "cafe", "使う", "と"] { #expect(try found("cjk", word).contains(9), "\(word)") }
        #expect(try found("cjk", "数据*") == [1])
        #expect(try db.fullText("cjk").passesIntegrityCheck())
    }

    @Test func codeTokenizerFindsPartsOfIdentifiers() throws {
        try db.register(.tokenizer(FTS5CodeTokenizer(), as: "code"))
        try table(
            "f", .custom("code"), "func parseHTTPResponse2(_ data: Data)", "int parse_http_response = sqlite3_open_v2(x);", "__init__ größeMax")
        for query in ["parse", "http", "response", "parseHTTPResponse", "HTTPResponse", "parse_http"] {
            #expect(try found("f", query) == [1, 2], "\(query)")
        }
        #expect(try found("f", "parsehttpresponse2") == [1])
        #expect(try found("f", "parsehttpresponse") == [1, 2] && found("f", "parsehttpresponsedata") == [])
        #expect(try found("f", "sqlite3_open") == [2] && found("f", "open") == [2] && found("f", "v2") == [2])
        #expect(try found("f", "init") == [3] && found("f", "größe") == [3] && found("f", "max") == [3])
        #expect(try found("f", "ttp") == [])
        let tokens = try FTS5Tokenizer.custom("code").tokens(of: "parseHTTPResponse_v2", on: db)
        #expect(tokens.map(\.token) == ["parse", "parsehttpresponsev", "http", "response", "v", "parsehttpresponsev", "2"])
        #expect(tokens.map(\.isColocated) == [false, true, false, false, false, true, false])
        // Words in other languages and writings are those of the multilingual tokenizer.
        try db.execute("INSERT INTO f(rowid, a) VALUES (4, 'let getUserName = 東京図書館.ＰａｇｅＴｗｏ(ÉtatCafé_Größe2)')")
        let fts = try db.fullText("f")
        for typed in ["user name", "getUserName", "getusername", "図書館", "page two", "etat", "cafe", "état", "grosse", "pagetwo", "cafegrosse"] {
            #expect(try fts.search(typed + " ").hits.contains { $0.rowID == 4 && $0.typoCount == 0 }, "\(typed)")
        }
        #expect(try FTS5Tokenizer.custom("code").tokens(of: "ÉtatE\u{301}tat", on: db).map(\.token).filter { $0 == "etat" }.count == 2)
        #expect(try fts.passesIntegrityCheck())
        // A token at the place of another one is marked as well.
        var typed = FullTextSearch("parsehttpresponse ")
        typed.highlightedColumns = ["a"]
        let marked = try db.fullText("f").search(typed).hits.map { $0.highlights["a"]?.marked() }
        #expect(Set(marked) == ["func [parseHTTPResponse]2(_ data: Data)", "int [parse_http_response] = sqlite3_open_v2(x);"])
    }

    struct Commas: FTS5CustomTokenizer {
        struct Refused: Error {}
        func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) throws {
            if text.elementsEqual("refuse".utf8) { throw Refused() }
            var start = 0
            for end in 0...text.count where end == text.count || text[end] == UInt8(ascii: ",") {
                if start < end { tokens.add(UnsafeBufferPointer(rebasing: text[start..<end]), range: start..<end) }
                start = end + 1
            }
        }
    }

    @Test func customTokenizerSplitsTextAndThrows() throws {
        try db.register(.tokenizer(Commas(), as: "commas"))
        try table("f", .custom("commas"), "one two,three", "")
        #expect(try found("f", "one two") == [1])
        #expect(try found("f", "one") == [])
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO f VALUES ('refuse')") }
        #expect(error?.message.contains("Refused") == true)
        let next = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO missing VALUES (1)") }
        #expect(next?.message.contains("no such table") == true)
        try db.execute("INSERT INTO f VALUES ('after')")
        #expect(try found("f", "after") == [3])
    }

    @Test func invalidBytesKeepTokenizedIndexIntact() throws {
        try db.register(.cjkTokenizer(as: "cjk"))
        try db.register(.tokenizer(FTS5CodeTokenizer(), as: "code"))
        try db.register(.tokenFilter(FTS5CompatibilityFolding(), as: "folding"))
        try db.register(.tokenFilter(FTS5Synonyms([["a", "b"]], side: .document, base: .custom("folding")), as: "syn"))
        var random = SeededGenerator()
        for name in ["cjk", "code", "folding", "syn"] {
            try db.create(FTS5Table("f_\(name)", columns: ["a"], tokenizer: .custom(name)))
            for index in 0..<500 {
                let bytes = Data((0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
                try db.execute("INSERT INTO \(identifier: "f_\(name)") VALUES (CAST(\(bytes) AS TEXT))")
                try db.execute("INSERT INTO \(identifier: "f_\(name)") VALUES (\(FullTextQueryTests.hostile(&random)))")
                if index % 50 == 0 { try db.execute("DELETE FROM \(identifier: "f_\(name)") WHERE rowid % 3 = 0") }
                _ = try found("f_\(name)", FullTextQueryTests.hostile(&random))
            }
            #expect(try db.fullText("f_\(name)").passesIntegrityCheck(), "\(name)")
        }
    }

    @Test func unregisteredTokenizerThrowsItsName() throws {
        let folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { try $0.register(.tokenizer(Commas(), as: "commas")) }
        do {
            let db = try Connection(.file(folder.path("a.db")), configuration: configuration)
            try db.create(FTS5Table("f", columns: ["a"], tokenizer: .custom("commas")))
            try db.execute("INSERT INTO f VALUES ('one,two')")
        }
        let without = try Connection(.file(folder.path("a.db")))
        let error = #expect(throws: DatabaseError.self) { try without.fullText("f").hits("one") }
        #expect(error?.message.contains("commas") == true)
        let again = try Connection(.file(folder.path("a.db")), configuration: configuration)
        #expect(try again.fullText("f").hits("two").count == 1)
    }
}
