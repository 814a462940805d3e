import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// No value that a program binds or reads is in a description: of `print`, `dump`, `String(reflecting:)` or a debugger's summary.
@Suite struct HiddenValueTests {
    struct Note: SQLRecord, Equatable {
        static let tableName = "note"
        var id: Int64
        var title: String
    }

    static let secret = "Zwiebelkuchen", number = 7_305_918

    /// Everything that could be logged of a value.
    private static func descriptions(of value: Any) -> String {
        var text = "\(value) \(String(describing: value)) \(String(reflecting: value)) \([value]) \(Optional(value) as Any)"
        dump(value, to: &text)
        return text
    }

    /// One of each public type that can hold a value, by its name.
    private func samples(_ db: Connection) throws -> [(String, Any)] {
        let (secret, number) = (Self.secret, Self.number), data = Data(secret.utf8)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        let recorder = try ChangeRecorder(db.main)
        try db.execute("INSERT INTO note VALUES (\(number), \(secret))")
        let changeset = try recorder.changeset()
        let sql: SQL = "SELECT * FROM note WHERE title = \(secret) AND id = \(number)"
        let row = try #require(try db.fetchOne(OwnedRow.self, sql))
        let statement = try db.prepare(sql)
        let meta = JSONExpression(text: #"{"a": "\#(secret)"}"#)
        let element = try #require(try db.fetchOne(JSONElement.self, "SELECT e.* FROM \(meta.each(as: "e"))"))
        var literal = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 1)
        literal.appendInterpolation(secret)
        let query = Note.filter { $0.title == secret && $0.id == Int64(number) }
        return [
            ("SQLValue", SQLValue.text(secret)), ("SQLValue", SQLValue.integer(Int64(number))), ("SQLValue", SQLValue.blob(data)),
            ("SQLValue", SQLValue.real(Double(number))), ("StatementArguments", StatementArguments([secret, number])),
            ("StatementArguments", ["title": secret, "id": number] as StatementArguments), ("StatementArguments", [secret] as StatementArguments),
            ("SQL", sql), ("SQL.StringInterpolation", literal), ("OwnedRow", row), ("Statement", statement),
            ("RowCursor", try db.cursor(OwnedRow.self, sql)), ("LikePattern", LikePattern.contains(secret)), ("JSONExpression", meta),
            ("JSONElement", element), ("JSONChange", JSONChange.set("a", to: secret)), ("SQLColumn", SQLColumn("title").default(secret)),
            ("SQLQuery", query), ("SQLQuery", Note.order { $0.title }.limit(3)), ("FTS5Query", FTS5Query.all("a", .phrase(secret))),
            ("Changeset", changeset), ("Changeset.Change", try changeset.changes()[0]),
            ("Array", [SQLValue.text(secret)]), ("Dictionary", ["a": SQLValue.text(secret)]), ("Dictionary", [SQLValue.text(secret): 1]),
        ]
    }

    @Test func descriptionsShowNoValue() throws {
        let db = try Connection(.memory)
        for (name, sample) in try samples(db) {
            let text = Self.descriptions(of: sample)
            let bytes = Array(Self.secret.utf8.prefix(4)).map(String.init).joined(separator: ", ")
            for hidden in [Self.secret, "\(Self.number)", "7.305918", bytes] {
                #expect(!text.contains(hidden), "\(name) shows \(hidden): \(text.prefix(300))")
            }
        }
        #expect("\(SQLValue.text(Self.secret))" == "text")
        #expect("\("SELECT \(Self.secret)" as SQL)" == "SELECT ?")
    }

    /// A type that keeps values as they are says so, and so no description looks into it. All others hold them in one of these.
    @Test func everyTypeThatKeepsValuesHidesThem() throws {
        let declaration = #/^ *(?:[@\w()]+ )*(?:struct|enum|class|actor) (\w+)[^{]*\{/#
        let storage = #/^ *(?:[@\w()]+ )*(?:let|var|case) .*\bany SQLValueConvertible\b(?!\.Type)/#
        var holders: Set<String> = []
        let sources = Repository.file("Sources")
        for module in try FileManager.default.contentsOfDirectory(atPath: sources.path) where module.hasPrefix("SQLCipherKit") {
            let files = FileManager.default.enumerator(atPath: sources.path + "/" + module)?.compactMap { $0 as? String } ?? []
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOfFile: sources.path + "/\(module)/\(file)", encoding: .utf8)
                var open: [(indent: Int, name: String, isHidden: Bool)] = []
                for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    let indent = line.prefix { $0 == " " }.count
                    open.removeAll { $0.indent >= indent }
                    if let match = try declaration.prefixMatch(in: line) {
                        open.append((indent, String(match.1), line.contains("_HidesValues")))
                    } else if let type = open.last, indent == type.indent + 4, !line.contains(" static "), !line.hasSuffix("{"),
                        try storage.prefixMatch(in: line) != nil, !type.isHidden
                    {
                        holders.insert(type.name)
                    }
                }
            }
        }
        // Whose conformance stands elsewhere, and the encoders, of which no caller gets one.
        #expect(holders == ["StatementArguments", "ColumnEncoder", "RowEncodingState"])
        #expect(StatementArguments() as Any is any _HidesValues)
    }
}
