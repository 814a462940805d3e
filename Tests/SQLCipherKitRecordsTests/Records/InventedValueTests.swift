import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// No call runs a record's own code on values that are in no row: here that code traps on all but valid values.
@Suite struct InventedValueTests {
    /// A mark says if its records describe their table. Each mark makes another type, which no call has met before.
    protocol Mark: Sendable { static var isDescribed: Bool { get } }
    enum Plain: Mark { static let isDescribed = false }
    enum Described: Mark { static let isDescribed = true }
    enum Next<M: Mark>: Mark { static var isDescribed: Bool { M.isDescribed } }

    /// A value in its own form.
    struct Serial: Codable, Hashable, SQLValueConvertible {
        let number: Int64
        init(_ number: Int64) {
            precondition(number > 0)
            self.number = number
        }
        init?(sqlValue: SQLValue) {
            guard case .integer(let number) = sqlValue else { preconditionFailure("\(sqlValue.storageClass)") }
            self.init(number)
        }
        init(from decoder: any Decoder) throws { self.init(try! decoder.singleValueContainer().decode(Int64.self)) }
        var sqlValue: SQLValue { .integer(number) }
    }
    /// A single value of its own coding.
    struct Link: Codable, Hashable {
        let url: URL
        init(_ text: String) {
            url = URL(string: text)!
            precondition(url.scheme == "https")
        }
        init(from decoder: any Decoder) throws { self.init(try! decoder.singleValueContainer().decode(String.self)) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try! container.encode(url.absoluteString)
        }
    }
    /// An enumeration with a case that no row has.
    enum Level: String, Codable, CaseIterable, SQLValueConvertible {
        case unused, low
        init(from decoder: any Decoder) throws { self.init(rawValue: try! decoder.singleValueContainer().decode(String.self))! }
        init?(sqlValue: SQLValue) {
            precondition(sqlValue == .text("low"))
            self = .low
        }
        var sqlValue: SQLValue {
            precondition(self != .unused)
            return .text(rawValue)
        }
    }
    /// A document.
    struct Doc: Codable, Hashable {
        var city: String
        init(_ city: String) { self.city = city }
        init(from decoder: any Decoder) throws {
            city = try! decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .city)
            precondition(!city.isEmpty)
        }
    }

    struct Guarded<M: Mark>: SQLRecord, Hashable {
        var id: Int64?
        var parent: Serial?
        var serial: Serial
        var link: Link
        var level: Level
        var doc: Doc
        var maybe: Doc?
        var column: JSONColumn<Doc>
        var made: Date

        static var tableName: String { "guarded" }
        static var table: SQLTable {
            guard M.isDescribed else { return SQLTable("guarded") }
            return SQLTable(of: Self.self) {
                $0.id.primaryKey()
                $0.parent
                $0.serial.unique()
                $0.link
                $0.level
                $0.doc
                $0.maybe
                $0.column
                $0.made
            }
        }

        enum CodingKeys: CodingKey { case id, parent, serial, link, level, doc, maybe, column, made }

        init(_ serial: Int64) {
            self.serial = Serial(serial)
            (parent, link, level, doc) = (Serial(1), Link("https://a/\(serial)"), .low, Doc("Rom"))
            (column, made) = (JSONColumn(Doc("Rom")), Date(timeIntervalSince1970: 1000))
        }

        init(from decoder: any Decoder) throws {
            let keys = try! decoder.container(keyedBy: CodingKeys.self)
            id = try! keys.decode(Int64.self, forKey: .id)
            parent = try! keys.decodeIfPresent(Serial.self, forKey: .parent)
            serial = try! keys.decode(Serial.self, forKey: .serial)
            link = try! keys.decode(Link.self, forKey: .link)
            level = try! keys.decode(Level.self, forKey: .level)
            doc = try! keys.decode(Doc.self, forKey: .doc)
            maybe = try! keys.decodeIfPresent(Doc.self, forKey: .maybe)
            column = try! keys.decode(JSONColumn<Doc>.self, forKey: .column)
            made = try! keys.decode(Date.self, forKey: .made)
            precondition(made.timeIntervalSince1970 == 1000 && column.value == doc)
        }
    }

    static let calls: [String] = """
        insert insert(&) insertOnConflict insert(&)OnConflict inserted insertAll insertAll(&) insertAll(from) insertAll(from)returning
        upsert upsert(&) upsertOn upsert(&)On upsertSetting update update(&) updateColumns updateChanges updateAll updateAllReturning
        delete deleteID deleteIDs deleteAll deleteAllReturning refresh save findOrInsert find fetchOneID fetchAllIDs exists existsID
        fetchAll fetchAllWhere fetchOne fetchSet cursor count sql queryPlan decode raw order orderKeys select selectAll selectCoded group
        join leftJoin rightJoin fullJoin crossJoin joinOn including of annotated with withSQL union compare in inQuery json distinct
        limit aliased schema differences region table scope
        """.split(whereSeparator: \.isWhitespace).map { "\($0)" }

    private func run<M: Mark>(_ call: String, _ type: Guarded<M>.Type, _ db: Connection) throws -> Int {
        typealias G = Guarded<M>
        let one = G(1), known: G
        var new = G(9)
        // A record with a key, without reading it.
        var written = one
        written.id = 1
        known = written
        let many = G.hasMany(G.self, by: \.parent, to: \.serial)
        switch call {
        case "insert": try db.insert(new)
        case "insert(&)": try db.insert(&new); return new.id == 3 ? 1 : 0
        case "insertOnConflict": return try db.insert(one, onConflict: .ignore) ? 0 : 1
        case "insert(&)OnConflict": return try db.insert(&new, onConflict: .replace) ? 1 : 0
        case "inserted": return try db.inserted(new).id == 3 ? 1 : 0
        case "insertAll": try db.insertAll([new])
        case "insertAll(&)":
            var all = [new]
            return try db.insertAll(&all)
        case "insertAll(from)": return try db.insertAll(from: G.all, onConflict: .replace) / 2
        case "insertAll(from)returning": return try db.insertAll(from: G.all, onConflict: .replace, returning: G.self).count / 2
        case "upsert": try db.upsert(known)
        case "upsert(&)": try db.upsert(&written)
        case "upsertOn": try db.upsert(one, onConflict: ["serial"])
        case "upsert(&)On": return try db.upsert(&new, SQLUpsert(on: \.serial).updating(\.doc, \.link)) ? 1 : 0
        case "upsertSetting":
            let upsert = SQLUpsert<G>(on: \.serial).setting { $2(\.link, to: $1.link) }.where { $0.serial == $1.serial }
            return try db.upsert(one, upsert) ? 1 : 0
        case "update": try db.update(known)
        case "update(&)": try db.update(&written)
        case "updateColumns": try db.update(known, columns: \.link, \.doc, \.level, \.serial)
        case "updateChanges":
            written.doc = Doc("Wien")
            return try db.updateChanges(written, from: known).count
        case "updateAll":
            return try db.updateAll(G.all) { _, set in
                set(\.link, to: Link("https://b"))
                set(\.doc, to: Doc("Rom"))
                set(\.level, to: .low)
            } / 2
        case "updateAllReturning":
            return try db.updateAll(G.all, returning: G.self) { _, set in set(\.maybe, to: Doc("Bonn")) }.count / 2
        case "delete": return try db.delete(known) ? 1 : 0
        case "deleteID": return try db.delete(G.self, id: 1) ? 1 : 0
        case "deleteIDs": return try db.delete(G.self, ids: [1])
        case "deleteAll": return try db.deleteAll(G.filter { $0.link == Link("https://a/1") })
        case "deleteAllReturning": return try db.deleteAll(G.filter { $0.serial == Serial(1) }, returning: G.self).count
        case "refresh": try db.refresh(&written)
        case "save": try db.save(&written)
        case "findOrInsert": return try db.findOrInsert(one, on: \.serial).id == 1 ? 1 : 0
        case "find": return try db.find(G.self, id: 1).serial == one.serial ? 1 : 0
        case "fetchOneID": return try db.fetchOne(G.self, id: 1) == nil ? 0 : 1
        case "fetchAllIDs": return try db.fetchAll(G.self, ids: [1]).count
        case "exists": return try db.exists(G.filter { $0.doc == Doc("Rom") }) ? 1 : 0
        case "existsID": return try db.exists(G.self, id: 1) ? 1 : 0
        case "fetchAll": return try db.fetchAll(G.all).count / 2
        case "fetchAllWhere":
            return try db.fetchAll(
                G.filter { $0.link == Link("https://a/1") && $0.level == .low && $0.maybe == nil && $0.column == JSONColumn(Doc("Rom")) }
            ).count
        case "fetchOne": return try db.fetchOne(G.filter { $0.made > Date(timeIntervalSince1970: 0) }) == nil ? 0 : 1
        case "fetchSet": return try db.fetchSet(G.all).count / 2
        case "cursor":
            var cursor = try db.cursor(G.all), count = 0
            while try cursor.next() != nil { count += 1 }
            return count / 2
        case "count": return try db.count(G.filter { $0.serial.in([Serial(1), Serial(5)]) })
        case "sql": return try db.sql(of: G.filter { $0.link == Link("https://a") }).text.contains("\"link\"") ? 1 : 0
        case "queryPlan": return try db.queryPlan(of: G.filter { $0.serial == Serial(1) }).count
        case "decode":
            var count = 0
            try db.forEach("SELECT * FROM guarded") { row in count += try row.decode(G.self).id == nil ? 0 : 1 }
            return count / 2
        case "raw": return try db.fetchAll(G.self, "SELECT * FROM guarded").count / 2
        case "order": return try db.fetchAll(G.order { $0.serial; $0.link.descending }).count / 2
        case "orderKeys": return try db.fetchAll(G.order(\.level, \.made)).count / 2
        case "select": return try db.fetchAll(G.select { $0.serial }).count / 2
        case "selectAll": return try db.fetchAll(G.all.select { ($0.serial, $0.level, $0.made) }).count / 2
        case "selectCoded": return try db.fetchAll(G.all.select { $0.link }).count / 2 * db.fetchAll(G.all.select { $0.doc }).count / 2
        case "group": return try db.fetchAll(G.group { $0.level }.having { _ in .countAll > 1 }.select { $0.serial.max() }).count
        case "join": return try db.fetchAll(G.join(G.self) { $0.parent == $1.serial }).count / 2
        case "leftJoin": return try db.fetchAll(G.leftJoin(G.self) { $0.serial == $1.parent }).count / 3
        case "rightJoin": return try db.fetchAll(G.all.rightJoin(G.self) { $0.serial == $1.parent }).count / 2
        case "fullJoin": return try db.fetchAll(G.all.fullJoin(G.self) { $0.serial == $1.parent }).count / 3
        case "crossJoin": return try db.fetchAll(G.all.crossJoin(G.self)).count / 4
        case "joinOn": return try db.count(G.join(G.self) { $0.link == $1.link && $0.doc == $1.doc && $0.level == $1.level }) / 2
        case "including": return try db.fetchAll(G.including(many)).map(\.1.count).reduce(0, +) / 2
        case "of": return try db.fetchAll(many.of(known)).count / 2
        case "annotated": return try db.fetchAll(G.annotated(with: { many.of($0).count })).count / 2
        case "with": return try db.fetchAll(G.all.with(G.self, as: G.in(db.main).filter { $0.serial == Serial(1) })).count
        case "withSQL": return try db.fetchAll(G.all.with(G.self, as: "SELECT * FROM main.guarded WHERE id = 1")).count
        case "union": return try db.fetchAll(G.filter { $0.serial == Serial(1) }.union(G.filter { $0.serial == Serial(2) })).count / 2
        case "compare": return try db.count(G.filter { $0.link == $0.link && $0.doc == $0.doc && $0.maybe == nil || $0.level != $0.level }) / 2
        case "in":
            return try db.count(G.filter { $0.link.in([Link("https://a/1")]) && $0.doc.in([Doc("Rom")]) && $0.level.in([.low]) })
        case "inQuery": return try db.count(G.filter { $0.link.in(G.select { $0.link }) && $0.doc.in(G.select { $0.doc }) }) / 2
        case "json": return try db.count(G.filter { $0.doc.json(\.city) == "Rom" && $0.column.json(\.city) == "Rom" }) / 2
        case "distinct": return try db.fetchAll(G.all.distinct()).count / 2
        case "limit": return try db.fetchAll(G.limit(1).offset(0)).count
        case "aliased": return try db.fetchAll(G.all.aliased("g").filter { $0.link == Link("https://a/1") }).count
        case "schema": return try db.fetchAll(G.in(db.main)).count / 2
        case "differences": return try db.main.differences(from: [G.self]).isEmpty ? 1 : 0
        case "region":
            _ = DatabaseRegion(G.self)
            _ = try DatabaseRegion(G.filter { $0.link == Link("https://a") }, in: db)
        case "table": if M.isDescribed { _ = try G.table.createStatements() }
        case "scope":
            let sql: SQL = "SELECT 1, NULL AS sqlcipherkit_part_g, * FROM guarded"
            try db.forEach(sql) { row in _ = try row.scope("g", as: G.self) }
        default: Issue.record("no call \(call)")
        }
        return 1
    }

    private func each<M: Mark>(_ mark: M.Type, _ calls: ArraySlice<String>) throws {
        guard let call = calls.first else { return }
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE guarded(id INTEGER PRIMARY KEY, parent INTEGER, serial INTEGER NOT NULL UNIQUE, link NOT NULL,
                level TEXT NOT NULL, doc NOT NULL, maybe, "column" NOT NULL, made NOT NULL)
            """)
        for n in [1, 2] {
            try db.execute("""
                INSERT INTO guarded(parent, serial, link, level, doc, "column", made) VALUES (1, \(n), \("https://a/\(n)"), 'low',
                    '{"city":"Rom"}', '{"city":"Rom"}', \(Date(timeIntervalSince1970: 1000)))
                """)
        }
        do { #expect(try run(call, Guarded<M>.self, db) == 1, "\(call)") } catch { Issue.record("\(call): \(error)") }
        try each(Next<M>.self, calls.dropFirst())
    }

    @Test func plainRecordsMeetOnlyStoredValues() throws { try each(Plain.self, Self.calls[...]) }

    @Test func describedRecordsMeetOnlyStoredValues() throws { try each(Described.self, Self.calls[...]) }

    /// The list above has all calls of the room.
    @Test func allCallsOfRecordsAreTried() throws {
        let here = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let folder = Repository.file("Sources/SQLCipherKitRecords/Records")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            ["Connection+", "SQLUpsert", "SQLQuery", "RecordFinders"].contains { name.hasPrefix($0) }
        }
        var names: Set<String> = []
        for file in files {
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: /public (?:static )?func `?(\w+)/) { names.insert(String(match.1)) }
        }
        #expect(names.count > 30)
        for name in names where !here.contains(".\(name)(") && !here.contains(".\(name) {") && !name.hasPrefix("_") {
            Issue.record("no record is tried with \(name)")
        }
    }
}
