import Foundation
import SQLCipherKit
import SQLCipherKitSync
import SQLCipherKitVectors
import Testing
import TestSupport

/// No value that a program binds or reads is in a description: of `print`, `dump`, `String(reflecting:)` or a debugger's summary.
/// scripts/workshop/surface --contract compares the types here with the public interface.
@Suite struct HiddenValueTests {
    struct Note: SQLRecord, Equatable {
        static let tableName = "note"
        static let others = hasMany(Note.self, by: \.id)
        var id: Int64
        var title: String
    }

    static let secret = "Zwiebelkuchen", number = 7_305_918

    /// Values of a type that the caller has chosen, JSON, and text that is made to be shown: they describe themselves.
    static let describedByTheirValue = [
        "ColumnDefault", "HighlightedText", "JSONColumn", "JSONPath", "JSONValue", "LiveQuery", "TransactionEnd",
    ]
    /// They cannot be copied, and so neither be printed nor kept.
    static let uncopyable = ["FunctionArguments", "KeyValueEntry", "Row", "SQLColumnReader", "SQLColumnWriter"]
    /// Functions alone.
    static let withoutInstance = ["SQLOrderingBuilder"]

    /// Everything that could be logged of a value.
    private static func descriptions(of value: Any) -> String {
        var text = "\(value) \(String(describing: value)) \(String(reflecting: value)) \([value]) \(Optional(value) as Any)"
        dump(value, to: &text)
        return text
    }

    private static let hidden: [String] = {
        let bytes = Array(secret.utf8.prefix(4)), ends = ["\(bytes[0]), \(bytes[1])", "- \(bytes[0])\n"]
        return [secret, "\(number)", "7.305918", "7305918.0"] + ends
    }()

    /// A sample of each public type that can hold a value, by its name.
    private func samples(_ folder: TemporaryFolder, _ body: (_ name: String, _ sample: Any) -> Void) throws {
        let (secret, number) = (Self.secret, Self.number), data = Data(secret.utf8), numbers = [Float(number)]
        let db = try Connection(.file(folder.path("a.db")), key: nil)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        let recorder = try ChangeRecorder(db.main)
        try db.execute("INSERT INTO note VALUES (\(number), \(secret))")
        let changeset = try recorder.changeset()
        recorder.close()
        let sql: SQL = "SELECT * FROM note WHERE title = \(secret) AND id = \(number)"
        let value: SQL = "\(secret)"
        let meta = JSONExpression(text: #"{"a": "\#(secret)"}"#)
        let query = Note.filter { $0.title == secret && $0.id == Int64(number) }

        body("SQLValue", SQLValue.text(secret))
        body("SQLValue", SQLValue.integer(Int64(number)))
        body("SQLValue", SQLValue.blob(data))
        body("SQLValue", SQLValue.real(Double(number)))
        body("StatementArguments", StatementArguments([secret, number]))
        body("StatementArguments", ["title": secret, "id": number] as StatementArguments)
        body("StatementArguments", [secret] as StatementArguments)
        body("SQL", sql)
        var literal = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 1)
        literal.appendInterpolation(secret)
        body("SQL.StringInterpolation", literal)
        body("OwnedRow", try #require(try db.fetchOne(OwnedRow.self, sql)))
        body("Statement", try db.prepare(sql))
        body("RowCursor", try db.cursor(OwnedRow.self, sql))
        body("LikePattern", LikePattern.contains(secret))
        body("Connection", db)
        body("Schema", db.main)
        body("Blob", try db.main.openBlob(table: "note", column: "title", rowID: Int64(number)))
        body("ZeroBlob", ZeroBlob(count: 1))
        body("SQLExtension", SQLExtension.function("secret", arguments: 0) { _ in secret })

        body("JSONExpression", meta)
        body("JSONElement", try #require(try db.fetchOne(JSONElement.self, "SELECT e.* FROM \(meta.each(as: "e"))")))
        body("JSONChange", JSONChange.set("a", to: secret))
        body("JSONBEncoder", JSONBEncoder())
        body("JSONBDecoder", JSONBDecoder())

        body("SQLQuery", query)
        body("SQLQuery", Note.order { $0.title }.limit(3))
        body("SQLSelection", query.select { ($0.title, $0.id) })
        body("SQLAnnotatedQuery", query.annotated { _ in SQLExpression<String>(value) })
        body("SQLAssociation", Note.others.filter { $0.title == secret })
        body("SQLIncludingQuery", query.including(Note.others.filter { $0.title == secret }))
        let join = Note.join(Note.self) { first, second in first.id == second.id && second.title == secret }
        body("SQLJoin", join)
        body("SQLThreeWayJoin", join.join(Note.self) { first, _, third in first.id == third.id && third.title == secret })
        body("SQLUpsert", SQLUpsert<Note>().where { old, _ in old.title == secret })
        try db.updateAll(query) { note, assign in
            let isNote = note.title == secret
            body("SQLColumns", note)
            body("SQLExpression", isNote)
            body("SQLCase", SQLCase(when: isNote, then: secret))
            body("SQLRowValue", SQLRowValue(note.title, SQLExpression<String>(value)))
            body("SQLOrdering", SQLOrdering(sql: value))
            body("SQLWindow", SQLWindow(partition: isNote))
            body("SQLWindowValue", SQLExpression<String>(value).lag())
            assign(\.title, to: secret)
            body("SQLAssignments", assign)
        }
        _ = SQLTable(of: Note.self) { note in
            let _ = body("SQLProperties", note)
            note.id
        }
        let column = SQLColumn("title").default(secret).check(sql)
        body("SQLColumn", column)
        body("SQLTable", SQLTable("t") { column })
        body("SQLConstraint", SQLConstraint.check(sql))
        body("SQLIndex", SQLIndex("i", on: [column], where: sql))
        body("SQLIndex.Term", SQLIndex.Term.expression(value))
        let store = try KeyValueStore("store", in: db)
        try store.set(secret, to: number)
        body("KeyValueStore", store)

        let words = FTS5Query.all("a", .phrase(secret))
        try db.create(FTS5Table("words", columns: ["body", .unindexed("kind")]))
        try db.execute("INSERT INTO words VALUES (\(secret), \(secret))")
        let index = try db.fullText("words")
        var search = FullTextSearch(secret)
        search.snippet = .best()
        (search.highlightedColumns, search.retrievedColumns) = (["body"], ["kind"])
        search.facets = ["kind": .values("kind")]
        let results = try index.search(search)
        let hit = try #require(results.hits.first)
        search.filter = sql
        let decay = FullTextSearch.Decay(value, halfLife: 1), popularity = FullTextSearch.Popularity(value, pivot: 1)
        (search.decay, search.popularity) = (decay, popularity)
        body("FTS5Query", words)
        body("FullTextIndex", index)
        body("FullTextIndex.Term", try #require(try index.terms().first))
        body("FullTextSearch", search)
        body("FullTextSearch", FullTextSearch(words))
        body("FullTextSearch.Decay", decay)
        body("FullTextSearch.Popularity", popularity)
        body("FullTextSearch.Grouping", FullTextSearch.Grouping.values(value))
        body("FullTextSearch.Order", FullTextSearch.Order.sql(value))
        body("FullTextSearch.Results", results)
        body("FullTextSearch.Word", try #require(results.words.first))
        body("FullTextSearch.Word.Match", try #require(results.words.first?.matches.first))
        body("FullTextSearch.FacetCount", try #require(results.facets["kind"]?.first))
        body("FullTextSearch.Hit", hit)
        try db.create(VectorTable("vectors", dimensions: 1))
        body("VectorIndex", try db.vectors("vectors"))
        body("VectorSearch", VectorSearch(numbers))
        body("HybridSearch", HybridSearch(secret, vector: numbers))

        body("Changeset", changeset)
        body("Changeset.Change", try changeset.changes()[0])
        body("Changeset.Rebase", Changeset.Rebase(data: data))
        var conflicts: [Changeset.Conflict] = []
        try changeset.apply(to: db) { conflict in
            conflicts.append(conflict)
            return .omit
        }
        body("Changeset.Conflict", try #require(conflicts.first))
        let log = try ChangeLog(db, tables: ["note"], localPeer: "a")
        try log.addExistingRows()
        body("ChangeLog.Message", try log.snapshot())
        body("ChangeLog.Message", try log.changes())
        let other = try Connection(.memory)
        try other.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        let otherLog = try ChangeLog(other, tables: ["note"], localPeer: "b")
        try otherLog.write { db in try db.execute("INSERT INTO note VALUES (\(number), 'other')") }
        try otherLog.receive(log.changes())
        body("ChangeLog.Conflict", try #require(ChangeLog.conflicts(in: other).first))
        db.close()

        let queue = try DatabaseQueue(.file(folder.path("a.db")), key: nil)
        #expect(try queue.read { db in try db.fetchOne(OwnedRow.self, sql) } != nil)
        body("SharedSchema", queue.main)
        body("SharedKeyValueStore", try SharedKeyValueStore("store", in: queue))
        try queue.close()

        body("Array", [SQLValue.text(secret)])
        body("Dictionary", ["a": SQLValue.text(secret)])
        body("Dictionary", [SQLValue.text(secret): 1])
    }

    @Test func descriptionsShowNoValue() throws {
        try samples(TemporaryFolder()) { name, sample in
            // Without the module, and without the arguments of a generic type.
            let path = String(reflecting: type(of: sample)).prefix { $0 != "<" }.split(separator: ".")
            #expect(path.dropFirst().joined(separator: ".") == name)
            let text = Self.descriptions(of: sample)
            for hidden in Self.hidden { #expect(!text.contains(hidden), "\(name) shows \(hidden): \(text.prefix(300))") }
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
