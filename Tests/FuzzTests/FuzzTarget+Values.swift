import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// Values inside a database, and changes to it.
extension FuzzTarget {
    /// JSONB, which any blob may claim to be.
    static let jsonb = FuzzTarget(name: "jsonb", maximumBytes: 2048) {
        let values: [JSONValue] = [
            ["a": [1, 2.5, .null, true, "x\n\u{1F600}"], "b": ["c": [:]]], [], "text", 1, .null, [[[[1]]]],
        ]
        return try values.map { [UInt8](try JSONBEncoder().encode($0)) }
    } body: { input in
        let db = try Connection(.memory)
        defer { db.close() }
        let data = Data(input)
        let value = try? JSONValue(jsonb: data)
        _ = try? JSONBDecoder().decode([String: [Int]].self, from: data)
        _ = try? db.fetchAll(String.self, "SELECT json(\(data)) || json_extract(\(data), '$.a[0]')")
        _ = try? db.fetchAll(String.self, "SELECT key || type FROM json_tree(\(data)) LIMIT 100")
        _ = try? db.fetchAll(Data.self, "SELECT jsonb_set(\(data), '$.a', 1, '$.b[0]', 'x')")
        // A key that contains U+0000 cannot be written.
        guard let value, let written = try? JSONBEncoder().encode(value) else { return }
        let again = try JSONValue(jsonb: written)
        try require(again == value, "a value differs when it was written and read again")
    }

    /// JSON text.
    static let json = FuzzTarget(name: "json", maximumBytes: 2048) {
        [#"{"a":[1,2.5e3,null,true,"x\n\ud83d\ude00"],"b":{"c":{}}}"#, "[]", #""text""#, "-0.0", "[[[[1]]]]"].map { Array($0.utf8) }
    } body: { input in
        guard let text = String(validating: input, as: UTF8.self), let value = try? JSONValue(text: text),
            let written = try? JSONBEncoder().encode(value)
        else { return }
        let again = try JSONValue(jsonb: written)
        try require(again == value, "a value differs when it was written as JSONB and read again")
        // The engine reads the same documents as this package, to the depth that it allows.
        guard value.depth < 500, !input.contains(0) else { return }
        let db = try Connection(.memory)
        defer { db.close() }
        let isValid = try db.fetchOne(Bool.self, "SELECT json_valid(\(text))")
        try require(isValid == true, "the engine refuses JSON that this package reads")
    }

    /// A changeset, from a peer.
    static let changeset = FuzzTarget(name: "changeset", maximumBytes: 4096) {
        let db = try target()
        defer { db.close() }
        let first = try db.main.recordingChanges { db in
            try db.execute("INSERT INTO note VALUES (9, 'nine', x'09', 9.5)")
            try db.execute("UPDATE note SET title = 'new' WHERE id = 1")
            try db.execute("DELETE FROM note WHERE id = 2")
            try db.execute("INSERT INTO tag VALUES ('a', 1, NULL)")
        }
        return [[UInt8](first.data), [UInt8](try first.inverted().data)]
    } body: { input in
        let changes = Changeset(data: Data(input))
        _ = try? changes.changes()
        _ = try? changes.inverted()
        _ = try? changes.concatenated(with: changes)
        _ = try? changes.rebased(by: [Changeset.Rebase(data: Data(input))])
        let db = try target()
        defer { db.close() }
        let before = try content(db)
        do { _ = try changes.apply(to: db) { _ in .omit } } catch {
            try require(try content(db) == before, "a changeset that was refused has changed rows")
        }
        _ = try? changes.apply(to: db) { $0.kind == .different || $0.kind == .exists ? .replace : .omit }
        try require(try db.fetchAll(String.self, "PRAGMA integrity_check") == ["ok"], "a changeset has damaged the database")
    }

    private static func target() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, data BLOB, number REAL);
            CREATE TABLE tag(name TEXT, number INT, other, PRIMARY KEY(name, number)) WITHOUT ROWID;
            INSERT INTO note VALUES (1, 'one', x'01', 1), (2, 'two', NULL, 2.5), (3, 'three', '', NULL);
            INSERT INTO tag VALUES ('b', 2, 'x');
            """))
        return db
    }

    private static func content(_ db: Connection) throws -> [[SQLValue]] {
        try db.fetchAll(OwnedRow.self, "SELECT * FROM note ORDER BY id").map(\.values)
            + db.fetchAll(OwnedRow.self, "SELECT * FROM tag ORDER BY name, number").map(\.values)
    }
}

extension JSONValue {
    fileprivate var depth: Int {
        switch self {
        case .array(let values): 1 + (values.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.map { $0.value.depth }.max() ?? 0)
        default: 0
        }
    }
}
