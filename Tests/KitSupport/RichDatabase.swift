import Foundation
import SQLCipherKitCore

/// A database with one of everything that a copy could lose.
package enum RichDatabase {
    package static func fill(_ db: Connection, rows: Int = 300) throws {
        try db.execute(SQLScript("""
            PRAGMA user_version = 77; PRAGMA application_id = 1234567;
            CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL CHECK (title <> ''), body BLOB, n REAL,
                doubled GENERATED ALWAYS AS (n * 2) STORED, halved GENERATED ALWAYS AS (n / 2) VIRTUAL);
            CREATE TABLE no_key(x);
            CREATE TABLE hidden(rowid TEXT, _rowid_ TEXT, x);
            CREATE TABLE pair(a TEXT, b INTEGER, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
            CREATE TABLE strict_one(a INT, b ANY) STRICT;
            CREATE TABLE "odd ""name'"("col ""umn" TEXT DEFAULT 'it''s');
            CREATE TABLE child(id INTEGER PRIMARY KEY, note INTEGER REFERENCES note(id) ON DELETE CASCADE);
            CREATE TABLE log(what TEXT);
            CREATE INDEX note_title ON note(title COLLATE NOCASE DESC) WHERE n > 3;
            CREATE UNIQUE INDEX note_expression ON note(id + 1, title);
            CREATE VIEW titles AS SELECT id, title FROM note;
            CREATE TRIGGER note_added AFTER INSERT ON note BEGIN INSERT INTO log VALUES (new.title); END;
            CREATE TRIGGER title_changed INSTEAD OF UPDATE ON titles BEGIN UPDATE note SET title = new.title WHERE id = old.id; END;
            CREATE VIRTUAL TABLE search USING fts5(title, content='note', content_rowid='id', tokenize='porter unicode61');
            CREATE VIRTUAL TABLE own USING fts5(x);
            CREATE VIRTUAL TABLE area USING rtree(id, x0, x1);
            """))
        try db.transaction { db in
            for number in 0..<rows {
                try db.execute("INSERT INTO note(title, body, n) VALUES (\("title \(number) z\0ero"), \(Data(repeating: UInt8(number % 256), count: number * 7)), \(Double(number) / 3))")
                try db.execute("INSERT INTO no_key(rowid, x) VALUES (\(number * 5 + 3), \("row \(number)"))")
                try db.execute("INSERT INTO pair VALUES (\("a\(number)"), \(number % 7), \(number))")
                try db.execute("INSERT INTO own VALUES (\("word\(number) common"))")
                try db.execute("INSERT INTO area VALUES (\(number), \(number), \(number + 2))")
            }
            try db.execute("INSERT INTO search(search) VALUES ('rebuild')")
            try db.execute("INSERT INTO hidden VALUES ('r', NULL, 1e300)")
            try db.execute("INSERT INTO strict_one VALUES (1, x'00ff')")
            try db.execute("INSERT INTO \"odd \"\"name'\" DEFAULT VALUES")
            try db.execute("INSERT INTO child VALUES (1, 2)")
            try db.execute("DELETE FROM note WHERE id > \(rows - 10)")
            try db.execute("DELETE FROM no_key WHERE x LIKE '%7'")
        }
        try db.execute("ANALYZE")
    }

    /// All that can be told about the content, the same for a true copy.
    package static func summary(_ db: Connection) throws -> [String] {
        var lines: [String] = []
        for pragma in ["user_version", "application_id", "auto_vacuum", "encoding", "integrity_check", "foreign_key_check"] {
            lines += try db.fetchAll(OwnedRow.self, SQL(raw: "PRAGMA \(pragma)")).map { "\(pragma) \($0.values.shown)" }
        }
        for query in [
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2", "SELECT *, hex(title) FROM note", "SELECT rowid, * FROM no_key",
            "SELECT oid, * FROM hidden", "SELECT * FROM pair", "SELECT * FROM strict_one", "SELECT * FROM \"odd \"\"name'\"", "SELECT * FROM child",
            "SELECT count(*) FROM log", "SELECT * FROM sqlite_sequence", "SELECT * FROM sqlite_stat1", "SELECT rowid FROM search WHERE search MATCH 'title'",
            "SELECT rowid FROM own WHERE own MATCH 'word11 OR common'", "SELECT id FROM area WHERE x0 > 100", "SELECT count(*) FROM titles",
        ] {
            lines += try db.fetchAll(OwnedRow.self, SQL(raw: query)).map { "\(query): \($0.values.shown)" }
        }
        return lines
    }
}
