import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// A document with a key that SQLite takes for another key is not changed.
@Suite struct JSONKeyTests {
    static let documents = [
        #"{"level\u0000x":"root","level":"guest"}"#, #"{"a":[{"level\u0000":1}],"level":"guest"}"#,
    ]
    static let harmless = [
        #"{"level\\u0000x":"root","level":"guest"}"#, #"{"note":"level\u0000x","level":"guest"}"#, #"{"level":"\u0000"}"#, #"{"level":"guest"}"#,
    ]
    static let changes: [JSONChange] = [
        .set("level", to: "member"), .insert("member", at: "other"), .replace("level", with: "member"), .remove(JSONPath("level")),
        .patch(["level": "member"]), .append(1, toArrayAt: "list"), .set("level", to: .quote("1")),
    ]

    private func made(_ document: String, _ isJSONB: Bool) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, doc)")
        try db.execute("INSERT INTO t VALUES (1, \(#"{"level":"first"}"#))")
        if isJSONB { try db.execute("INSERT INTO t VALUES (2, jsonb(\(document)))") } else { try db.execute("INSERT INTO t VALUES (2, \(document))") }
        return db
    }

    @Test(arguments: documents, [false, true]) func updateOfJSONWithNullCharacterKeyIsRefused(_ document: String, _ isJSONB: Bool) throws {
        for change in Self.changes {
            let db = try made(document, isJSONB)
            let before = try db.fetchAll(String.self, "SELECT quote(doc) FROM t")
            let error = #expect(throws: DatabaseError.self) { try db.main.updateJSON("doc", in: "t", where: "TRUE", change) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("U+0000") == true)
            #expect(try db.fetchAll(String.self, "SELECT quote(doc) FROM t") == before)
        }
    }

    @Test(arguments: harmless, [false, true]) func updateOfJSONWithOrdinaryKeysSucceeds(_ document: String, _ isJSONB: Bool) throws {
        for change in Self.changes {
            let db = try made(document, isJSONB)
            #expect(try db.main.updateJSON("doc", in: "t", where: "TRUE", change, .set("done", to: true)) == 2)
            #expect(try db.fetchAll(Int.self, "SELECT doc ->> '$.done' FROM t") == [1, 1])
        }
    }
}
