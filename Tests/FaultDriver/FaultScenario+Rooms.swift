import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// One operation of each room that writes: its transaction is there as a whole or not at all.
extension FaultScenario {
    private struct Line: SQLRecord {
        var id: Int64?
        var x: String
        static let tableName = "t"
    }

    private struct Document: Codable, Equatable {
        var rows: Int
        var tags: [String]
    }

    private static let a = File("a.db", "one", 60), b = File("b.db", "two", 30)
    private static func after(_ rows: Int) -> File { File("a.db", "one", rows) }

    /// Changes `a.db`, and checks that whatever else the operation has changed agrees with the number of rows of its table.
    private static func room(
        _ name: String, after rows: Int, isStepwise: Bool = false,
        prepare: @escaping @Sendable (Connection) throws -> Void = { _ in },
        agree: @escaping @Sendable (_ db: Connection, _ isDone: Bool) throws -> Bool = { _, _ in true },
        _ run: @escaping @Sendable (Connection) throws -> Void
    ) -> FaultScenario {
        FaultScenario(
            name: name, before: [a], after: [after(rows)], isStepwise: isStepwise,
            prepare: { try prepare(open($0 + "/a.db")) },
            run: { folder in try using(folder + "/a.db") { try run($0) } },
            check: { folder in
                let db = try open(folder + "/a.db")
                let count = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                guard try agree(db, count == rows) else { throw Untrue("half of it is done") }
            })
    }

    private static func insert(_ count: Int, _ db: Connection) throws {
        for number in 0..<count { try db.execute("INSERT INTO t(x) VALUES (\("new \(number)"))") }
    }

    static let rooms: [FaultScenario] = contents + [hooks] + searches + logs + shared

    private static let contents: [FaultScenario] = [
        room("records", after: 69) { db in
            try db.transaction { db -> Void in
                var lines = (0..<10).map { Line(x: "line \($0)") }
                try db.insertAll(&lines)
                lines[3].x = "changed"
                try db.update(lines[3])
                try db.delete(lines[4])
                let rows = try db.fetchAll(Line.self, "SELECT * FROM t").count
                guard rows == 69 else { throw Untrue("\(rows) rows") }
            }
        },
        room(
            "json", after: 61,
            prepare: { db in
                try db.execute("CREATE TABLE document(id INTEGER PRIMARY KEY, body BLOB)")
                let body = JSONColumn(Document(rows: 60, tags: Array(repeating: "tag", count: 400)))
                try db.execute("INSERT INTO document(body) VALUES (\(body))")
            },
            agree: { db, isDone in
                let body = try db.fetchOne(JSONColumn<Document>.self, "SELECT body FROM document")?.value
                return body?.rows == (isDone ? 61 : 60) && body?.tags.count == (isDone ? 401 : 400)
            }
        ) { db in
            try db.transaction { db -> Void in
                try insert(1, db)
                try db.main.updateJSON(
                    "body", in: "document", where: "id = 1", .set("rows", to: 61), .append("new", toArrayAt: "tags"))
                let tags = try db.fetchOne(Int.self, "SELECT count(*) FROM document, json_each(document.body, '$.tags')")
                guard tags == 401 else { throw Untrue("other tags") }
            }
        },
        room(
            "key-value", after: 61, prepare: { try KeyValueStore("store", in: $0).set("first", to: 1) },
            agree: { db, isDone in
                let store = try KeyValueStore("store", in: db)
                return try store.contains("new 19") == isDone && store.contains("first") == !isDone
            }
        ) { db in
            let store = try KeyValueStore("store", in: db)
            try db.transaction { db -> Void in
                try insert(1, db)
                try store.setAll((0..<20).map { (key: "new \($0)", value: String(repeating: "v", count: 300)) })
                try store.remove("first")
                guard try store.get("new 3", as: String.self)?.count == 300 else { throw Untrue("another value") }
            }
        },
        room(
            "blob", after: 61,
            prepare: { db in
                try db.execute("CREATE TABLE large(x BLOB)")
                try db.execute("INSERT INTO large VALUES (zeroblob(40000))")
            },
            agree: { db, isDone in
                try db.fetchOne(Bool.self, "SELECT x = zeroblob(40000) FROM large") == !isDone
            }
        ) { db in
            try db.transaction { db -> Void in
                try insert(1, db)
                let blob = try db.main.openBlob(table: "large", column: "x", rowID: 1, forWriting: true)
                defer { blob.close() }
                for _ in 0..<5 { try blob.write(Data(repeating: 7, count: 8000)) }
            }
        },
        FaultScenario(
            name: "attach and write", before: [a, b], after: [after(61), File("b.db", "two", 31)],
            run: { folder in
                try using(folder + "/a.db") { db in
                    try db.withAttached(.file(folder + "/b.db"), as: "b", key: key("two")) { other in
                        try other.connection.transaction { db -> Void in
                            try insert(1, db)
                            try db.execute("INSERT INTO b.t(x) VALUES ('new')")
                        }
                    }
                }
            }),
        // After the last migration, it looks for another migration.
        room(
            "migration", after: 61, isStepwise: true,
            agree: { db, isDone in try migrator.applied(in: db) == (isDone ? ["one"] : []) }
        ) { db in try migrator.migrate(db) },
    ]

    /// A hook that was added is called; one that was not can be added again.
    private static let hooks = room("hooks", after: 61) { db in
        func twice<R>(_ body: () throws -> R) throws -> R { do { return try body() } catch { return try body() } }
        let (_, region) = try twice { try db.recordingReads { db in try db.fetchOne(Int.self, "SELECT count(x) FROM t") } }
        guard region.columns(of: DatabaseTable("t")) == ["x"] else { throw Untrue("it reads \(region)") }
        defer { try? db.settings.setPermissions(nil) }
        try twice { try db.settings.setPermissions(.readOnly) }
        guard (try? db.execute("DELETE FROM t")) == nil else { throw Untrue("the access is not restricted") }
        try db.settings.setPermissions(nil)
        var changes = 0, rows = 0
        let tokens = [
            try twice { try db.addChangeHook { _ in changes += 1 } }, try twice { try db.addUpdateHook { _ in rows += 1 } },
        ]
        defer { for token in tokens { token.remove() } }
        try insert(1, db)
        guard (changes, rows) == (1, 1) else { throw Untrue("\(changes) changes of \(rows) rows were reported") }
    }

    private static let migrator: Migrator = {
        var migrator = Migrator()
        migrator.add("one") { db in
            try db.execute("CREATE TABLE new(id INTEGER PRIMARY KEY, x TEXT)")
            try db.execute("INSERT INTO new SELECT * FROM t")
            try db.execute("DROP TABLE t")
            try db.main.renameTable("new", to: "t")
            try insert(1, db)
        }
        return migrator
    }()

    private static let searches: [FaultScenario] = [
        room(
            "full-text rows", after: 61,
            agree: { db, isDone in
                try db.fullText("search").passesIntegrityCheck() && db.fullText("search").search(.phrase("new")).total.count == (isDone ? 30 : 0)
            }
        ) { db in
            try db.transaction { db -> Void in
                try insert(1, db)
                for number in 0..<30 { try db.execute("INSERT INTO search(x) VALUES (\("new word \(number)"))") }
                try db.execute("DELETE FROM search WHERE rowid < 10")
            }
        },
        room("full-text upkeep", after: 60, agree: { db, _ in try db.fullText("search").passesIntegrityCheck() }) { db in
            try db.fullText("search").optimize()
            try db.fullText("search").rebuild()
        },
        room("search", after: 60) { db in
            let index = try db.fullText("search")
            var search = FullTextSearch("wrod 1")
            search.highlightedColumns = ["x"]
            search.countsAll = true
            let found = try index.search(search)
            guard found.hits.count > 0 else { throw Untrue("no hits") }
            guard try index.suggestions(for: "wo").count > 0 else { throw Untrue("no suggestions") }
        },
    ]

    private static let logs: [FaultScenario] = [
        room("changeset", after: 64) { db in
            var changes: Changeset?
            let recorder = try ChangeRecorder(db.main, tables: ["t"])
            try db.transaction { db -> TransactionEnd<Void> in
                try insert(5, db)
                try db.execute("DELETE FROM t WHERE id = 7")
                changes = try recorder.changeset()
                return TransactionEnd.rollback(())
            }
            recorder.close()
            try changes?.apply(to: db) { _ in .abort }
        },
        room(
            "change log", after: 63,
            prepare: { db in
                let log = try ChangeLog(db, tables: ["t"], localPeer: "a")
                try log.addExistingRows()
            },
            agree: { db, isDone in
                // A copy that gets all changes has all rows.
                let copy = try Connection(.memory)
                try copy.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
                try ChangeLog(copy, tables: ["t"], localPeer: "c").receive(ChangeLog(db, tables: ["t"], localPeer: "a").changes())
                return try copy.fetchOne(Int.self, "SELECT count(*) FROM t") == (isDone ? 63 : 60)
            }
        ) { db in
            let log = try ChangeLog(db, tables: ["t"], localPeer: "a")
            _ = try log.changes()
            try log.write { try insert(3, $0) }
        },
        room(
            "change log, receiving", after: 63, prepare: { _ = try ChangeLog($0, tables: ["t"], localPeer: "a") }
        ) { db in
            let other = try Connection(.memory)
            try other.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            let sender = try ChangeLog(other, tables: ["t"], localPeer: "b")
            try sender.write { db in for id in 101...103 { try db.execute("INSERT INTO t VALUES (\(id), 'sent')") } }
            let message = try sender.changes()
            try ChangeLog(db, tables: ["t"], localPeer: "a").receive(message)
        },
    ]
}
