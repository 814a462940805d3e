import KitSupport
import SQLCipherKitCore
import TestSupport

/// Tables whose keys have several spellings each, and statements that use all of them.
enum KeyedTables {
    static let names = ["word", "trim", "moment", "untyped", "both"]

    static let schema = """
        CREATE TABLE word(k TEXT COLLATE NOCASE PRIMARY KEY, v);
        CREATE TABLE trim(k TEXT COLLATE RTRIM PRIMARY KEY, v) WITHOUT ROWID;
        CREATE TABLE moment(k REAL PRIMARY KEY, v);
        CREATE TABLE untyped(k PRIMARY KEY, v);
        CREATE TABLE both(k NUMERIC, l COLLATE NOCASE, PRIMARY KEY (l, k));

        """

    static func key(_ table: String, _ random: inout SeededGenerator) -> SQLValue {
        func one(_ values: [SQLValue]) -> SQLValue { values.randomElement(using: &random) ?? .null }
        switch table {
        case "word": return one(["a", "A", "ab", "Ab", "aB", "é", "É", "a\0b", "A\0c", "", 1])
        case "trim": return one(["a", "a ", "a  ", " a", "", " ", "A", "b\0", "b\0 "])
        case "moment": return one([1, 1.0, "1", 1.5, -0.0, 0, 1_700_000_000.0, 1_700_000_000, 9.3e18])
        case "untyped": return one([1, 1.0, "1", "1.0", 0, -0.0, 2.5, .blob(.init([49])), "a", "A", 9_007_199_254_740_993, 9_007_199_254_740_992.0])
        default: return one([1, 1.0, "1", "x", 2.5])
        }
    }

    static func statement(_ random: inout SeededGenerator) -> SQL {
        let table = names.randomElement(using: &random) ?? "word"
        let k = key(table, &random), other = key(table, &random), v = Int.random(in: 0..<9, using: &random)
        let how = Bool.random(using: &random) ? "OR REPLACE" : "OR IGNORE"
        if table == "both" {
            let l = ["p", "P", "q", "Q"].randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1: return "INSERT \(raw: how) INTO both VALUES (\(k), \(l))"
            case 2: return "DELETE FROM both WHERE k = \(k) AND l = \(l)"
            default: return "UPDATE \(raw: how) both SET k = \(k), l = \(l) WHERE k = \(other)"
            }
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1, 2: return "INSERT \(raw: how) INTO \(raw: table) VALUES (\(k), \(v))"
        case 3: return "UPDATE \(raw: table) SET v = \(v) WHERE k = \(k)"
        case 4: return "UPDATE \(raw: how) \(raw: table) SET k = \(k) WHERE k = \(other)"
        default: return "DELETE FROM \(raw: table) WHERE k = \(k)"
        }
    }

    /// All rows, with the spelling of each key.
    static func rows(_ db: Connection, schema: String = "main") throws -> [String] {
        try names.flatMap { table in
            try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(schema).\(table)")).map { "\(table) \($0.values.shown)" }.sorted()
        }
    }
}
