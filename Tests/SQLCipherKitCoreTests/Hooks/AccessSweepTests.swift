import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Queries of all forms that try to read what a restricted access hides, on two databases that differ in that alone. What comes
/// out is the same for both, and never holds the secret.
@Suite struct AccessSweepTests {
    /// 1,000 forms for each way to hide columns, 50,000 with `SQLCIPHERKIT_LONG_TESTS`.
    @Test(arguments: [false, true])
    func restrictedQueriesRevealNoHiddenColumnOrTable(_ hidesColumns: Bool) throws {
        let first = try HiddenDatabase.open(secret: "SECRETa"), second = try HiddenDatabase.open(secret: "SECRETz")
        let unrestricted = try HiddenDatabase.open(secret: "SECRETa")
        for db in [first, second] { try db.settings.setPermissions(HiddenDatabase.access(hidesColumns)) }
        var forms = QueryForms(seed: LongTests.areOn ? UInt64(Date().timeIntervalSince1970) / 86_400 : hidesColumns ? 2 : 1)
        let count = LongTests.areOn ? 50_000 : 1_000
        var answered = 0, refused = 0, reaching = 0
        for number in 0..<count {
            let sql = forms.next()
            let a = Outcome(first, sql), b = Outcome(second, sql)
            #expect(a == b, "\(sql)\n\(a)\n\(b)")
            #expect(!a.text.contains("MARK"), "\(sql)\n\(a)")
            if a.rows != nil { answered += 1 } else if a.isRefusal { refused += 1 }
            // Shows that the forms do try: without the restriction many of them get there.
            if number % 10 == 0, Outcome(unrestricted, sql).text.contains("MARK") { reaching += 10 }
        }
        #expect(answered > count / 20 && refused > count / 5 && reaching > count / 20, "\(answered) answered, \(refused) refused, \(reaching) reach")
        print("access: \(count) forms, \(answered) answered, \(refused) refused; about \(reaching) reach the secret without a restriction")
        for db in [first, second] { try db.settings.setPermissions(nil) }
        #expect(try first.fetchOne(Int.self, "SELECT count(*) FROM hidden WHERE secret LIKE 'SECRETa%'") == 4)
    }

    private struct Outcome: Equatable, CustomStringConvertible {
        var rows: [[SQLValue]]?
        var error = ""
        var isRefusal = false

        init(_ db: Connection, _ sql: String) {
            // EXPLAIN tells where things are in memory.
            let isExplained = sql.hasPrefix("EXPLAIN ")
            do {
                rows = try db.prepare(SQL(raw: sql)).fetchAll(OwnedRow.self).map(\.values)
                if isExplained { rows = rows?.map { $0.map { if case .text(let text) = $0 { .text(text.replacing(/:[0-9A-Fx]+/, with: "")) } else { $0 } } } }
            } catch {
                self.error = "\((error as? DatabaseError)?.message ?? "\(error)")"
                isRefusal = (error as? DatabaseError).map { .authorization ~= $0.code } ?? false
            }
        }

        /// The content, blobs and hexadecimal digits as text as well.
        var text: String {
            var text = error
            for case let value in (rows ?? []).joined() {
                switch value {
                case .text(let value): text += " " + value
                case .blob(let bytes): text += " " + String(decoding: bytes, as: UTF8.self)
                default: break
                }
            }
            return text.contains("4D41524B") ? text + " MARK" : text
        }

        var description: String { rows.map { "\($0)" } ?? error }
    }
}

/// Databases with tables, columns and rows that are hidden, made in the same order whatever the secret.
enum HiddenDatabase {
    static func access(_ hidesColumns: Bool) -> SQLPermissions {
        var access = SQLPermissions.readOnly
        access.tables = [
            "note": .columns(["id", "title", "n", "doubled"]), "pair": .columns(["a", "b", "c"]), "person": .columns(["name", "age"]), "tag": .all,
            "titles": .all, "open_fts": .all, "note_fts": .all,
        ]
        access.hidesColumns = hidesColumns
        return access
    }

    static func open(secret: String) throws -> Connection {
        let db = try Connection(.memory)
        try db.attach(.memory, as: "vault", key: nil)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, secret TEXT, n INT, hidden_n INT,
                doubled GENERATED ALWAYS AS (n * 2) VIRTUAL, leaked GENERATED ALWAYS AS (secret || '!') STORED, CHECK (secret <> ''));
            CREATE TABLE tag(id INTEGER PRIMARY KEY, note INT, name TEXT);
            CREATE TABLE pair(a TEXT, b INT, secret TEXT, c, PRIMARY KEY (a, b)) WITHOUT ROWID;
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INT, secret TEXT UNIQUE);
            CREATE TABLE hidden(id INTEGER PRIMARY KEY, secret TEXT, title TEXT, n INT, name TEXT);
            CREATE TABLE sealed(secret TEXT PRIMARY KEY, x) WITHOUT ROWID;
            CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, secret TEXT);
            CREATE TABLE vault.safe(id INTEGER PRIMARY KEY, secret TEXT, title TEXT);
            CREATE TEMP TABLE scratch(id, secret, title);
            CREATE INDEX note_title ON note(title, secret);
            CREATE INDEX note_secret ON note(secret, title);
            CREATE INDEX note_n ON note(n);
            CREATE INDEX note_lower ON note(lower(secret));
            CREATE INDEX pair_c ON pair(c);
            CREATE INDEX tag_name ON tag(name);
            CREATE INDEX tag_note ON tag(note) WHERE name > 'a';
            CREATE INDEX hidden_secret ON hidden(secret);
            CREATE VIEW titles AS SELECT id, title FROM note;
            CREATE VIEW leak AS SELECT id, secret, title FROM note;
            CREATE VIEW hidden_view AS SELECT id, secret, title FROM hidden;
            CREATE VIEW coalesced AS SELECT secret FROM note FULL JOIN hidden USING (secret);
            CREATE VIRTUAL TABLE open_fts USING fts5(title, body);
            CREATE VIRTUAL TABLE secret_fts USING fts5(title, secret);
            CREATE VIRTUAL TABLE secret_words USING fts5vocab(secret_fts, row);
            CREATE VIRTUAL TABLE old_fts USING fts4(title, secret);
            CREATE VIRTUAL TABLE box USING rtree(id, x0, x1, +secret);
            CREATE VIRTUAL TABLE note_fts USING fts5(title, content='note', content_rowid='id');
            CREATE TRIGGER note_new INSTEAD OF INSERT ON titles BEGIN SELECT raise(ABORT, 'no') FROM hidden; END;
            """))
        // Other values, in another order, and other numbers of rows in hidden tables.
        let isLater = secret.hasSuffix("z")
        // The first can be guessed, by a join for instance; the others have a mark that no statement has.
        func mark(_ number: Int) -> String { number == 1 ? "\(secret)1" : "\(secret)\(number)~MARK" }
        try db.transaction { db in
            for number in 1...6 {
                let hidden = mark(isLater ? 9 - number : number)
                try db.execute("INSERT INTO note(id, title, secret, n, hidden_n) VALUES (\(number), \("title \(number / 2)"), \(hidden), \(number % 3), \(isLater ? -number : number))")
                try db.execute("INSERT INTO tag VALUES (\(number), \(number % 4 + 1), \("tag \(number % 3)"))")
                try db.execute("INSERT INTO pair VALUES (\("a\(number % 2)"), \(number), \(hidden), \(number % 2))")
                try db.execute("INSERT INTO person VALUES (\(isLater ? number * 7 : number), \("name \(number)"), \(number % 3), \(hidden))")
                try db.execute("INSERT INTO open_fts VALUES (\("title \(number)"), 'body text')")
            }
            for number in 1...(isLater ? 7 : 4) {
                let hidden = mark(number)
                try db.execute("INSERT INTO hidden VALUES (\(number), \(hidden), \("title \(number)"), \(number), \(hidden))")
                try db.execute("INSERT INTO sealed VALUES (\(hidden), \(number))")
                try db.execute("INSERT INTO counted(secret) VALUES (\(hidden))")
                try db.execute("INSERT INTO vault.safe VALUES (\(number), \(hidden), \(hidden))")
                try db.execute("INSERT INTO scratch VALUES (\(number), \(hidden), \(hidden))")
                for table in ["secret_fts", "old_fts"] { try db.execute("INSERT INTO \(raw: table)(title, secret) VALUES (\("title \(number)"), \(hidden))") }
                try db.execute("INSERT INTO box VALUES (\(number), \(number), \(number + 1), \(hidden))")
            }
            try db.execute("INSERT INTO note_fts(note_fts) VALUES ('rebuild')")
        }
        return db
    }
}
