import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import SQLCipherKitSearch

/// A database with a word of its own in each kind of table and index, which is then deleted, beside others that stay.
enum MarkedDatabase {
    static let fullText: [(name: String, options: String)] = [
        ("own", ""), ("prefixed", ", prefix='2 4'"), ("columns", ", detail=column"), ("rows", ", detail=none"),
        ("trigrams", ", tokenize='trigram'"), ("stems", ", tokenize='porter'"), ("sizeless", ", columnsize=0"), ("secured", ""),
        ("contentless", ", content=''"), ("deletable", ", content='', contentless_delete=1"),
        ("unindexed", ", content='', contentless_delete=1, contentless_unindexed=1"),
        ("told", ", content='plain', content_rowid='id'"),
    ]

    static let names = fullText.map(\.name) + [
        "rowid", "overflow", "pair", "nokey", "indexed", "expression", "partial", "generated", "tree", "sampled", "synced",
        "mapped", "older", "stored", "json",
    ]

    /// No other word contains it, and no other word begins with as much of it.
    static func mark(_ name: String) -> String { "zq\(name)gone" }
    static var marks: [String] { names.map(mark) }
    /// A coordinate of a deleted entry of an R-Tree, as it is stored.
    static let coordinate = Data(withUnsafeBytes(of: Float(12_345.6875).bitPattern.bigEndian, Array.init))

    static func fill(_ db: Connection) throws {
        try db.execute(SQLScript("""
            CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT, big TEXT);
            CREATE INDEX a_x ON a(x);
            CREATE INDEX a_expression ON a(substr(x, 1, 60) || '!');
            CREATE INDEX a_partial ON a(x) WHERE id % 2 = 0;
            CREATE TABLE pair(k TEXT, n INTEGER, v, PRIMARY KEY (k, n)) WITHOUT ROWID;
            CREATE TABLE nokey(x);
            CREATE TABLE made(x TEXT, y GENERATED ALWAYS AS ('<' || x || '>') STORED, z GENERATED ALWAYS AS (x || x) VIRTUAL);
            CREATE INDEX made_z ON made(z);
            CREATE TABLE plain(id INTEGER PRIMARY KEY, x TEXT);
            CREATE TABLE synced(id INTEGER PRIMARY KEY, x TEXT);
            CREATE TABLE mapped(k TEXT PRIMARY KEY, x TEXT);
            CREATE VIRTUAL TABLE tree USING rtree(id, x0, x1, +label TEXT);
            CREATE VIRTUAL TABLE older USING fts4(x);
            """))
        for (name, options) in fullText {
            let columns = name == "unindexed" ? "x, extra UNINDEXED" : "x"
            try db.execute(SQL(raw: "CREATE VIRTUAL TABLE \(name) USING fts5(\(columns)\(options))"))
        }
        try db.fullText("secured").configure(.secureDelete(true))
        try db.create(FTS5Table("synced_index", columns: ["x"], content: .external(table: "synced")))
        try db.create(FTS5Table("mapped_index", columns: ["x"], content: .external(table: "mapped")))
        try insert(db, 1..<40) { "kept \($0) \(["amber", "birch", "cedar"][$0 % 3]) \($1)\($0)" }
        try insert(db, 40..<60) { "\(mark($1)) \($0) amber" }
        try insert(db, 60..<100) { "kept \($0) \(["amber", "birch", "cedar"][$0 % 3]) \($1)\($0)" }
        try db.execute("ANALYZE")
    }

    private static func insert(_ db: Connection, _ numbers: Range<Int>, _ text: (Int, String) -> String) throws {
        let store = try KeyValueStore("k", in: db)
        for number in numbers {
            // Several segments of each full-text index.
            try db.transaction { db in
                for (name, _) in fullText {
                    try db.execute("INSERT INTO \(identifier: name)(rowid, x) VALUES (\(number), \(text(number, name)))")
                }
                let big = String(repeating: text(number, "overflow") + " ", count: 400)
                let x = ["rowid", "indexed", "expression", "partial", "sampled"].map { text(number, $0) }.joined(separator: " ")
                try db.execute("INSERT INTO a VALUES (\(number), \(x), \(big))")
                try db.execute("INSERT INTO pair VALUES (\(text(number, "pair")), \(number), 1)")
                try db.execute("INSERT INTO nokey(rowid, x) VALUES (\(number * 7), \(text(number, "nokey")))")
                try db.execute("INSERT INTO made(x) VALUES (\(text(number, "generated")))")
                try db.execute("INSERT INTO plain VALUES (\(number), \(text(number, "told")))")
                try db.execute("INSERT INTO synced VALUES (\(number), \(text(number, "synced")))")
                try db.execute("INSERT INTO mapped VALUES (\("k\(number)"), \(text(number, "mapped")))")
                try db.execute("INSERT INTO older(docid, x) VALUES (\(number), \(text(number, "older")))")
                let side = (40..<60).contains(number) ? 12_345.6875 : Double(number)
                try db.execute("INSERT INTO tree VALUES (\(number), \(side), \(side), \(text(number, "tree")))")
                try store.set("key\(number) \(text(number, "stored"))", to: text(number, "json"))
            }
        }
    }

    static func deleteMarked(_ db: Connection) throws {
        let store = try KeyValueStore("k", in: db)
        for number in 40..<60 {
            try db.transaction { db in
                for (name, options) in fullText {
                    if options.contains("content=") && !options.contains("contentless_delete") {
                        let text = "\(mark(name)) \(number) amber"
                        try db.execute("""
                            INSERT INTO \(identifier: name)(\(identifier: name), rowid, x) VALUES ('delete', \(number), \(text))
                            """)
                    } else {
                        try db.execute("DELETE FROM \(identifier: name) WHERE rowid = \(number)")
                    }
                }
                for table in ["a", "plain", "synced", "tree"] {
                    try db.execute("DELETE FROM \(identifier: table) WHERE id = \(number)")
                }
                try db.execute("DELETE FROM pair WHERE n = \(number)")
                try db.execute("DELETE FROM nokey WHERE rowid = \(number * 7)")
                try db.execute("DELETE FROM mapped WHERE k = \("k\(number)")")
                try db.execute("DELETE FROM older WHERE docid = \(number)")
                _ = try store.remove("key\(number) \(mark("stored")) \(number) amber")
            }
        }
        try db.execute("DELETE FROM made WHERE x LIKE 'zq%'")
    }

    /// The content that is left, in every table.
    static func content(_ db: Connection) throws -> [String] {
        var lines = try db.fetchAll(String.self, "PRAGMA integrity_check")
        lines += try db.fetchAll(String.self, "SELECT x || big FROM a")
        for table in ["pair", "nokey", "made", "plain", "synced", "mapped", "tree", "older"] {
            let rowID = ["pair"].contains(table) ? "k" : "rowid"
            lines += try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT \(rowID), * FROM \(table)")).map { "\(table) \($0.values.shown)" }
        }
        for (name, _) in fullText {
            lines.append("\(name) \(try db.fetchAll(Int.self, "SELECT rowid FROM \(identifier: name)('amber')"))")
        }
        for name in ["synced_index", "mapped_index"] {
            lines.append("\(name) \(try db.fullText(name).search(FTS5Query.phrase("birch")).hits.map(\.rowID))")
        }
        return lines
    }
}
