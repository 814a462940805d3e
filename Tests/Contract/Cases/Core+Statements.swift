import Foundation
import SQLCipherKit

/// SQL, statements, rows, blobs and transactions.
/// The cases of all families of the tables.
enum Cases {
    static var core: [ContractCase] { statements + rows + transactions + connections + schemas + json }

    struct Line: Codable, Equatable, SQLRowConvertible {
        var id: Int64?
        var title: String

        init(id: Int64? = nil, title: String) { (self.id, self.title) = (id, title) }
        init(row: borrowing Row) throws { (id, title) = (try row["id"], try row["title"]) }
    }

    struct Plain: Codable { var title: String, body: String? }

    private static var statements: [ContractCase] {
        family("execute",
            call("INSERT", .writes) { t in
                let title = t.text("title", Secrets.value)
                try t.db.execute("INSERT INTO note(id, title) VALUES (10, \(title))")
                t.then { try t.same(title, t.db.fetchOne(String.self, "SELECT title FROM note WHERE id = 10")) }
                return try t.db.changes
            },
            call("any SQL", .writes) { t in
                try t.db.execute(SQL(raw: t.text("sql", "INSERT INTO note(title) SELECT title FROM note", .sql)))
            },
            call("an identifier", .writes) { t in
                let name = t.text("name", "made", .new)
                try t.db.execute("CREATE TABLE \(identifier: name)(x)")
                return 0
            },
            call("forEach") { t in
                var count = 0
                try t.db.forEach("SELECT * FROM note WHERE title <> ?", [t.text("title", Secrets.value)]) { _ in count += 1 }
                return count
            },
            call("several rows that fail at the last", .writes) { t in
                try t.db.execute("INSERT INTO child(id, name) SELECT id + 10, \(t.text("name", Secrets.value)) || id FROM note")
            })
        + family("script",
            call("of several statements", .writes, isStepwise: true) { t in
                try t.db.execute(SQLScript("INSERT INTO note(title) VALUES ('a'); UPDATE note SET body = title; SELECT 1"))
            },
            call("any", .writes, isStepwise: true) { t in
                try t.db.execute(SQLScript(t.text("script", "SELECT 1; UPDATE note SET body = 'x'", .sql)))
            })
        + family("statement",
            call("stepped by hand") { t in
                let statement = try t.db.prepare("SELECT id, title FROM note WHERE title <> :title"), title = t.text("title", Secrets.value)
                try statement.bind([":title": title])
                var ids: [Int] = []
                while try statement.step() { ids.append(try statement[0]) }
                try statement.clearBindings()
                return ids
            },
            call("executed", .writes) { t in
                let statement = try t.db.prepare("INSERT INTO note(title, body) VALUES (?, ?)")
                let title = t.text("title", Secrets.value)
                try statement.execute(binding: title, 1)
                t.then { try t.same(title, t.db.fetchOne(String.self, "SELECT title FROM note ORDER BY id DESC LIMIT 1")) }
                return try t.db.changes
            },
            call("prepared from any SQL") { t in
                let statement = try t.db.prepare(SQL(raw: t.text("sql", "SELECT 1", .sql)))
                return statement.columnCount + (statement.parameterIndex(t.text("parameter", ":a", .name)) ?? 0)
            },
            call("named column") { t in
                let statement = try t.db.prepare("SELECT id, title FROM note"), name = t.text("column", "title", .name)
                _ = try statement.step()
                defer { try? statement.reset() }
                return try statement[name] as String
            })
    }

    private static var rows: [ContractCase] {
        family("fetching",
            call("fetchAll of texts") { t in
                let title = t.text("title", Secrets.value)
                let texts = try t.db.fetchAll(String.self, "SELECT title FROM note UNION ALL SELECT \(title)")
                try t.same(title, texts.last)
                return texts.count
            },
            call("fetchOne") { t in
                let title = t.text("title", "first")
                let back: String? = try t.db.fetchOne("SELECT \(title)")
                try t.same(title, back)
                return 0
            },
            call("tuples") { t in
                let title = t.text("title", Secrets.value)
                let rows: [(Int, String)] = try t.db.fetchAll("SELECT id, \(title) FROM note")
                try t.same(title, rows.first?.1)
                return rows.count
            },
            call("rows") { t in try t.db.fetchAll(Line.self, "SELECT id, title FROM note WHERE title <> \(t.text("title", Secrets.value))").count },
            call("Decodable") { t in
                struct Title: Decodable { let title: String }
                let title = t.text("title", Secrets.value)
                try t.same(title, t.db.fetchOne(Title.self, "SELECT \(title) AS title")?.title)
                return try t.db.fetchAll(Title.self, "SELECT title FROM note").count
            },
            call("cursor") { t in
                let cursor = try t.db.cursor(String.self, "SELECT title FROM note WHERE title <> \(t.text("title", Secrets.value))")
                defer { cursor.close() }
                return try cursor.collect().count
            },
            call("RowCopy") { t in
                let row = try t.db.fetchOne(OwnedRow.self, "SELECT 1 AS a, \(t.text("value", Secrets.value)) AS b")
                return try (row?[t.text("column", "a", .name)] as SQLValue?) ?? .null
            })
        + family("blob",
            call("read") { t in
                let table = t.text("table", "note", .name), column = t.text("column", "title", .name)
                let blob = try t.schema.openBlob(table: table, column: column, rowID: 1)
                defer { blob.close() }
                return try blob.read(upTo: 3)?.count ?? 0
            },
            call("write", .writes, differs: [.utf16]) { t in
                let blob = try t.schema.openBlob(table: "note", column: "body", rowID: 2, forWriting: true)
                defer { blob.close() }
                try blob.write(Data("x".utf8), at: 1)
                try blob.reopen(rowID: 1)
                try blob.seek(to: 2)
                try blob.write(Data("y".utf8))
                return blob.count
            },
            call("outside of the blob") { t in
                let blob = try t.schema.openBlob(table: "note", column: "title", rowID: 1)
                defer { blob.close() }
                do { _ = try blob.read(10_000, at: 1) } catch { return reason(error) }
                return ""
            })
    }

    private static var transactions: [ContractCase] {
        family("transaction",
            call("transaction", .writes) { t in
                try t.db.transaction { db -> Int in
                    try db.execute("INSERT INTO note(title) VALUES (\(t.text("title", Secrets.value)))")
                    try db.execute("UPDATE pair SET c = 1")
                    return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
                }
            },
            call("rolled back", refusing: [.readOnly]) { t in
                try t.db.transaction { db -> TransactionEnd<Int> in
                    try db.execute("DELETE FROM note")
                    return .rollback(1)
                }
            },
            call("savepoint", .writes) { t in
                try t.db.savepoint(t.text("name", "point", .name)) { db -> Void in try db.execute("UPDATE note SET body = 'point'") }
            },
            call("begin and commit", .writes) { t in
                try t.db.begin()
                do {
                    try t.db.execute("UPDATE note SET body = 'begun'")
                    try t.db.commit()
                } catch {
                    if try t.db.isOpen, try t.db.isInTransaction { try t.db.rollback() }
                    throw error
                }
                return 0
            },
            call("fails in the closure", refusing: [.readOnly]) { t in
                struct Failure: Error {}
                do {
                    try t.db.transaction { db -> Void in
                        try db.execute("DELETE FROM note")
                        throw Failure()
                    }
                } catch is Failure {}
                t.then { try t.same(3, t.db.fetchOne(Int.self, "SELECT count(*) FROM note")) }
                return 0
            })
    }
}
