import Foundation
import SQLCipherKitCore

/// A large database of the usual kinds: long tables, wide tables, many tables, and words.
package enum HonestFile {
    /// - Parameter part: how many times fewer rows, tables and words there are than in the whole one.
    package static func make(_ path: String, part: Int = 1, key: DatabaseKey = .plaintext) throws {
        let db = try Connection(.file(path), key: key)
        try db.transaction { db in
            let numbers = { (count: Int) in "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count / part))" }
            try db.execute(SQLScript("CREATE TABLE long(id INTEGER PRIMARY KEY, x TEXT NOT NULL, n REAL); CREATE INDEX long_x ON long(x)"))
            try db.execute(SQL(raw: "\(numbers(200_000)) INSERT INTO long SELECT i, 'row ' || i || hex(randomblob(20)), i / 3.0 FROM n"))
            let columns = (0..<2000).map { "c\($0)" }
            try db.execute(SQL(raw: "CREATE TABLE wide(\(columns.joined(separator: ",")))"))
            try db.execute(SQL(raw: "\(numbers(200)) INSERT INTO wide SELECT \(columns.map { _ in "i" }.joined(separator: ",")) FROM n"))
            for number in 0..<1000 / part {
                try db.execute(SQLScript("""
                    CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, a TEXT CHECK (a <> ''), b UNIQUE, c AS (b + 1) NOT NULL);
                    CREATE INDEX t\(number)_a ON t\(number)(a) WHERE b > 3; INSERT INTO t\(number)(a, b) VALUES ('x', 1), ('y', 5);
                    CREATE VIEW v\(number) AS SELECT a FROM t\(number);
                    """))
            }
            try db.execute("CREATE VIRTUAL TABLE words USING fts5(x)")
            let word = "'word' || (i * 7919 % 20011)"
            let text = "\(word) || ' common ' || i || ' ' || hex(i * 31) || ' some more words of a sentence '"
            try db.execute(SQL(raw: "\(numbers(100_000)) INSERT INTO words SELECT \(text) FROM n"))
        }
        db.close()
    }
}
