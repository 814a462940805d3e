import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// CSV files of every dialect: what comes out is what went in.
@Suite struct ImportDialectTests {
    /// 100 files, 1,000 with `SQLCIPHERKIT_LONG_TESTS`.
    @Test func randomCSVDialectsImportEveryField() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator()
        var files: [GeneratedCSV] = []
        for number in 0..<(LongTests.areOn ? 1000 : 100) {
            let file = GeneratedCSV(&random)
            try file.bytes.write(to: URL(fileURLWithPath: folder.path("f\(number).csv")))
            files.append(file)
        }
        let paths = files.indices.map { folder.path("f\($0).csv") }, options = ["--no-key", "--batch", "7"]
        try Tool.run(["import", folder.path("a.db")] + paths + options + ["--text"]).expectSuccess()
        try Tool.run(["import", folder.path("b.db")] + paths + options).expectSuccess()
        let byValue = try Connection(.file(folder.path("b.db")))
        let db = try Connection(.file(folder.path("a.db")))
        for (number, file) in files.enumerated() {
            let names = file.hasHeader ? file.names : file.names.indices.map { "column\($0 + 1)" }
            for (column, name) in names.enumerated() {
                let expected = file.rows.map { $0[column] }
                let label: Comment = "f\(number).csv, \(name): \(file.dialect)"
                let values = try db.fetchAll(String?.self, SQL(raw: "SELECT \"\(name)\" FROM f\(number) ORDER BY rowid"))
                try #require(values == expected.map(\.stored), label)
                // A number says as much as the field, or the field is stored as it is.
                let others: [(String?, String, Double?)] = try byValue.fetchAll(
                    SQL(raw: "SELECT CAST(\"\(name)\" AS TEXT), typeof(\"\(name)\"), CAST(\"\(name)\" AS REAL) FROM f\(number) ORDER BY rowid"))
                for (other, field) in zip(others, expected) where other.0 != field.stored {
                    try #require(["real", "integer"].contains(other.1) && !field.isQuoted && other.2 == Double(field.text), label)
                    #expect(!field.text.hasPrefix("0") || field.text.hasPrefix("0."), label)
                }
                let types = Set(others.map { $0.1 }).subtracting(["null"])
                #expect(types.count <= 1 || types == ["integer", "real"], label)
                let present = expected.compactMap(\.stored)
                if !present.isEmpty, expected.allSatisfy({ !$0.isQuoted && ($0.text.isEmpty || Self.isInteger($0.text)) }) {
                    #expect(types == ["integer"], label)
                }
                let ordered: [String] = try byValue.fetchAll(
                    SQL(raw: "SELECT CAST(\"\(name)\" AS TEXT) FROM f\(number) WHERE \"\(name)\" IS NOT NULL ORDER BY \"\(name)\", rowid"))
                if types.contains("text") {
                    #expect(ordered == present.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, label)
                } else {
                    #expect(ordered.compactMap { Decimal(string: $0) } == present.compactMap { Decimal(string: $0) }.sorted(), label)
                }
                for text in Set(present).prefix(3) {
                    let found = try db.fetchOne(Int.self, "SELECT count(*) FROM f\(raw: "\(number)") WHERE \(identifier: name) IN (\(text))")
                    #expect(found == present.count { $0 == text }, label)
                }
            }
        }
    }

    private static func isInteger(_ text: String) -> Bool { text.wholeMatch(of: /0|-?[1-9][0-9]{0,17}/) != nil }

    @Test func importReportsDetectedDialect() throws {
        let folder = try TemporaryFolder()
        func load(_ name: String, _ bytes: Data, _ options: String...) throws -> [String] {
            try bytes.write(to: URL(fileURLWithPath: folder.path(name)))
            let outcome = try Tool.run(["import", folder.path("a.db"), folder.path(name), "--no-key"] + options)
            try #require(outcome.status == 0, "\(outcome.errors)")
            return outcome.output.split(separator: "\n").dropFirst().dropLast().map(String.init)
        }
        #expect(try load("zip.csv", Data("zip;n\n10115;1\n01067;2\n".utf8)) == [
            "read as CSV with semicolons, quoted with \", names in the first line",
            "columns: zip text (a number would change line 3), n integer",
        ])
        #expect(try load("w.csv", Data("\u{feff}a|b\n1|x\n".utf8))[0] == "read as CSV with |, quoted with \", names in the first line")
        #expect(try load("n.csv", Data("1,2020-01-01\n2,2020-01-02\n".utf8))[0].contains("no line of names"))
        #expect(try load("q.csv", Data("a,b\n'x,y','it''s'\n".utf8), "--quote", "'") == [
            "read as CSV with commas, quoted with ', names in the first line", "columns: a text, b text",
        ])
        #expect(try load("t.csv", Data("a,b\n01,1.10\n".utf8), "--types", "a=integer,b=real")[1] == "columns: a integer, b real")
        // The quote after 5 is no quote around a field, and the CR in quotes is no end of a line.
        #expect(try load("s.csv", Data("size 5\",note\n1,\"p\rq\"\n2,\"u\rv\"\n".utf8))[1] == "columns: size 5\" integer, note text")
        #expect(try load("h.csv", Data("1,2\n3,4\n".utf8), "--header")[1] == "columns: 1 integer, 2 integer")
        let db = try Connection(.file(folder.path("a.db")))
        #expect(try db.fetchAll(String.self, "SELECT zip FROM zip WHERE zip IN ('01067', 10115) ORDER BY zip") == ["01067", "10115"])
        #expect(try db.fetchOne(String.self, "SELECT a || b FROM w") == "1x")
        #expect(try db.fetchOne(String.self, "SELECT a || b FROM q") == "x,yit's")
        #expect(try db.fetchOne(String.self, "SELECT a || ' ' || b FROM t") == "1 1.1")
    }

    /// The sample says that a column is one of numbers, and a later line that it is not.
    @Test func lateTextValueWidensColumnWithoutLoss() throws {
        let folder = try TemporaryFolder()
        let numbers = (1...6000).map { "\($0),\($0).5,," }
        let path = folder.path("t.csv")
        try Data((["a,b,c,d"] + numbers + ["007,1.10,3,x,"]).joined(separator: "\n").dropLast().utf8).write(to: URL(fileURLWithPath: path))
        try Tool.run("import", folder.path("a.db"), path, "--no-key", "--batch", "100", "--search", "d").expectSuccess()
        try Data("a,b,c,d\n8,2,4,later\n".utf8).write(to: URL(fileURLWithPath: folder.path("u.csv")))
        let again = try Tool.run("import", folder.path("a.db"), folder.path("u.csv"), "--table", "t", "--no-key")
        #expect(again.expectSuccess().output.contains("columns: id integer, a text"))
        let db = try Connection(.file(folder.path("a.db")))
        let rows: [String] = try db.fetchAll("SELECT a || ' ' || b || ' ' || ifnull(c, '-') FROM t WHERE id IN (1, 6000, 6001, 6002)")
        #expect(rows == ["1 1.5 -", "6000 6000.5 -", "007 1.1 3", "8 2.0 4"])
        #expect(try db.fetchAll(String.self, "SELECT DISTINCT typeof(a) || typeof(b) || typeof(c) FROM t") == ["textrealnull", "textrealinteger"])
        #expect(try db.fullText("t_search").search("later", limit: 5).hits.map(\.rowID) == [6002])
    }

    @Test func raggedLinesArePaddedSkippedOrRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("t.csv")
        try Data("a,b\n1,2\n3\n4,5,6\n".utf8).write(to: URL(fileURLWithPath: path))
        func rows(_ choice: String) throws -> ([String], String) {
            let outcome = try Tool.run("import", folder.path("a.db"), path, "--no-key", "--ragged", choice, "--table", choice).expectSuccess()
            let db = try Connection(.file(folder.path("a.db")))
            return (try db.fetchAll(SQL(raw: "SELECT concat_ws(',', a, b\(choice == "pad" ? ", column3" : "")) FROM \(choice)")), outcome.output)
        }
        #expect(try rows("pad").0 == ["1,2", "3", "4,5,6"])
        let skipped = try rows("skip")
        #expect(skipped.0 == ["1,2"] && skipped.1.contains("left out 2 lines with a different number of fields"))
        try Tool.run("import", folder.path("a.db"), path, "--no-key", "--table", "e").expectFailure(1, "line 3", "1 field", "--ragged")
    }
}

/// A file made of random fields in a random dialect.
struct GeneratedCSV {
    struct Field {
        let text: String
        var isQuoted = false
        /// The value that a database must have.
        var stored: String? { text.isEmpty && !isQuoted ? nil : text }
    }

    let names: [String]
    let rows: [[Field]]
    let hasHeader: Bool
    let bytes: Data
    let dialect: String

    init(_ random: inout SeededGenerator) {
        let delimiter = random.one([",", ";", "\t", "|"])
        let lineEnd = random.one(["\n", "\r\n", "\r"])
        let mark = random.below(2) == 0
        let quotesAll = random.below(4) == 0
        let width = 2 + random.below(4)
        let kinds = (0..<width).map { _ in random.below(8) }
        names = (0..<width).map { "name\($0)" }
        // Without names, numbers must show that there are none.
        hasHeader = quotesAll || !kinds.contains { $0 < 2 } || random.below(4) > 0
        var rows: [[Field]] = []
        for _ in 0..<(2 + random.below(12)) {
            rows.append(kinds.map { kind in
                var field = Field(text: Self.text(kind, &random))
                let needs = field.text.contains { [delimiter, "\"", "\n", "\r", "\r\n"].contains(String($0)) }
                field.isQuoted = needs || quotesAll || field.text.isEmpty && kind > 2 && random.below(2) == 0
                return field
            })
        }
        // A line of nothing but empty fields in one column would be an empty line; here there are always delimiters.
        self.rows = rows
        func line(_ fields: [Field]) -> String {
            fields.map { $0.isQuoted ? "\"" + $0.text.replacingOccurrences(of: "\"", with: "\"\"") + "\"" : $0.text }.joined(separator: delimiter)
        }
        let header = hasHeader ? [line(names.map { Field(text: $0, isQuoted: quotesAll) })] : []
        let text = (header + rows.map(line)).joined(separator: lineEnd) + (random.below(2) == 0 ? lineEnd : "")
        bytes = Data(((mark ? "\u{feff}" : "") + text).utf8)
        dialect = "\(delimiter.debugDescription) \(lineEnd.debugDescription) \(mark) \(quotesAll) \(hasHeader)"
    }

    private static func text(_ kind: Int, _ random: inout SeededGenerator) -> String {
        let number = random.below(100_000)
        switch kind {
        case 0: return "\(number - 500)"
        case 1: return "\(number).\(1 + random.below(9))"
        case 2: return random.below(5) == 0 ? "" : "\(number)"
        // Zip codes, versions and prices, whose zeros count.
        case 3: return String(format: "%05d", number)
        case 4: return "\(random.below(3)).\(random.below(20) * 10)"
        case 5: return random.one(["1e5", "+7", "0x10", "-0", "0.0", "1.0", ".5", "5.", "12345678901234567890", "9223372036854775807", "inf", ""])
        case 6: return random.one(["", "plain", "two\nlines", "a \"quote\"", "x,y;z|w\tv", " blank ", "NULL", "5\u{201d}", "'tis"])
        default:
            return random.one(["日本", "🦊 fox", "e\u{301}", "straße", "Ω", "€ 5"]) + random.one(["", " ", "1"])
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    fileprivate mutating func one<T>(_ values: [T]) -> T { values[below(values.count)] }
}
