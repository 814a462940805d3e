import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// Text in any language is found by any part of it that a reader types.
@Suite struct FullTextLanguageTests {
    let db: Connection
    init() throws { db = try Connection(.memory) }

    static let sentences = [
        "東京2020オリンピックの開会式", "微信WeChat支付很方便", "令和5年4月1日(土)", "你好，世界。再见！", "한국어 형태소 분석기를 만들었다", "ｶﾀｶﾅとﾊﾟｿｺﾝ",
        "Swift 6でＳＱＬｉｔｅを使う", "データベース設計とガイド", "ฉันอ่านหนังสือเกี่ยวกับฐานข้อมูลที่ห้องสมุด", "𠮷野家で🍣を食べた", "မြန်မာဘာသာစကား", "ភាសាខ្មែរ",
        "ພາສາລາວ", "我们昨天在大学图书馆学习", "北京、上海和「广州」", "ㄅㄆㄇ注音", "第1章:はじめに", "인공지능AI와 데이터베이스",
    ]

    static func isWordCharacter(_ character: Character?) -> Bool {
        guard let scalar = character?.unicodeScalars.first else { return false }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar.properties.isEmojiPresentation
    }

    /// True if both characters belong to one word of a script with spaces, so that a part of the text cannot begin between them.
    static func isInsideOfWord(_ before: Character?, _ after: Character?) -> Bool {
        func isPlain(_ character: Character?) -> Bool {
            guard let scalar = character?.unicodeScalars.first, isWordCharacter(character) else { return false }
            return scalar.value < 0x250 || (0xff01...0xff5e).contains(scalar.value)
        }
        return isPlain(before) && isPlain(after)
    }

    static func forms(_ text: String) -> [String] {
        [text, text.decomposedStringWithCanonicalMapping, text.precomposedStringWithCompatibilityMapping]
    }

    @Test(arguments: ["multilingual", "cjk"]) func substringsOfUnspacedTextAreFoundAndHighlighted(name: String) throws {
        try db.register(.cjkTokenizer(as: "cjk"))
        let tokenizer: FTS5Tokenizer = name == "cjk" ? .custom("cjk") : .multilingual()
        try db.create(FTS5Table("f", columns: ["a"], tokenizer: tokenizer))
        let statement = try db.prepare("SELECT highlight(f, 0, '⟦', '⟧') FROM f WHERE f MATCH ? AND rowid = ?")
        var queries = 0
        for (form, sentence) in Self.sentences.flatMap({ sentence in Self.forms(sentence).enumerated().map { ($0, $1) } }) {
            try db.execute("DELETE FROM f")
            try db.execute("INSERT INTO f(rowid, a) VALUES (1, \(sentence))")
            for (queryForm, text) in Self.forms(sentence).enumerated() where form == 0 || queryForm == 0 {
                let characters = Array(text)
                for start in characters.indices {
                    for end in (start + 1)...min(start + 6, characters.count) where end <= characters.count {
                        let part = characters[start..<end]
                        guard part.contains(where: { Self.isWordCharacter($0) }),
                            !Self.isInsideOfWord(start > 0 ? characters[start - 1] : nil, part.first),
                            !Self.isInsideOfWord(part.last, end < characters.count ? characters[end] : nil)
                        else { continue }
                        queries += 1
                        let marked = try statement.fetchOne(String.self, [FTS5Query.phrase(String(part)), 1])
                        guard let marked else {
                            Issue.record("\(String(part)) is not found in \(sentence)")
                            continue
                        }
                        guard form == queryForm else { continue }
                        // Exactly the words of the part are marked.
                        let wanted = String(part).trimmingCharacters(in: .punctuationCharacters.union(.whitespaces).union(.symbols))
                        let found = marked.components(separatedBy: "⟦").dropFirst().map { $0.components(separatedBy: "⟧")[0] }
                        let isExact = found.allSatisfy { $0 == wanted || $0.contains { !Self.isWordCharacter($0) } || wanted.isEmpty }
                        if !isExact { Issue.record("\(String(part)) marks \(marked)") }
                    }
                }
            }
        }
        #expect(queries > 1_500)
        try db.execute("DELETE FROM f")
        try db.execute("INSERT INTO f VALUES ('東京都')")
        let hit = try db.fullText("f").hits(FullTextSearch(exactly: .words("京")).with { $0.highlightedColumns = ["a"] }).first
        #expect(hit?.highlights["a"]?.description == "東[京]都")
        #expect(try db.fullText("f").passesIntegrityCheck())
    }

    func tokens(_ text: String, _ tokenizer: FTS5Tokenizer = .multilingual()) throws -> [String] {
        try tokenizer.tokens(of: text, on: db).map(\.token)
    }

    @Test func multilingualTokenizerNormalizesScripts() throws {
        #expect(try tokens("काम कीमा") == ["काम", "कीमा"])
        // A composed letter and its decomposed form; Unicode excludes it from composition.
        #expect(try tokens("\u{0958}लम \u{0915}\u{093C}लम") == ["कलम", "कलम"])
        #expect(try tokens("தமிழ் মেয়েরা ગુજરાતી").count == 3)
        #expect(try tokens("مُحَمَّدٌ أحمد إسلام آب مدرسة على مـحـمد") == ["محمد", "احمد", "اسلام", "اب", "مدرسه", "علي", "محمد"])
        #expect(try tokens("שָׁלוֹם") == ["שלום"])
        #expect(try tokens("Café cafe\u{301} Straße ÆØÅ İstanbul ﬁnd Łódź") == ["cafe", "cafe", "strasse", "aeoa", "istanbul", "find", "lodz"])
        #expect(try tokens("й и\u{306} Ё е\u{308} за\u{301}мок") == ["й", "й", "е", "е", "замок"])
        #expect(try tokens("Ἀθῆναι ΣΊΣΥΦΟΣ") == ["αθηναι", "σισυφοσ"])
        #expect(try tokens("١٢٣ १२३ ＡＢＣ１２ ๒๐") == ["123", "123", "abc12", "20"])
        #expect(try tokens("❤️ 👍🏽 🇩🇪") == ["❤", "👍", "🇩", "🇪"])
        #expect(try tokens("soft\u{AD}hyphen zero\u{200D}joiner") == ["softhyphen", "zerojoiner"])
        #expect(try tokens("don't e-mail x_y v2.0") == ["don", "t", "e", "mail", "x", "y", "v2", "0"])
        let kept = FTS5Tokenizer.multilingual(removesDiacritics: false, removesVowelSigns: false)
        #expect(try tokens("Café cafe\u{301} Straße", kept) == ["café", "café", "straße"])
        #expect(try tokens("مُحَمَّدٌ", kept) == ["مُحَمَّدٌ"])
        #expect(throws: DatabaseError.self) {
            try db.execute("CREATE VIRTUAL TABLE bad USING fts5(a, tokenize = 'multilingual remove_diacritics 3')")
        }
    }

    /// Words of any length, at any place of eight bytes, with whatever follows them.
    @Test func asciiTokensMatchModel() throws {
        var random = SeededGenerator()
        let pieces = "aZ09bcde".map { ($0, $0.lowercased()) } + [("é", "e"), ("\u{AD}", "")]
        for _ in 0..<2_000 {
            var text = "", words = [""]
            for _ in 0..<Int.random(in: 0...50, using: &random) {
                if Int.random(in: 0...7, using: &random) == 0, let end = " @[`{/:~\u{7F}\n.…".randomElement(using: &random) {
                    text.append(end)
                    words.append("")
                } else if let (piece, token) = pieces.randomElement(using: &random) {
                    text.append(piece)
                    words[words.count - 1] += token
                }
            }
            #expect(try tokens(text) == words.filter { !$0.isEmpty }, "\(text)")
        }
    }

    /// For any text, token ranges are within it, and canonically equal texts have the same tokens.
    @Test func multilingualTokensAreInRangeAndCanonical() throws {
        var random = SeededGenerator()
        var ranges: [ClosedRange<UInt32>] = [0x20...0x7e, 0xa0...0x24f, 0x300...0x36f, 0x370...0x52f, 0x590...0x6ff, 0x900...0xdff, 0xe00...0x10ff]
        ranges += [0x1100...0x11ff, 0x1780...0x17ff, 0x1e00...0x1fff, 0x2000...0x206f, 0x3000...0x30ff, 0x4e00...0x4eff, 0xac00...0xad00]
        ranges += [0xf900...0xfaff, 0xfe00...0xfe0f, 0xff00...0xffef, 0x1f300...0x1f6ff, 0x20000...0x20010, 0x10fff0...0x10ffff]
        for _ in 0..<3_000 {
            var text = String.UnicodeScalarView()
            let range = ranges.randomElement(using: &random) ?? 0x20...0x7e, second = ranges.randomElement(using: &random) ?? range
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let value = UInt32.random(in: Bool.random(using: &random) ? range : second, using: &random)
                if let scalar = Unicode.Scalar(value) { text.append(scalar) }
            }
            let string = String(text)
            for purpose in [FTS5Tokenizer.Purpose.document, .query, [.query, .prefix], .auxiliary] {
                for token in try FTS5Tokenizer.multilingual().tokens(of: string, for: purpose, on: db) {
                    #expect(!token.token.isEmpty && token.range.upperBound <= string.endIndex)
                }
            }
        }
        for (text, _) in FullTextTokenizerTests.unspaced {
            let composed = try tokens(text.precomposedStringWithCanonicalMapping)
            #expect(try tokens(text.decomposedStringWithCanonicalMapping) == composed)
        }
    }
}
