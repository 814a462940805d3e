import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// A file may come from an attacker, who knows the format of a full-text index and can compute its codes again. Whatever its tables
/// hold, each call returns or throws a DatabaseError.
@Suite struct HostileIndexTests {
    struct Kind: CustomTestStringConvertible, Sendable {
        var detail = "full", content = "", tokenizer = "unicode61", isSecure = false
        var testDescription: String { "\(detail) \(tokenizer)\(content)\(isSecure ? " secure-delete" : "")" }
    }

    private static let kinds = ["full", "column", "none"].flatMap { detail in
        ["", ", content=doc, content_rowid=id", ", content=''", ", content='', contentless_delete=1", ", columnsize=0"].flatMap { content in
            ["unicode61", "porter", "trigram"].flatMap { tokenizer in
                [false, true].map { Kind(detail: detail, content: content, tokenizer: tokenizer, isSecure: $0) }
            }
        }
    }

    /// Makes a file with an index in several segments, of several pages, and words with lists that are longer than a page.
    private func makeFile(_ kind: Kind, _ path: String, _ seed: UInt64) throws {
        var random = SeededGenerator(state: ~seed)
        let db = try Connection(.file(path))
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, a, b)")
        try db.execute(
            SQL(raw: "CREATE VIRTUAL TABLE t USING fts5(a, b, detail=\(kind.detail), tokenize=\(kind.tokenizer)\(kind.content))"))
        let index = try db.fullText("t")
        try index.configure(.pageSize([32, 200, 1_000].randomElement(using: &random) ?? 200))
        try index.configure(.other("automerge", 0))
        if kind.isSecure { try index.configure(.secureDelete(true)) }
        let words = ["alpha", "alphabet", "alpine", "beta", "betas", "gamma", "gammon", "delta", "omega"]
            + (0..<60).map { "word\($0 * $0)" }
        let texts = (1...40).map { _ in
            (0..<Int.random(in: 0...12, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
        }
        for (id, text) in texts.enumerated() {
            let columns: SQL = "(\(id), \(String(text.prefix(20))), \(text))"
            try db.execute("INSERT INTO doc(id, a, b) VALUES \(columns)")
        }
        for part in 0..<4 { try db.execute("INSERT INTO t(rowid, a, b) SELECT id, a, b FROM doc WHERE id % 4 = \(part)") }
        for id in [3, 17, 39] {
            if kind.content.isEmpty || kind.content.contains("_delete") || kind.content.contains("columnsize") {
                try db.execute("DELETE FROM t WHERE rowid = \(id)")
            } else {
                try db.execute("INSERT INTO t(t, rowid, a, b) SELECT 'delete', id, a, b FROM doc WHERE id = \(id)")
            }
            try db.execute("DELETE FROM doc WHERE id = \(id)")
        }
        if Bool.random(using: &random) { try index.optimize() }
        #expect(try index.passesIntegrityCheck(), "\(kind)")
        try db.execute("CREATE VIRTUAL TABLE whole USING fts5(a, b)")
        try db.execute("INSERT INTO whole(rowid, a, b) SELECT id, a, b FROM doc")
    }

    // MARK: Damage

    private static let numbers: [UInt64] = [
        0, 1, 2, 3, 0x7f, 0x80, 0x3fff, 0xffff, 0x3fff_ffff, 0x7fff_ff00, 0x7fff_fff0, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff,
        1 << 40, 1 << 62, .max >> 1, 1 << 63, .max,
    ]

    /// The bytes of a number in FTS5's form.
    private static func varint(_ number: UInt64) -> [UInt8] {
        if number >> 56 != 0 {
            return (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 + 7 * $0)) | 0x80 } + [UInt8(truncatingIfNeeded: number)]
        }
        let count = max(1, (64 - number.leadingZeroBitCount + 6) / 7)
        return (0..<count).reversed().map { UInt8(number >> (7 * UInt64($0)) & 0x7f) | ($0 > 0 ? 0x80 : 0) }
    }

    private static func changed(_ block: [UInt8], isPage: Bool, _ random: inout SeededGenerator) -> [UInt8] {
        guard block.count > 1 else { return varint(numbers.randomElement(using: &random) ?? 0) }
        var block = block
        let leaf = block.count < 4 ? 0 : min(block.count - 1, Int(block[2]) << 8 | Int(block[3]))
        // The footer is small, and much depends on it.
        let place = Int.random(in: (isPage && Bool.random(using: &random) ? leaf : 0)..<block.count, using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: block[place] = .random(in: .min ... .max, using: &random)
        case 1: block[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: block[place] = [0, 1, 2, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
        case 3: block.removeSubrange(place..<min(block.count, place + .random(in: 1...4, using: &random)))
        case 4: block.removeLast(block.count - place)
        case 5 where isPage && leaf + 1 < block.count:
            // A distance that leads out of the page, or past the highest number, to the pages before it.
            let distance = Int.random(in: leaf + 1..<block.count, using: &random)
            block.replaceSubrange(distance...distance, with: varint(.random(in: 0x7fff_f000...0x7fff_ffff, using: &random)))
        default:
            let number = varint(numbers.randomElement(using: &random) ?? 0)
            let end = Bool.random(using: &random) ? place + 1 : min(block.count, place + number.count)
            block.replaceSubrange(place..<end, with: number)
            if isPage, place < leaf, Bool.random(using: &random) {
                let moved = leaf + number.count - (end - place)
                (block[2], block[3]) = (UInt8(truncatingIfNeeded: moved >> 8), UInt8(truncatingIfNeeded: moved))
            }
        }
        return block
    }

    /// Changes a record. Returns whether it is one of those that a check always reads: not of a number or a size.
    private static func damage(_ db: Connection, _ random: inout SeededGenerator) throws -> Bool {
        let tables = ["t_data", "t_data", "t_data", "t_data", "t_data", "t_idx", "t_docsize", "t_config"]
        let table = try #require(tables.randomElement(using: &random))
        guard try db.fetchOne(Int.self, "SELECT 1 FROM sqlite_schema WHERE name = \(table)") != nil else { return true }
        let skipped = Int.random(in: 0..<1_000_000, using: &random)
        let number = Int64(bitPattern: numbers.randomElement(using: &random) ?? 0)
        switch table {
        case "t_idx":
            let keys: (Int, [UInt8], Int)? = try db.fetchOne(
                "SELECT segid, CAST(term AS BLOB), pgno FROM t_idx LIMIT 1 OFFSET \(skipped) % (SELECT count(*) FROM t_idx)")
            guard let (segment, term, page) = keys else { return true }
            let moved = Bool.random(using: &random) ? number : Int64(page + Int.random(in: -6...6, using: &random))
            try db.execute("UPDATE OR REPLACE t_idx SET pgno = \(moved) WHERE segid = \(segment) AND term = \(term)")
            if Int.random(in: 0..<3, using: &random) == 0 {
                let other = changed(term, isPage: false, &random)
                try db.execute("UPDATE OR REPLACE t_idx SET term = \(other) WHERE segid = \(segment) AND term = \(term)")
            }
        case "t_config": try db.execute("UPDATE t_config SET v = \(number) WHERE length(k) % 2 = \(skipped % 2)")
        default:
            let column: SQL = table == "t_data" ? "block" : "sz"
            // Half the changes of the structure and of the averages, which all depends on.
            let isFew = Int.random(in: 0..<4, using: &random) == 0
            let rows: SQL = "SELECT id FROM \(identifier: table) \(raw: isFew ? "WHERE id <= 10" : "") ORDER BY id"
            guard let id: Int64 = try db.fetchOne("\(rows) LIMIT 1 OFFSET \(skipped) % (SELECT max(1, count(*)) FROM (\(rows)))"),
                let block: [UInt8] = try db.fetchOne("SELECT \(column) FROM \(identifier: table) WHERE id = \(id)")
            else { return true }
            let other = changed(block, isPage: id > 10, &random)
            try db.execute("UPDATE \(identifier: table) SET \(column) = \(other) WHERE id = \(id)")
            return table == "t_data" && id > 1
        }
        return table == "t_idx"
    }

    // MARK: Calls

    /// Makes a call that may throw. Returns whether it threw that the database is damaged.
    @discardableResult
    private func call(_ comment: String, _ body: () throws -> Void) -> Bool {
        do { try body() } catch let error as DatabaseError {
            return .corrupt ~= error.code
        } catch { Issue.record("\(comment): \(error)") }
        return false
    }

    private static let typed = [
        "alhpa", "al", "wordd", "word1 beta gam", "omgea delta", "\"alpha beta\" -gamma", "zzz",
    ]

    /// Makes every public call that reads the index. Returns whether a search threw that it is damaged.
    private func callAll(_ db: Connection, _ comment: String) -> Bool {
        var isDamaged = false
        call(comment) {
            let index = try db.fullText("t")
            let several = try [index, db.fullText("whole")]
            for text in Self.typed {
                var search = FullTextSearch(text, limit: 3)
                if call(comment, { _ = try index.search(search) }) { isDamaged = true }
                search.highlightedColumns = ["a"]
                search.facets = ["b": .values("b")]
                search.dropTokensThreshold = 50
                call(comment) { _ = try index.search(search) }
                call(comment) { _ = try db.search(text, in: several) }
                call(comment) { _ = try index.search(FTS5Query.phrase(text, prefix: true)) }
                call(comment) { _ = try index.correctedText(text) }
                call(comment) { _ = try index.corrections(of: text) }
                call(comment) { _ = try index.suggestions(for: text) }
            }
            call(comment) { _ = try index.terms(byColumn: true, byFrequency: true) }
            call(comment) { _ = try index.terms(prefix: "al", limit: 5) }
            call(comment) { _ = try index.settings }
            call(comment) { _ = try index.size() }
        }
        return isDamaged
    }

    private func isIntact(_ db: Connection, _ comment: String) -> Bool {
        var isIntact = false
        call(comment) { isIntact = try db.fullText("t").passesIntegrityCheck(comparingContent: false) }
        call(comment) { _ = try db.fullText("t").passesIntegrityCheck() }
        return isIntact
    }

    /// The distance to a page's last term leads past the highest number, to memory before the page.
    @Test(arguments: ["full", "column", "none"], [false, true])
    func termOffsetBeyondPageIsReportedAsCorrupt(detail: String, isSecure: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("hostile.db")
        try makeFile(Kind(detail: detail, isSecure: isSecure), path, 1)
        do {
            let db = try Connection(.file(path))
            for id in try db.fetchAll(Int64.self, "SELECT id FROM t_data WHERE id > 10") {
                var block: [UInt8] = try #require(try db.fetchOne("SELECT block FROM t_data WHERE id = \(id)"))
                let leaf = Int(block[2]) << 8 | Int(block[3])
                if block.count < leaf + 3 { continue }
                block.replaceSubrange(block.count - 1..<block.count, with: Self.varint(0x7fff_fff0))
                try db.execute("UPDATE t_data SET block = \(block) WHERE id = \(id)")
            }
        }
        let db = try Connection(.file(path))
        #expect(callAll(db, detail) && !isIntact(db, detail))
        #expect(try db.fetchAll(String.self, "PRAGMA quick_check") != ["ok"])
    }

    @Test(.timeLimit(.minutes(60))) func callsOnHostileIndexReturnOrThrow() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("hostile.db"), whole = folder.path("whole.db")
        var made: UInt64?
        for seed in LongTests.seeds(24, of: 2_000) {
            let (number, kind) = (seed / 2, Self.kinds[Int(seed / 2 * 37 % UInt64(Self.kinds.count))])
            let comment = "seed \(seed), \(kind.testDescription)"
            if made != number {
                try? FileManager.default.removeItem(atPath: whole)
                try makeFile(kind, whole, number)
                made = number
            }
            var random = SeededGenerator(state: seed)
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: whole, toPath: path)
            var isOfPages = true
            do {
                let db = try Connection(.file(path))
                for _ in 0..<Int.random(in: 1...4, using: &random) { isOfPages = try Self.damage(db, &random) && isOfPages }
            }
            let db = try Connection(.file(path))
            let isDamaged = callAll(db, comment), isSound = isIntact(db, comment)
            var report: [String] = []
            call(comment) { report = try db.fetchAll("PRAGMA quick_check") }
            // Without a content, no check knows which rows there are.
            if isDamaged, isOfPages, !kind.content.contains("content=") {
                #expect(!isSound && report != ["ok"], "\(comment): a check does not see what a search does")
                #expect(throws: DatabaseError.self, "\(comment)") { try Connection(.file(path), configuration: .untrusted) }
            }
        }
    }
}
