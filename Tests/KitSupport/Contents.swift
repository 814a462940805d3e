import Foundation
import SQLCipherKitCore
import TestSupport

/// Everything in a database, row by row and byte by byte.
package enum Contents {
    package static func of(_ db: Connection, schema: String = "main") throws -> [String] {
        let name = schema.quotedSQLIdentifier
        var lines: [String] = []
        for pragma in ["user_version", "application_id"] {
            lines.append("\(pragma) \(try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(name).\(pragma)")) ?? 0)")
        }
        let objects: [(String, String, String, Int, String?)] = try db.fetchAll(
            SQL(raw: "SELECT type, name, tbl_name, coalesce(rootpage, 0) > 0, sql FROM \(name).sqlite_schema ORDER BY type, name"))
        for object in objects {
            lines.append("\(object)")
            guard object.0 == "table", object.3 == 1 else { continue }
            let columns = try db.fetchAll(String.self, SQL(raw: "SELECT name FROM pragma_table_xinfo(?, ?)", [object.1, schema]))
            let isWithoutRowID = try db.fetchOne(
                Int.self, SQL(raw: "SELECT wr FROM pragma_table_list WHERE name = ? AND schema = ?", [object.1, schema])) == 1
            var values = columns.map(\.quotedSQLIdentifier).flatMap { ["typeof(\($0))", "CASE WHEN typeof(\($0)) IN ('text', 'blob') THEN hex(\($0)) ELSE \($0) END"] }
            if !isWithoutRowID, let rowID = ["rowid", "oid"].first(where: { id in !columns.contains { $0.lowercased() == id } }) { values.insert(rowID, at: 0) }
            let rows = try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(values.joined(separator: ", ")) FROM \(name).\(object.1.quotedSQLIdentifier)"))
            lines += rows.map { "\(object.1) \($0.values.shown)" }.sorted()
        }
        return lines
    }
}

/// Tables of all kinds, and values of all kinds in them.
package enum OddTables {
    package static let tables = ["plain", "keyed", "named", "pair", "nocase", "generated", "hidden", "strict_one", "child"]

    package static func make(_ db: Connection) throws {
        try db.execute(SQLScript("""
            CREATE TABLE plain(a, b TEXT, c REAL);
            CREATE TABLE keyed(id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE, b);
            CREATE TABLE named(name TEXT PRIMARY KEY, a, b);
            CREATE TABLE pair(a TEXT, b INTEGER, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
            CREATE TABLE nocase(name TEXT COLLATE NOCASE PRIMARY KEY, a) WITHOUT ROWID;
            CREATE TABLE generated(a, doubled GENERATED ALWAYS AS (a || a) STORED, b, half GENERATED ALWAYS AS (b / 2), id INTEGER PRIMARY KEY);
            CREATE TABLE hidden(rowid TEXT, _rowid_ TEXT, oid, x);
            CREATE TABLE strict_one(id INT PRIMARY KEY, x ANY) STRICT;
            CREATE TABLE child(id INTEGER PRIMARY KEY, named TEXT REFERENCES named(name) ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE TABLE log(what);
            CREATE UNIQUE INDEX plain_a ON plain(a) WHERE typeof(a) = 'blob';
            CREATE TRIGGER named_gone AFTER DELETE ON named BEGIN INSERT INTO log VALUES (old.name); END;
            CREATE TRIGGER plain_new AFTER INSERT ON plain BEGIN INSERT INTO log VALUES (new.a); END;
            CREATE VIRTUAL TABLE words USING fts5(x, y);
            """))
    }

    package static func value(_ random: inout SeededGenerator) -> SQLValue {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return .null
        case 1: return .integer([.min, .max, 0, -1].randomElement(using: &random) ?? 0)
        case 2, 3: return .integer(Int64.random(in: 0..<50, using: &random))
        case 4: return .real([.infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1, -.leastNormalMagnitude / 64, 123_456_789_012_345_680].randomElement(using: &random) ?? 0)
        case 5: return .real(Double(bitPattern: UInt64.random(in: 0x3000_0000_0000_0000...0x4fff_ffff_ffff_ffff, using: &random)))
        case 6: return .blob(Data((0..<Int.random(in: 0..<20, using: &random)).map { UInt8(truncatingIfNeeded: $0 * 37) }))
        case 7: return .text(["", "it's", "a\0b\0", "\0", "é🗝️\n; --", "12", "1e5"].randomElement(using: &random) ?? "")
        default: return .text("word\(Int.random(in: 0..<40, using: &random))")
        }
    }

    /// Some hundred changes of every kind, without changes that a constraint forbids.
    package static func change(_ db: Connection, _ random: inout SeededGenerator, count: Int, tables: [String] = OddTables.tables + ["words"]) throws {
        try db.transaction { db in
            for _ in 0..<count {
                let table = tables.randomElement(using: &random) ?? "plain"
                let columns = table == "words" ? ["x", "y"] : try db.fetchAll(String.self, "SELECT name FROM pragma_table_xinfo(\(table)) WHERE hidden = 0")
                let marks = columns.map { _ in "?" }.joined(separator: ", ")
                let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
                let some = columns.randomElement(using: &random) ?? "a"
                do {
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0...2:
                        // The highest of all keys would leave AUTOINCREMENT no other.
                        let values = columns.map { $0 == "id" ? .integer(Int64.random(in: -9..<60, using: &random)) : value(&random) }
                        try db.execute(SQL(raw: "INSERT OR REPLACE INTO \(table)(\(names)) VALUES (\(marks))", StatementArguments(values)))
                    case 3, 4:
                        try db.execute(
                            SQL(raw: "UPDATE \(table) SET \(some.quotedSQLIdentifier) = ? WHERE \(columns[0].quotedSQLIdentifier) IN (SELECT \(columns[0].quotedSQLIdentifier) FROM \(table) ORDER BY 1 LIMIT 2 OFFSET ?)",
                                [some == "id" ? .integer(Int64.random(in: 0..<60, using: &random)) : value(&random), Int.random(in: 0..<30, using: &random)]))
                    default:
                        try db.execute(SQL(raw: "DELETE FROM \(table) WHERE \(columns[0].quotedSQLIdentifier) IS ?", [value(&random)]))
                    }
                } catch let error as DatabaseError where [.constraint, .mismatch, .full].contains(error.code.primary) {}
            }
        }
    }
}
