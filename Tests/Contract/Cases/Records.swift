import Foundation
import SQLCipherKit

/// Records: written, read by keys, read by queries, and with what belongs to them.
extension Cases {
    static var records: [ContractCase] { writing + reading + queries + joins + associations + tables + migrations + keyValue }

    /// Read and written by `Codable`.
    struct Note: SQLRecord, Equatable {
        var id: Int64?
        var title: String?
        var body: String?
        var n: Double?
        static let table = SQLTable(of: Note.self) {
            $0.id.primaryKey()
            $0.title
            $0.body
            $0.n
        }
        static let children = hasMany(Child.self)
        static let first = hasOne(Child.self)
    }

    /// A described table with a foreign key.
    struct Child: SQLRecord, Hashable {
        var id: Int64?
        var note: Int64?
        var name: String
        static let table = SQLTable(of: Child.self) {
            $0.id.primaryKey()
            $0.note.references(Note.self, onDelete: .cascade)
            $0.name.unique()
        }
        static let parent = belongsTo(Note.self)
    }

    /// Read and written by position.
    struct Spot: SQLPositionalRecord, Equatable {
        var id: Int64?
        var title: String
        var body: ColumnDefault<String> = .init()
        static let tableName = "note"
        static let recordColumns = SQLRecordColumns(of: Spot.self, ["id": \.id, "title": \.title, "body": \.body])

        init(id: Int64? = nil, title: String) { (self.id, self.title) = (id, title) }
        init(columns: inout SQLColumnReader) throws { (id, title, body) = (try columns.next(), try columns.next(), try columns.next()) }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(title)
            if body.isSet { try columns.put(body) } else { try columns.leaveOut() }
        }
        static func == (a: Spot, b: Spot) -> Bool { a.id == b.id && a.title == b.title }
    }

    /// A key of two columns, and no row id. Its table is not described.
    struct Pair: SQLRecord, Equatable {
        var a: String
        var b: Int
        var c: String?
    }

    /// A document of a type of its own.
    struct Paper: SQLRecord {
        struct Meta: Codable, Hashable, Sendable {
            var tags: [String] = []
            var n: Int
        }
        var id: Int64?
        var meta: Meta?
        static let tableName = "note"
    }

    /// Rows of a common table.
    struct Total: SQLRecord {
        var note: Int64?
        var count: Int
    }

    private static func title(_ id: Int64, _ t: Trial) throws -> String? {
        try t.db.fetchOne(String.self, "SELECT title FROM note WHERE id = ?", [id])
    }

    private static var writing: [ContractCase] {
        family("record-insert",
            call("insert, filled in", .writes) { t in
                var note = Note(title: t.text("title", Secrets.value), body: t.text("body", "b"))
                try t.keeping(&note) { try t.db.insert(&$0) }
                t.then { [note] in try t.same(note.title ?? "", title(note.id ?? 0, t)) }
                return note.id ?? 0
            },
            call("insert, ignored", .writes) { t in
                var child = Child(note: 1, name: t.text("name", Secrets.value))
                return try t.keeping(&child) { try t.db.insert(&$0, onConflict: .ignore) }
            },
            call("insert of what is there", refusing: [.readOnly]) { t in
                var same = Child(id: 9, note: 1, name: t.text("name", "one"))
                guard same.name == "one" else { return false }
                return try (t.keeping(&same) { try t.db.insert(&$0, onConflict: .ignore) }, t.db.insert(Child(id: 9, note: 2, name: "two"), onConflict: .ignore))
            },
            call("insert of a value", .writes) { t in
                try t.db.insert(Pair(a: t.text("a", Secrets.value), b: 7, c: t.text("c", "c")), in: t.schema)
                t.then { try t.same(t.text("a", Secrets.value), t.db.fetchOne(String.self, "SELECT a FROM pair WHERE b = 7")) }
                return try t.db.changes
            },
            call("insert, by position", .writes) { t in
                var place = Spot(title: t.text("title", Secrets.value))
                try t.keeping(&place) { try t.db.insert(&$0) }
                t.then { [place] in try t.same(place.title, title(place.id ?? 0, t)) }
                return place.id ?? 0
            },
            call("insertAll", .writes) { t in
                var notes = [Note(title: t.text("title", Secrets.value)), Note(title: "other")]
                _ = try t.keeping(&notes) { try t.db.insertAll(&$0) }
                return notes.map { $0.id ?? 0 }
            },
            call("insertAll of which the last one fails", .writes) { t in
                var children = [Child(note: 1, name: t.text("name", Secrets.value)), Child(note: 1, name: "two")]
                do { _ = try t.keeping(&children) { try t.db.insertAll(&$0) } } catch let error as DatabaseError where error.code.primary == .constraint {
                    t.then { try t.same(3, t.db.count(Child.all)) }
                    return try t.db.insertAll([Child(note: 2, name: "three")], in: t.schema)
                }
                throw BrokenPromise("two rows have one name")
            },
            call("insertAll from a query", .writes) { t in
                let title = t.text("title", Secrets.value)
                let count = try t.db.insertAll(from: Note.with(Note.self, as: "SELECT 50 AS id, \(title) AS title, NULL AS body, NULL AS n"), in: t.schema)
                t.then { try t.same(title, Cases.title(50, t)) }
                return count
            },
            call("insertAll from a query, returning", .writes) { t in
                let title = t.text("title", Secrets.value)
                let query = Note.with(Note.self, as: "SELECT 1 AS id, \(title) AS title, NULL AS body, NULL AS n")
                let notes = try t.db.insertAll(from: query, onConflict: .replace, in: t.schema, returning: Note.self)
                try t.same(title, notes.first?.title)
                return notes.count
            },
            call("inserted", .writes) { t in
                let name = t.text("name", Secrets.value), child = try t.db.inserted(Child(note: 3, name: name))
                try t.same(name, child.name)
                return child.id ?? 0
            },
            call("a default", .writes) { t in
                struct Defaulted: SQLRecord {
                    var id: Int64?
                    @ColumnDefault var title: String?
                    @ColumnDefault var body: String?
                    static let tableName = "note"
                }
                var row = Defaulted(title: ColumnDefault(t.text("title", Secrets.value)))
                try t.db.insert(&row)
                t.then { [row] in try t.same(t.text("title", Secrets.value), title(row.id ?? 0, t)) }
                return row.id ?? 0
            })
        + family("record-upsert",
            call("upsert", .writes) { t in
                var note = Note(id: 2, title: t.text("title", Secrets.value))
                try t.keeping(&note) { try t.db.upsert(&$0) }
                t.then { try t.same(t.text("title", Secrets.value), title(2, t)) }
                return note.id ?? 0
            },
            call("on columns", .writes) { t in
                try t.db.upsert(Child(note: 3, name: "two"), onConflict: [t.text("column", "name", .name)])
                return try t.db.changes
            },
            call("with a conflict of its own", .writes) { t in
                var child = Child(id: 8, note: 3, name: "two")
                let text = t.text("text", Secrets.value)
                let conflict = SQLUpsert<Child>(on: \.name).setting { row, new, set in set(\.name, to: row.name + text); set(\.note, to: new.note) }
                    .where { row, _ in row.name != text }
                let isWritten = try t.keeping(&child) { try t.db.upsert(&$0, conflict) }
                t.then { [child] in try t.same("two" + text, child.name) }
                return (isWritten, child.id ?? 0)
            },
            call("of some columns", .writes) { t in
                let name = t.text("name", "one")
                return try t.db.upsert(Child(note: 3, name: name), SQLUpsert(on: \.name).updating(\.note))
            },
            call("save", .writes) { t in
                var old = Note(id: 1, title: t.text("title", Secrets.value))
                try t.keeping(&old) { try t.db.save(&$0) }
                t.then { try t.same(t.text("title", Secrets.value), title(1, t)) }
                return old.id ?? 0
            },
            call("findOrInsert", .writes) { t in
                let name = t.text("name", Secrets.value)
                let child = try t.db.findOrInsert(Child(note: 1, name: name), on: \.name)
                try t.same(name, child.name)
                return child.id ?? 0
            })
        + family("record-update",
            call("update", .writes) { t in
                try t.db.update(Note(id: 1, title: t.text("title", Secrets.value)))
                t.then { try t.same(t.text("title", Secrets.value), title(1, t)) }
                return 0
            },
            call("update, read back", .writes) { t in
                var place = Spot(id: 1, title: t.text("title", Secrets.value))
                try t.keeping(&place) { try t.db.update(&$0, in: t.schema) }
                t.then { [place] in try t.same(place.title, title(1, t)) }
                return place.body.wrappedValue ?? ""
            },
            call("what has changed", .writes) { t in
                try t.db.updateChanges(Note(id: 1, title: t.text("title", Secrets.value)), from: Note(id: 1, title: "first"))
            },
            call("some columns", .writes) { t in
                try t.db.update(Pair(a: "a", b: 1, c: t.text("c", Secrets.value)), columns: \.c)
                t.then { try t.same(t.text("c", Secrets.value), t.db.fetchOne(String.self, "SELECT c FROM pair WHERE b = 1")) }
                return 0
            },
            call("updateAll", .writes) { t in
                try t.db.updateAll(Note.filter { $0.title != t.text("other", "other") }) { note, set in
                    set(\.body, to: t.text("body", Secrets.value))
                    set(\.title, to: note.title + "!")
                }
            },
            call("updateAll, returning", .writes) { t in
                let text = t.text("text", Secrets.value)
                let notes = try t.db.updateAll(Note.filter { $0.id < 3 }, returning: Note.self) { _, set in set(\.title, to: text) }
                try t.same(text, notes.last?.title)
                return notes.count
            },
            call("updateAll, returning values", .writes) { t in
                let text = t.text("text", Secrets.value)
                let titles = try t.db.updateAll(Note.filter { $0.id == 3 }, returning: { ($0.id, $0.title) }) { _, set in set(\.title, to: text) }
                try t.same(text, titles.last?.1)
                return titles.count
            },
            call("updateAll, returning one value", .writes) { t in
                try t.db.updateAll(Note.filter { $0.title != t.text("text", Secrets.value) }, returning: { $0.n }) { _, set in set(\.n, to: 2) }
            },
            call("a document", .writes) { t in
                let tag = t.text("tag", Secrets.value)
                try t.db.update(Paper(id: 1, meta: .init(tags: [tag], n: 3)))
                t.then {
                    try t.same(tag, t.db.fetchOne(Paper.self, id: 1)?.meta?.tags.first)
                    try t.same(1, t.db.count(Paper.filter { $0.meta == Paper.Meta(tags: [tag], n: 3) }))
                }
                return 0
            })
        + family("record-delete",
            call("delete", .writes) { t in try t.db.delete(Note(id: 1)) },
            call("delete by two columns", .writes) { t in try t.db.delete(Pair(a: t.text("a", "a"), b: 1)) },
            call("by a key", .writes) { t in try t.db.delete(Pair.self, id: 1, t.text("a", "a"), in: t.schema) },
            call("by keys", .writes) { t in try t.db.delete(Note.self, ids: [1, 2]) },
            call("deleteAll", .writes) { t in try t.db.deleteAll(Note.filter { $0.title != t.text("title", Secrets.value) }) },
            call("deleteAll, returning", .writes) { t in
                let text = t.text("text", Secrets.value)
                let titles = try t.db.deleteAll(Note.filter { $0.id == 1 }) { SQLExpression<String>("\(text)") + ($0.title ?? "") }
                if let title = titles.first { try t.same(text + "first", title) }
                return titles.count
            },
            call("deleteAll, returning records", .writes) { t in
                try t.db.deleteAll(Note.filter { $0.title != t.text("title", Secrets.value) }, returning: Note.self).map(\.id)
            },
            call("deleteAll, returning values", .writes) { t in
                try t.db.deleteAll(Pair.filter { $0.a != t.text("a", Secrets.value) }) { ($0.a, $0.b) }.map(\.0).sorted()
            })
    }

    private static var reading: [ContractCase] {
        family("record-fetch",
            call("by a key") { t in
                let a = t.text("a", "b")
                return try (t.db.fetchOne(Pair.self, id: 2, a)?.c ?? "", t.db.exists(Pair.self, id: 1, a), t.db.find(Note.self, id: 1).title ?? "")
            },
            call("by many keys") { t in try t.db.fetchAll(Note.self, ids: [3, 1, 1, 9]).map(\.id) },
            call("one that is not there") { t in
                do { return try t.db.find(Pair.self, id: 9, t.text("a", "z")).c ?? "" } catch let error as DatabaseError where error.reason != .closed { return reason(error) }
            },
            call("refresh") { t in
                var note = Note(id: 1), place = Spot(id: 2, title: t.text("title", Secrets.value))
                try t.keeping(&note) { try t.db.refresh(&$0) }
                try t.keeping(&place) { try t.db.refresh(&$0, in: t.schema) }
                return note.title ?? "" + place.title
            },
            call("set and existence") { t in
                try (t.db.fetchSet(String.self, "SELECT title FROM note WHERE title <> ?", [t.text("title", Secrets.value)]).count,
                     t.db.exists("SELECT 1 FROM note WHERE title = \(t.text("title", Secrets.value))"))
            })
        + family("record-rows",
            call("parts of a row") { t in
                let part = t.text("part", "note"), value = t.text("value", Secrets.value)
                var seen: [String] = []
                try t.db.forEach("SELECT \(value) AS v, \(columns: Note.self, of: "n", as: part), \(columns: Child.self, of: "c", as: "child") FROM note AS n LEFT JOIN child AS c ON c.note = n.id ORDER BY n.id") { row in
                    let note = try row.scope(part, as: Note.self), child = try row.scope("child", as: Child?.self), place = try row.scope(part, as: Spot.self)
                    try t.same(value, row["v"] as String)
                    seen.append("\(note.title ?? "") \(child?.name ?? "") \(place.id ?? 0)")
                }
                return seen
            },
            call("columns that are not there") { t in
                do { return try t.db.fetchAll(Spot.self, "SELECT 1 AS id, \(t.text("value", Secrets.value)) AS other").count } catch let error as DatabaseError where error.reason != .closed {
                    return reason(error)
                }
            },
            call("values of another type") { t in
                do { return try t.db.fetchAll(Child.self, "SELECT \(t.text("value", Secrets.value)) AS id, 'x' AS name").count } catch let error as DatabaseError where error.reason != .closed {
                    return reason(error)
                }
            })
    }

    private static var queries: [ContractCase] {
        family("record-query",
            call("fetched") { t in
                let text = t.text("text", Secrets.value)
                let query = Note.filter { $0.title != text }.order { $0.id.descending }.limit(2, offset: 1)
                var found = try t.db.fetchAll(query).map { $0.id ?? 0 }
                let cursor = try t.db.cursor(query)
                defer { cursor.close() }
                found += try cursor.collect().map { $0.id ?? 0 }
                return try (found, t.db.fetchOne(query)?.title ?? "", t.db.count(query), t.db.exists(query), t.db.fetchSet(query.select { $0.id }).count,
                            t.db.queryPlan(of: query).count, t.db.sql(of: query).text.isEmpty, Note.all.in(t.schema).aliased("x").distinct().offset(1).isNothing(t))
            },
            call("selected") { t in
                let text = t.text("text", Secrets.value)
                let selection = Note.select { ($0.id, $0.title + text) }.order(byColumn: 1, descending: true).limit(5)
                let rows = try t.db.fetchAll(selection)
                try t.same("first" + text, rows.last?.1 ?? nil)
                return try (rows.count, t.db.fetchAll(Note.all.group { $0.n }.having { $0.id.count() > 0 }.select { ($0.n.max(), $0.id.countDistinct()) }).count)
            },
            call("compounds") { t in
                let text = t.text("text", Secrets.value)
                let some = Note.filter { $0.id < 3 }, others = Note.filter { $0.title != text }
                let ids = some.select { $0.title ?? "" }.union(others.select { $0.title ?? text }).intersect(others.select { $0.title ?? "" })
                return try (t.db.count(some.union(others)), t.db.count(some.unionAll(others)), t.db.count(some.intersect(others)),
                            t.db.fetchAll(some.except(others)).count, t.db.fetchAll(ids.except(some.select { $0.body ?? "" }).unionAll(ids).distinct().order(byColumn: 1)))
            },
            call("nested, common and recursive") { t in
                let text = t.text("text", Secrets.value)
                let totals = Child.all.group { $0.note }.select { ($0.note, $0.id.count()) }
                let with = Note.with(Total.self, as: totals).filter { note in Total.filter { $0.note == note.id && $0.count > 0 }.exists && note.title != text }
                let sql = Note.with(Total.self, as: "SELECT 1 AS note, \(text) AS count").filter { $0.id.in(Total.select { $0.note }) }
                let recursive = Note.filter { $0.id == 1 }.recursive { note, found in note.id == found.id + 1 && note.title != text }
                let value = Note.select { note in (note.id, Child.filter { $0.note == note.id && $0.name != text }.select { $0.id.count() }.scalarSubquery()) }
                return try (t.db.fetchAll(with).count, t.db.count(sql), t.db.fetchAll(recursive).count, t.db.fetchAll(value).map { $0.1 ?? 0 })
            },
            call("outside of Swift's types") { t in
                let order = SQLOrdering(sql: SQL(raw: t.text("order", "title DESC", .sql)))
                let condition = SQLExpression<Bool>(SQL(raw: t.text("condition", "title = title", .sql)))
                return try t.db.fetchAll(Note.filter { _ in condition }.order { _ in order }).count
            },
            call("a column by name") { t in
                try t.db.fetchAll(Note.filter { $0[column: t.text("column", "title", .name), as: String.self] == "first" }).count
            })
        + family("record-expressions", call("texts") { try texts($0) }, call("conditions") { try conditions($0) }, call("numbers") { try numbers($0) },
            call("a collation") { t in
                try t.db.fetchAll(Note.order { $0.title.collate(t.text("collation", "NOCASE", .name)) }.select { $0.id })
            },
            call("aggregates") { try aggregates($0) }, call("windows") { try windows($0) }, call("cases") { try casesOfValues($0) }, call("rows of values") { try rowValues($0) },
            call("documents") { try documents($0) })
    }

    private static func texts(_ t: Trial) throws -> Any {
        let text = t.text("text", Secrets.value), other = t.text("other", "o"), bound = SQLExpression<String>("\(text)")
        let rows = try t.db.fetchAll(Note.filter { $0.id == 1 }.select { _ in (bound + other, bound.replacing(text, with: other), bound.prefix(3)) })
        guard let row = rows.first else { throw BrokenPromise("no row") }
        try t.same(text + other, row.0)
        // SQLite replaces nothing where the pattern is empty.
        try t.same(text.isEmpty ? text : other, row.1)
        try t.same(1, t.db.count(Note.filter { $0.id == 1 && bound == text }))
        // No pattern of LIKE may be longer.
        if text.utf8.count < 50_000 { try t.same(1, t.db.count(Note.filter { $0.id == 1 && bound.like(LikePattern.contains(text)) })) }
        return try t.db.count(Note.filter { $0.title.like(LikePattern.contains(other)) || $0.id == 1 })
    }

    private static func conditions(_ t: Trial) throws -> Any {
        let text = t.text("text", Secrets.value)
        let query = Note.filter { note in note.title != text && !(note.id < 1) || note.id.between(1, and: 3) }
            .filter { note in note.title.in(["first", "second", text]) && (note.n ?? 0) >= 1 }
            .filter { note in note.id <= 3 && note.id > 0 && note.id == note.id }
        return try t.db.fetchAll(query.order { note in
            if text.isEmpty { note.title } else { note.title.collate("BINARY").ascending }
            if !text.isEmpty { note.n }
            for _ in 0..<1 { note.id }
        }.select { $0.id })
    }

    private static func numbers(_ t: Trial) throws -> Any {
        try t.db.fetchAll(Child.order { $0.id }.select { child in
            let n: SQLExpression<Int> = (child.note ?? 0).cast(to: Int.self)
            return (n * 3 + 1 - 2, n / 2 % 2, ((n & 3 | 4) << 1) >> 1, -n, ~n, SQLExpression<Double>("1.25").rounded(1))
        }).map { "\($0)" }
    }

    private static func aggregates(_ t: Trial) throws -> Any {
        let text = t.text("separator", "/")
        let names: String?? = try t.db.fetchOne(Child.all.select { $0.name.groupConcat(separator: text, orderedBy: $0.id.ascending) })
        try t.same("one" + text + "two", names ?? nil)
        let found = try t.db.fetchOne(Child.all.select { ($0.id.sum(), $0.id.max(), $0.id.min(), $0.name.count().where($0.name != text)) })
        return found.map { "\($0)" } ?? ""
    }

    private static func windows(_ t: Trial) throws -> Any {
        let text = t.text("text", Secrets.value)
        let rows = try t.db.fetchAll(Child.order { $0.id }.select { child in
            let window = SQLWindow(partition: child.note, order: child.id.ascending), many: SQLExpression<Int> = .countAll.where(child.name != text)
            return (.rowNumber().over(window), child.id.lag().over(window), child.id.lead(1).over(window), .ntile(2).over(window), many.over(window))
        })
        return rows.map { "\($0)" }
    }

    private static func casesOfValues(_ t: Trial) throws -> Any {
        let text = t.text("text", Secrets.value)
        let query = Note.order { $0.id }.select { SQLCase(when: $0.id == 1, then: text).when($0.id == 2, then: "b").otherwise("c") }
        let found = try t.db.fetchAll(query)
        try t.same(text, found.first)
        return found.dropFirst().joined(separator: " ")
    }

    private static func rowValues(_ t: Trial) throws -> Any {
        let text = t.text("text", Secrets.value)
        let query = Pair.filter { SQLRowValue($0.a, $0.b) > ("", 0) && SQLRowValue($0.a, $0.b) <= ("b", 2) }
            .filter { SQLRowValue($0.a, $0.b) != (text, 1) && !SQLRowValue($0.a, $0.b).in([(text, 3)]) }
        let other = Pair.filter { SQLRowValue($0.a, $0.b) >= ("a", 1) && SQLRowValue($0.a, $0.b) < ("z", 9) || SQLRowValue($0.a, $0.b) == (text, 2) }
        return try (t.db.count(query), t.db.count(other))
    }

    private static func documents(_ t: Trial) throws -> Any {
        let key = t.text("key", "n")
        let values = try t.db.fetchAll(Paper.order { $0.id }.select { ($0.meta.json(key, as: Int.self), $0.meta.json(\.n)) })
        return try (values.map { $0.1 ?? 0 }, t.db.count(Paper.filter { $0.meta.json(\.n).in([1, 2]) }))
    }

    private static var joins: [ContractCase] {
        family("record-joins",
            call("of two") { t in
                let text = t.text("text", Secrets.value)
                let inner = Note.join(Child.self).filter { note, child in child.name != text }.order { note, _ in note.id }
                return try (t.db.fetchAll(inner).map { "\($0.0.id ?? 0)\($0.1.name)" }, t.db.count(Note.leftJoin(Child.self) { $0.id == $1.note && $1.name != text }),
                            t.db.count(Note.all.rightJoin(Child.self)), t.db.count(Note.all.fullJoin(Child.self)), t.db.fetchAll(Note.all.crossJoin(Child.self).select { ($0.title, $1.name) }).count)
            },
            call("of three and four") { t in
                let text = t.text("text", Secrets.value)
                let three = Note.join(Child.self).join(Pair.self) { note, _, pair in note.id == 1 && pair.b == 2 && pair.a != text }
                let four = three.leftJoin(Child.self) { note, _, _, child in child.note == note.id && child.name != text }
                return try (t.db.fetchAll(three).count, t.db.fetchAll(four).count, t.db.count(four), t.db.count(Note.join(Child.self).crossJoin(Pair.self)),
                            t.db.count(Note.join(Child.self).leftJoin(Pair.self) { note, _, pair in pair.b == 2 && note.id == 1 }), t.db.fetchAll(four.select { ($0.id, $3.name) }).count)
            })
    }

    private static var associations: [ContractCase] {
        family("record-associations",
            call("included") { t in
                let text = t.text("text", Secrets.value)
                let query = Note.order { $0.id }.including(Note.children.filter { $0.name != text }.order { $0.name }.limit(2), Note.first)
                return try (t.db.fetchAll(query).map { "\($0.0.id ?? 0) \($0.1.map(\.name)) \($0.2?.name ?? "")" },
                            t.db.fetchAll(Child.including(Child.parent).map { "\($0.name) \($1?.title ?? "")" }),
                            t.db.fetchAll(Child.including(Child.parent.including(Note.children))).count)
            },
            call("as conditions and beside records") { t in
                let text = t.text("text", Secrets.value)
                let busy = Note.filter { Note.children.filter { $0.name != text }.of($0).count > 0 }.order { $0.id }
                let query = busy.annotated { (Note.children.of($0).count, Note.children.of($0).select { $0.name.max() }.scalarSubquery()) }
                return try (t.db.fetchAll(query).map { "\($0.1) \($0.2 ?? "")" }, t.db.fetchAll(query.including(Note.children)).count,
                            t.db.fetchAll(Note.children.of(Note(id: 1))).map(\.name))
            })
    }
}

extension SQLRequest {
    fileprivate func isNothing(_ t: Trial) throws -> Bool { try t.db.sql(of: self).text.isEmpty }
}
