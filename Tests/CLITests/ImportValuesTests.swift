import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// `import` changes no value, wherever in its input a value makes a column wider: files are generated, and every cell is compared
/// with what was written into them.
@Suite struct ImportValuesTests {
    enum Way: String, CaseIterable { case csv, tsv, jsonl, json, gzip, input, jsonInput }
    enum Mode: String, CaseIterable { case plain, key, twoFiles, resumed }

    struct Case: CustomTestStringConvertible {
        let base: String, late: String, distance: Int, way: Way, mode: Mode
        var testDescription: String { "\(late) after \(distance) \(base), \(way), \(mode)" }
    }

    /// The values that a column begins with, each of them another one where it can be a key.
    private static let bases: [String: @Sendable (Int) -> String] = [
        "integers": { "\($0)" }, "ids": { "\(9_007_199_254_740_993 + $0)" }, "fractions": { "\($0).5" }, "prices": { "\($0).50" },
        "exponents": { "\($0 % 9 + 1)e5" }, "both": { $0 % 2 == 0 ? "\($0)" : "\($0).25" }, "nothing": { _ in "" }, "texts": { "t\($0)" },
    ]
    private static let keys: Set = ["integers", "ids", "fractions", "prices", "both", "texts"]
    private static let late = [
        "7000000", "9007199999999993", "7000000.5", "7000000.10", "1.21E+18", "2.0-rc1", "007", "+1", "NA", "-0", "12345678901234567890",
        "0.12345678901234567891", "\"7000001\"", "1e400", "1e-400", "1.23456789e-320", "2.0",
    ]

    private static let cases: [Case] = bases.keys.sorted().flatMap { base in
        late.flatMap { late in
            [1, 4999, 5000, 5100].flatMap { distance in
                Way.allCases.flatMap { way in
                    Mode.allCases.compactMap { mode -> Case? in
                        if mode == .resumed, [.gzip, .input, .jsonInput].contains(way) { return nil }
                        if mode == .twoFiles, [.input, .jsonInput].contains(way) { return nil }
                        return Case(base: base, late: late, distance: distance, way: way, mode: mode)
                    }
                }
            }
        }
    }

    @Test(arguments: LongTests.sample(3, of: cases))
    func lateValueChangesNoCell(of this: Case) throws {
        let folder = try TemporaryFolder()
        let database = folder.path("a.db")
        let base = try #require(Self.bases[this.base])
        var values = (0..<this.distance + 20).map(base)
        values[this.distance] = this.late
        let isJSON = [.jsonl, .json, .jsonInput].contains(this.way)
        var options = ["--table", "t", "--no-key", "--batch", "1000"]
        if this.mode == .key { options += ["--pk", Self.keys.contains(this.base) ? "v" : "n"] }
        let parts = this.mode == .twoFiles ? [Array(values[..<this.distance]), Array(values[this.distance...])] : [values]
        var files: [String] = [], first = 0
        for (number, part) in parts.enumerated() {
            let name = "\(number)." + (this.way == .tsv ? "tsv" : this.way == .jsonl ? "jsonl" : isJSON ? "json" : "csv")
            try Data(Self.text(part, from: first, this.way).utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            files.append(folder.path(name))
            first += part.count
        }
        var input = ""
        switch this.way {
        case .gzip:
            try Command.run("gzip", files).expectSuccess()
            files = files.map { $0 + ".gz" }
        case .input, .jsonInput:
            input = try String(contentsOfFile: files[0], encoding: .utf8)
            files = ["-"]
            options += ["--as", isJSON ? "jsonl" : "csv"]
        default: break
        }
        let preview = try Tool.run(["import", database] + files + options + ["--dry-run", "--json"], input: input).expectSuccess()
        if this.mode == .resumed { try interrupt(files[0], ["import", database] + files + options) }
        var outcome = try Tool.run(["import", database] + files + options, input: input)
        if this.mode == .resumed, outcome.status != 0 {
            // Rows that are there already are never changed: the message names the option that begins again.
            outcome.expectFailure(1, "--fresh")
            outcome = try Tool.run(["import", database] + files + options + ["--fresh"], input: input)
        }
        outcome.expectSuccess()

        let db = try Connection(.file(database))
        let rows: [(SQLValue, SQLValue)] = try db.fetchAll("SELECT n, v FROM t ORDER BY n")
        try #require(rows.count == values.count)
        var forms: Set<String> = []
        for (number, row) in rows.enumerated() {
            #expect(row.0 == .integer(Int64(number)))
            if let form = Self.form(of: row.1, writtenAs: values[number], isJSON) {
                if form != "null" { forms.insert(form) }
            } else {
                Issue.record("row \(number), \(values[number]) became \(row.1)")
                return
            }
        }
        if !isJSON { #expect(forms.count <= 1, "a column of texts and numbers") }
        let columns = try JSONValue(text: preview.output.trimmingCharacters(in: .newlines))["sources"]?[0]?["columns"]
        let types = try db.main.columns(of: "t").map { $0.type.isEmpty ? "any" : $0.type.lowercased() }
        let found = (0..<2).map { columns?[$0]?["type"] }
        #expect(found == types.map { JSONValue.string($0) }, "\(preview.output) \(types)")
        #expect(try folder.names().filter { $0.hasPrefix(".") } == [])
    }

    /// Ends an import after some of its batches, as a kill would: at a line that is broken, and whole again afterwards.
    private func interrupt(_ file: String, _ arguments: [String]) throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        let before = try #require(try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date)
        var broken = whole
        // The end of the last but two rows: a delimiter of CSV more, a brace of JSON less.
        let feeds = whole.indices.filter { whole[$0] == 0x0a }
        let place = feeds[feeds.count - 3] - 1
        broken[place] = file.hasSuffix("csv") ? UInt8(ascii: ",") : file.hasSuffix("tsv") ? 0x09 : UInt8(ascii: "?")
        broken[place - 1] = broken[place]
        try broken.write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.modificationDate: before], ofItemAtPath: file)
        #expect(try Tool.run(arguments).status != 0)
        try whole.write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.modificationDate: before], ofItemAtPath: file)
    }

    private static func text(_ values: [String], from first: Int, _ way: Way) -> String {
        let lines = values.enumerated().map { number, value -> String in
            let row = first + number
            switch way {
            case .csv, .gzip, .input: return "\(row),\(value)"
            case .tsv: return "\(row)\t\(value)"
            case .jsonl, .json, .jsonInput: return "{\"n\":\(row),\"v\":\(value.isEmpty ? "null" : jsonText(value) ?? value)}"
            }
        }
        switch way {
        case .csv, .gzip, .input: return "n,v\n" + lines.joined(separator: "\n") + "\n"
        case .tsv: return "n\tv\n" + lines.joined(separator: "\n") + "\n"
        case .jsonl, .jsonInput: return lines.joined(separator: "\n") + "\n"
        case .json: return "[" + lines.joined(separator: ",\n") + "]\n"
        }
    }

    /// A string of JSON for what is no number of JSON.
    private static func jsonText(_ value: String) -> String? {
        if value.hasPrefix("\"") { return value }
        return ["2.0-rc1", "007", "+1", "NA", "1e400", "1e-400", "1.23456789e-320"].contains(value) || value.hasPrefix("t") ? "\"\(value)\"" : nil
    }

    /// The form of a stored value, a number or a text; nil if it is not the written value.
    private static func form(of stored: SQLValue, writtenAs text: String, _ isJSON: Bool) -> String? {
        let isText = text.hasPrefix("\"") || isJSON && jsonText(text) != nil
        let bare = text.filter { $0 != "\"" }
        switch stored {
        case .null: return text.isEmpty ? "null" : nil
        case .text(let found): return found == bare ? "text" : nil
        case .integer(let found): return !isText && decimal("\(found)") == decimal(bare) ? "number" : nil
        case .real(let found): return !isText && decimal("\(found)") == decimal(bare) ? "number" : nil
        case .blob: return nil
        }
    }

    /// A number by its digits, without zeros at their ends, and the power of ten that they are multiplied with.
    private static func decimal(_ text: String) -> String? {
        let parts = text.lowercased().split(separator: "e", omittingEmptySubsequences: false)
        let number = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard var exponent = parts.count == 1 ? 0 : Int(parts[1]) else { return nil }
        var digits = Array(number.joined().drop { $0 == "-" })
        exponent -= number.count == 1 ? 0 : number[1].count
        while digits.last == "0" {
            digits.removeLast()
            exponent += 1
        }
        let significant = String(digits.drop { $0 == "0" })
        return significant.isEmpty ? "0" : "\(text.hasPrefix("-") ? "-" : "")\(significant)e\(exponent)"
    }

    /// In JSON, 2.0 beside 1 is another number to some readers.
    @Test(arguments: [0, 1, 4999, 5100], [false, true])
    func wholeFractionBesideIntegersOfJSONStaysFraction(after distance: Int, endsWithText: Bool) throws {
        let folder = try TemporaryFolder()
        let integers = { (count: Int) in Array(repeating: "1", count: count) }
        let values = integers(distance) + ["2.0"] + integers(3) + (endsWithText ? ["\"t\""] : [])
        let file = folder.path("t.jsonl"), database = folder.path("a.db")
        try Data(values.map { "{\"v\":\($0)}\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
        try Tool.run("import", database, file, "--no-key").expectSuccess()
        let stored = try Connection(.file(database)).fetchAll(String.self, "SELECT typeof(v) || v FROM t ORDER BY rowid")
        #expect(stored == values.map { ["1": "integer1", "2.0": "real2.0"][$0] ?? "textt" })
    }

    @Test(arguments: ["1e400", "-1e400", "1e-400"])
    func numberOutOfRangeIsRefusedByColumnOfNumbers(number: String) throws {
        let folder = try TemporaryFolder()
        let file = folder.path("t.csv"), database = folder.path("a.db")
        try Connection(.file(database)).execute("CREATE TABLE t(r REAL)")
        try Data("r\n1.5\n\(number)\n".utf8).write(to: URL(fileURLWithPath: file))
        try Tool.run("import", database, file, "--no-key").expectFailure(1, "t.csv, line 3", "make the column text")
        #expect(try Connection(.file(database)).fetchAll(Double.self, "SELECT r FROM t") == [])
    }

    /// The key of an earlier import is given by SQLite where a later one leaves it out, also once a column has become wider.
    @Test func missingKeyIsGivenAfterColumnBecameWider() throws {
        let folder = try TemporaryFolder()
        let first = folder.path("1.csv"), second = folder.path("2.csv"), database = folder.path("a.db")
        try Data("id,n\n1,10\n2,20\n".utf8).write(to: URL(fileURLWithPath: first))
        try Data("id,n\n3,1.5\n,2.5\n,40\n".utf8).write(to: URL(fileURLWithPath: second))
        try Tool.run("import", database, first, "--no-key", "--table", "t", "--pk", "id").expectSuccess()
        try Tool.run("import", database, second, "--no-key", "--table", "t").expectSuccess()
        let db = try Connection(.file(database))
        let rows = try db.fetchAll(String.self, "SELECT id || ' ' || n FROM t ORDER BY id")
        #expect(rows == ["1 10", "2 20", "3 1.5", "4 2.5", "5 40"])
    }

    /// As SQLite's shell reads it, and as query writes NULL.
    @Test func emptyLineOfOneColumnIsNULL() throws {
        let folder = try TemporaryFolder()
        let file = folder.path("t.csv"), database = folder.path("a.db")
        try Data("x\n\n1\n\n\n3\n\n".utf8).write(to: URL(fileURLWithPath: file))
        try Tool.run("import", database, file, "--no-key").expectSuccess()
        let stored = try Connection(.file(database)).fetchAll(Int?.self, "SELECT x FROM t ORDER BY rowid")
        #expect(stored == [nil, 1, nil, nil, 3, nil])
    }

    /// A table with other rows gets a wider column only where these return unchanged.
    @Test func rowsOfEarlierImportsStayAsTheyAre() throws {
        let folder = try TemporaryFolder()
        let database = folder.path("a.db")
        func load(_ text: String, _ options: String...) throws -> Command.Outcome {
            let file = folder.path("\(UUID().uuidString).csv")
            try Data(("v\n" + text + "\n").utf8).write(to: URL(fileURLWithPath: file))
            return try Tool.run(["import", database, file, "--table", "t", "--no-key"] + options)
        }
        func cells() throws -> [String] {
            try Connection(.file(database)).fetchAll(String.self, "SELECT typeof(v) || ' ' || v FROM t ORDER BY rowid")
        }
        try load("9007199254740993\n1").expectSuccess()
        try load("1.5").expectSuccess()
        #expect(try cells() == ["integer 9007199254740993", "integer 1", "real 1.5"])
        try load("2.0-rc1").expectFailure(1, "line 2", "the column v is numeric", "--fresh")
        #expect(try cells().count == 3)
        try load("1.10\n2").expectSuccess()
        try load("1.10\n3", "--table", "u").expectSuccess()
        // A table of the user's own has the types that the user gave it.
        try Connection(.file(database)).execute(SQLScript("CREATE TABLE own(v REAL); INSERT INTO own VALUES (1)"))
        let own = folder.path("own.csv")
        try Data("v\n9007199254740993\n".utf8).write(to: URL(fileURLWithPath: own))
        try Tool.run("import", database, own, "--no-key").expectFailure(1, "line 2", "v has more digits than its type")
        try Tool.run("import", database, own, "--no-key", "--table", "w", "--types", "v=real").expectFailure(1, "--types v=text")
    }

    /// More than memory keeps of a pipe goes through an encrypted file without a name.
    @Test(.enabled(if: LongTests.areOn)) func longPipeIsReadAgain() throws {
        let folder = try TemporaryFolder()
        let count = 700_000
        let text = "v,w\n" + (0..<count).map { "\($0).10,padding\n" }.joined() + "late,x\n"
        try Tool.run(["import", folder.path("a.db"), "-", "--as", "csv", "--table", "t", "--no-key"], input: text).expectSuccess()
        let db = try Connection(.file(folder.path("a.db")))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE v = (rowid - 1) || '.10'") == count)
        #expect(try folder.names() == ["a.db"])
    }
}
