import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Associations by keys of several columns, against joins in SQL, with values of every kind and NULL in any part of a key.
@Suite struct AssociationCompositeTests {
    /// Has a key of two columns. No table has a description.
    struct Maker: SQLPositionalRecord, Hashable {
        var id: Int64
        static let recordColumns = SQLRecordColumns(of: Maker.self, ["id": \.id])
        static let wares = hasMany(Ware.self)
        static let ware = hasOne(Ware.self)
        static let places = hasMany(Place.self, through: Stock.self)
        static let owners = hasMany(Owner.self, through: Stock.self)

        init(columns: inout SQLColumnReader) throws { id = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(id) }
    }

    struct Ware: SQLPositionalRecord, Hashable {
        var id: Int64
        static let recordColumns = SQLRecordColumns(of: Ware.self, ["id": \.id])
        static let maker = belongsTo(Maker.self)

        init(columns: inout SQLColumnReader) throws { id = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(id) }
    }

    /// Links makers, by two columns, with places, by three, and with owners, by one.
    struct Stock: SQLPositionalRecord, Hashable {
        var id: Int64
        static let recordColumns = SQLRecordColumns(of: Stock.self, ["id": \.id])

        init(columns: inout SQLColumnReader) throws { id = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(id) }
    }

    struct Place: SQLPositionalRecord, Hashable {
        var id: Int64
        static let recordColumns = SQLRecordColumns(of: Place.self, ["id": \.id])
        static let makers = hasMany(Maker.self, through: Stock.self)

        init(columns: inout SQLColumnReader) throws { id = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(id) }
    }

    struct Owner: SQLPositionalRecord, Hashable {
        var id: Int64
        static let recordColumns = SQLRecordColumns(of: Owner.self, ["id": \.id])
        static let makers = hasMany(Maker.self, through: Stock.self)

        init(columns: inout SQLColumnReader) throws { id = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(id) }
    }

    private static let values = [
        "NULL", "1", "2", "1.0", "1.5", "9e999", "'1'", "''", "'a'", "'a' || char(0) || 'b'", "'a' || char(0)",
        "x''", "x'31'", "x'61'",
    ]

    private func filled(_ seed: UInt64, _ type: String) throws -> Connection {
        var random = SeededGenerator(state: seed)
        let db = try Connection(.memory)
        // Rows that refer to nothing are rows, too.
        try db.execute("PRAGMA foreign_keys = OFF")
        try db.execute(SQLScript("""
            CREATE TABLE maker(id INTEGER PRIMARY KEY, a \(type), b, UNIQUE(a, b));
            CREATE TABLE ware(id INTEGER PRIMARY KEY, mb, ma \(type), FOREIGN KEY(mb, ma) REFERENCES maker(b, a));
            CREATE TABLE place(id INTEGER PRIMARY KEY, x, y \(type), z, UNIQUE(x, y, z));
            CREATE TABLE owner(id INTEGER PRIMARY KEY);
            CREATE TABLE stock(id INTEGER PRIMARY KEY, ma \(type), mb, px, py \(type), pz, owner REFERENCES owner(id),
                FOREIGN KEY(ma, mb) REFERENCES maker(a, b), FOREIGN KEY(px, py, pz) REFERENCES place(x, y, z));
            """))
        func value() -> String { Self.values.prefix(seed % 2 == 0 ? 6 : 14).randomElement(using: &random) ?? "NULL" }
        for id in 1...40 {
            try db.execute(SQL(raw: "INSERT OR IGNORE INTO maker VALUES (\(id), \(value()), \(value()))"))
            try db.execute(SQL(raw: "INSERT INTO ware VALUES (\(id), \(value()), \(value()))"))
            try db.execute(SQL(raw: "INSERT OR IGNORE INTO place VALUES (\(id), \(value()), \(value()), \(value()))"))
            if id < 5 { try db.execute(SQL(raw: "INSERT INTO owner VALUES (\(id))")) }
        }
        for _ in 1...60 {
            // Most of the links lead from and to a row.
            func key(_ columns: String, _ table: String) -> [String] {
                if Int.random(in: 0..<4, using: &random) == 0 { return columns.split(separator: ",").map { _ in value() } }
                let row = Int.random(in: 1...40, using: &random)
                return columns.split(separator: ",").map { "(SELECT \($0) FROM \(table) WHERE id = \(row))" }
            }
            let list = key("a,b", "maker") + key("x,y,z", "place") + ["\(Int.random(in: 1...5, using: &random))"]
            try db.execute(SQL(raw: "INSERT INTO stock VALUES (NULL, \(list.joined(separator: ", ")))"))
        }
        return db
    }

    /// For each row of a table, the associated ids in order.
    private func expected(_ db: Connection, _ near: String, _ rest: String) throws -> [[Int64]] {
        let sql = "SELECT DISTINCT \(near).id, far.id FROM \(near) LEFT JOIN \(rest) ORDER BY 1, 2"
        let pairs: [(Int64, Int64?)] = try db.fetchAll(SQL(raw: sql))
        var (ids, lists): ([Int64], [[Int64]]) = ([], [])
        for (id, far) in pairs {
            if ids.last != id {
                ids.append(id)
                lists.append([])
            }
            if let far { lists[lists.count - 1].append(far) }
        }
        return lists
    }

    @Test(arguments: 0..<8 as Range<UInt64>, ["", "TEXT", "INTEGER"])
    func compositeKeyAssociationsMatchSQLJoins(seed: UInt64, type: String) throws {
        let db = try filled(seed, type)
        let wares = try expected(db, "maker", "ware AS far ON far.ma = maker.a AND far.mb = maker.b")
        let makers = try expected(db, "ware", "maker AS far ON ware.ma = far.a AND ware.mb = far.b")
        let links = "stock ON stock.ma = maker.a AND stock.mb = maker.b"
        let places = try expected(db, "maker", "\(links) LEFT JOIN place AS far ON (px, py, pz) = (far.x, far.y, far.z)")
        let owners = try expected(db, "maker", "\(links) LEFT JOIN owner AS far ON stock.owner = far.id")
        #expect([wares, makers, places, owners].allSatisfy { $0.contains { !$0.isEmpty } && $0.contains { $0.isEmpty } })

        let rows = try db.fetchAll(Maker.order { $0.id }.including(
            Maker.wares.order { $0.id }, Maker.ware.order { $0.id.descending }, Maker.places.order { $0.id },
            Maker.owners.order { $0.id }))
        #expect(rows.map { $0.1.map(\.id) } == wares)
        #expect(rows.map { $0.2?.id } == wares.map(\.last))
        #expect(rows.map { $0.3.map(\.id) } == places)
        #expect(rows.map { $0.4.map(\.id) } == owners)
        #expect(try db.fetchAll(Ware.order { $0.id }.including(Ware.maker)).map { $0.1.map { [$0.id] } ?? [] } == makers)
        let back = try db.fetchAll(Place.order { $0.id }.including(Place.makers.order { $0.id }))
        #expect(try back.map { $0.1.map(\.id) } == expected(
            db, "place", "stock ON (px, py, pz) = (x, y, z) LEFT JOIN maker AS far ON stock.ma = far.a AND stock.mb = far.b"))

        // Conditions, an order and a limit for each record, and associations of the associated records.
        let some = Maker.wares.filter { $0.id > 5 }.order { $0.id.descending }.limit(2, offset: 1).including(Ware.maker)
        for ((maker, found), all) in zip(try db.fetchAll(Maker.order { $0.id }.including(some)), wares) {
            #expect(found.map(\.0.id) == Array(all.filter { $0 > 5 }.reversed().dropFirst().prefix(2)))
            #expect(found.allSatisfy { $0.1 == maker })
        }
        let deep = Owner.makers.order { $0.id }.including(Maker.wares.order { $0.id }, Maker.places.order { $0.id })
        let ids = try db.fetchAll(Int64.self, "SELECT id FROM maker ORDER BY id")
        for (_, found) in try db.fetchAll(Owner.order { $0.id }.including(deep)) {
            for (maker, itsWares, itsPlaces) in found {
                let index = try #require(ids.firstIndex(of: maker.id))
                #expect(itsWares.map(\.id) == wares[index] && itsPlaces.map(\.id) == places[index])
            }
        }
    }

    struct Film: SQLRecord, Hashable {
        var title: String
        var year: Int64
        static let table = SQLTable(of: Film.self) {
            $0.title
            $0.year
            SQLConstraint.primaryKey($0.title, $0.year)
        }
        static let showings = hasMany(Showing.self, by: \.title)
        static let remakes = hasMany(Showing.self, by: \.oldTitle)
    }

    struct Showing: SQLRecord, Hashable {
        var id: Int64?
        var title: String?
        var year: Int64?
        var oldTitle: String?
        var oldYear: Int64?
        static let table = SQLTable(of: Showing.self) {
            $0.id.primaryKey()
            $0.title
            $0.year
            $0.oldTitle
            $0.oldYear
            SQLConstraint.foreignKey(SQLForeignKey(["title", "year"], references: "film"))
            SQLConstraint.foreignKey(SQLForeignKey(["oldTitle", "oldYear"], references: "film", ["title", "year"]))
            SQLIndex("showing_film", on: [$0.title, $0.year])
        }
        static let film = belongsTo(Film.self, by: \.year)
        static let any = belongsTo(Film.self)
    }

    @Test func compositeKeyAssociationUsesOneIndexedStatement() throws {
        let db = try Connection(.memory)
        try db.create(Film.table)
        try db.create(Showing.table)
        try db.insertAll((0..<5000).map { Film(title: "f\($0 % 100)", year: Int64($0 / 100)) })
        try db.insertAll(
            (0..<300).map { Showing(id: $0, title: "f\($0 % 7)", year: $0 % 3, oldTitle: "f1", oldYear: $0 % 2 == 0 ? nil : 2) })
        let query = Film.order { $0.title; $0.year }.including(Film.showings.order { $0.id }, Film.remakes)
        let one = try db.statements { _ = try db.fetchAll(query.filter { $0.title == "f1" && $0.year == 1 }) }
        var rows: [(Film, [Showing], [Showing])] = []
        let all = try db.statements { rows = try db.fetchAll(query) }
        #expect(all.count == 3 && all.dropFirst() == one.dropFirst())
        #expect(rows.count == 5000 && rows.map(\.1.count).reduce(0, +) == 300)
        #expect(rows.filter { !$0.2.isEmpty }.map { [$0.0.title, "\($0.0.year)", "\($0.2.count)"] } == [["f1", "2", "150"]])
        #expect(rows.allSatisfy { row in row.1.allSatisfy { $0.title == row.0.title && $0.year == row.0.year } })
        #expect(try db.statements { rows = try db.fetchAll(query.filter { $0.title == "" }) }.count == 3 && rows.isEmpty)

        func plan(_ statement: String?) throws -> String {
            let text = try #require(statement)
            let values = StatementArguments([SQLValue](repeating: .null, count: text.count(where: { $0 == "?" })))
            return try db.fetchAll(OwnedRow.self, SQL(raw: "EXPLAIN QUERY PLAN \(text)", values))
                .map { try $0["detail"] as String }.joined(separator: "\n")
        }
        let showings = try plan(all[1])
        #expect(showings.contains("SEARCH showing USING INDEX showing_film (title=? AND year=?)"))
        var films: [(Showing, Film?)] = []
        let found = try db.statements { films = try db.fetchAll(Showing.including(Showing.film)) }
        #expect(found.count == 2 && films.allSatisfy { $0.1?.year == $0.0.year && $0.1?.title == $0.0.title })
        let search = try plan(found[1])
        #expect(search.contains("SEARCH film USING") && search.contains("(title=? AND year=?)"))
        let several = #expect(throws: DatabaseError.self) { try db.fetchAll(Showing.including(Showing.any)) }
        #expect(several?.message.contains("showing(title, year) to film; showing(oldTitle, oldYear) to film") == true)
    }
}
