import Foundation
import SQLCipherKit

/// The facts about a database, and JSON.
extension Cases {
    static var schemas: [ContractCase] {
        family("schema-names",
            call("schema(_:)") { t in try t.db.schema(t.text("name", "main", .name)).name.count },
            call("schemas", differs: [.attached]) { t in try t.db.schemas().map(\.name) })
        + family("objects",
            call("tables", differs: [.slots]) { t in try t.schema.tables().map(\.name) },
            call("table") { t in try t.schema.table(t.text("table", "note", .name))?.columns.map(\.name) ?? [] },
            call("hasTable") { t in try t.schema.hasTable(t.text("table", "note", .name)) },
            call("columns and keys") { t in
                let table = t.text("table", "child", .name)
                return try (t.schema.columns(of: table).map(\.name), t.schema.primaryKey(of: table), t.schema.foreignKeys(of: table).map(\.parent))
            },
            call("indexes and triggers") { t in
                let table = t.text("table", "note", .name)
                return try (t.schema.indexes(of: table).map(\.name), t.schema.triggers(of: table).map(\.name))
            })
        + family("dropping",
            call("table", .writes) { t in try t.schema.dropTable(t.text("table", "pair", .name), ifExists: true) },
            call("index", .writes) { t in try t.schema.dropIndex(t.text("index", "note_title", .name), ifExists: true) },
            call("trigger", .writes) { t in try t.schema.dropTrigger(t.text("trigger", "note_gone", .name), ifExists: true) },
            call("view", .writes) { t in try t.schema.dropView(t.text("view", "titles", .name), ifExists: true) },
            call("a table of full-text search", .writes) { t in try t.schema.dropTable("note_fts") })
        + family("integrity",
            call("integrityCheck") { t in try t.schema.integrityCheck() },
            call("foreignKeyViolations") { t in try t.schema.foreignKeyViolations(in: t.text("table", "child", .name)).count })
        + family("checkpoint",
            call("checkpoint", .settles, differs: [.log]) { t in try t.schema.checkpoint(.passive).isComplete })
    }

    static var json: [ContractCase] {
        family("json-update",
            call("updateJSON", .writes) { t in
                let value = t.text("value", Secrets.value), key = t.text("key", "n")
                let count = try t.schema.updateJSON(
                    t.text("column", "meta", .name), in: t.text("table", "note", .name), where: "id = 1",
                    .set(JSONPath(key), to: value), .append(value, toArrayAt: "tags"))
                t.then {
                    let meta = try t.db.fetchOne(JSONValue.self, "SELECT meta FROM note WHERE id = 1")
                    if t.isUsual("column"), let back = meta?[key] { try t.same(JSONValue.string(value), back) }
                }
                return count
            },
            call("condition", .writes) { t in
                try t.schema.updateJSON("meta", in: "note", where: SQL(raw: t.text("condition", "id = 1", .sql)), .remove("n"))
            })
        + family("json-expressions",
            call("paths and values") { t in
                let key = t.text("key", "tags"), value = t.text("value", Secrets.value)
                let json = JSONExpression(column: "meta", of: "note").changed(by: .set(JSONPath(key), to: value))
                let back = try t.db.fetchOne(String.self, "SELECT \(json.at(JSONPath(key)).value()) FROM note WHERE id = 1")
                try t.same(value, back)
                return 0
            },
            call("elements") { t in
                let cursor = try JSONExpression(text: t.text("json", "{\"a\":[1,2]}")).elements(at: JSONPath(t.text("key", "a")), in: t.db)
                defer { cursor.close() }
                return try cursor.collect().count
            },
            call("column") { t in
                let json = JSONExpression(column: t.text("column", "meta", .name), of: t.text("table", "note", .name))
                return try t.db.fetchAll(Int?.self, "SELECT \(json.value("n")) FROM note").count
            })
        + family("insert-encodable",
            call("insert", .writes) { t in
                let record = Plain(title: t.text("title", Secrets.value), body: nil)
                try t.db.insert(record, into: t.text("table", "note", .name), in: t.schema)
                t.then { if t.isUsual("table") { try t.same(record.title, t.db.fetchOne(String.self, "SELECT title FROM note ORDER BY id DESC LIMIT 1")) } }
                return try t.db.changes
            })
        + family("values",
            call("texts, bytes, dates and numbers") { t in
                let text = t.text("text", Secrets.value)
                try t.same(text, t.db.fetchOne(String.self, "SELECT \(text)"))
                let bytes = Data(text.utf8)
                try t.same(bytes, t.db.fetchOne(Data.self, "SELECT \(bytes)"))
                try t.same(Array(bytes), t.db.fetchOne([UInt8].self, "SELECT \(Array(bytes))"))
                let date = Date(timeIntervalSince1970: 1_700_000_000.125), id = UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF")
                try t.same(date, t.db.fetchOne(Date.self, "SELECT \(date)"))
                try t.same(id, t.db.fetchOne(UUID.self, "SELECT \(id)"))
                try t.same(Int64.min, t.db.fetchOne(Int64.self, "SELECT \(Int64.min)"))
                try t.same(-0.1, t.db.fetchOne(Double.self, "SELECT \(-0.1)"))
                try t.same(Decimal(string: "1.1"), t.db.fetchOne(Decimal.self, "SELECT \(Decimal(string: "1.1"))"))
                try t.same(text, t.db.fetchOne(JSONColumn<String>.self, "SELECT \(JSONColumn(text))")?.value)
                return 0
            },
            call("LIKE") { t in
                let text = t.text("text", "ir"), pattern = LikePattern.contains(text)
                let all = try t.db.fetchAll(String.self, "SELECT title FROM note WHERE \(pattern.condition(on: "title"))")
                if !text.isEmpty { for title in all where !title.lowercased().contains(text.lowercased()) { throw BrokenPromise("\(title) contains no \(text)") } }
                return text == "ir" ? all.count : 0
            })
    }
}
