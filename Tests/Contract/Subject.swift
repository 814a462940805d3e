import Foundation
import SQLCipherKit

/// A database of one kind in its own folder, and the objects that are open on it.
final class Subject {
    enum Kind: String, CaseIterable {
        case passphrase, raw, salted, slots, plaintext, memory, attached, readOnly, log, utf16

        /// True if there is a file that another connection can open with the key.
        var hasFile: Bool { self != .memory }

        var key: DatabaseKey {
            get throws {
                switch self {
                case .raw: try .raw(Secrets.raw, cipher: Subject.quick)
                case .salted: try .raw(Secrets.raw, salt: Secrets.salt, cipher: Subject.quick)
                case .slots: .slots(secret: try .passphrase(Secrets.passphrase), cipher: Subject.quick)
                case .plaintext, .memory: .plaintext
                default: try .passphrase(Secrets.passphrase, cipher: Subject.quick)
                }
            }
        }
    }

    /// The lender, where a case works on a queue or a pool.
    enum Sharing: String, CaseIterable { case queue, pool }

    /// Few rounds of key derivation.
    static let quick: CipherConfiguration = {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }()

    let kind: Kind, folder: String
    let sharing: Sharing
    /// The file with the contents.
    var path: String { folder + "/a.db" }
    private var opened: Connection?
    private var lent: DatabaseWriter?

    /// The subject's files are copies of a template, which is made once.
    init(_ kind: Kind, template: String, folder: String, sharing: Sharing = .queue) throws {
        (self.kind, self.folder, self.sharing) = (kind, folder, sharing)
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.copyItem(atPath: template, toPath: folder)
    }

    /// A subject whose files are in the folder already.
    init(reopening kind: Kind, folder: String) throws { (self.kind, self.folder, sharing) = (kind, folder, .queue) }

    static func configuration(_ kind: Kind) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(50)
        if kind == .readOnly { configuration.access = .readOnly }
        return configuration
    }

    /// The configuration with which cases open a file that must be there.
    static var existing: DatabaseConfiguration {
        var configuration = configuration(.passphrase)
        configuration.access = .readWrite
        return configuration
    }

    /// The connection, which the first use opens.
    var connection: Connection {
        get throws {
            if let opened { return opened }
            let db: Connection
            switch kind {
            case .memory:
                db = try Connection(.memory, configuration: Self.configuration(kind))
                try Fixture.fill(db)
            case .attached:
                db = try Connection(.file(folder + "/main.db"), configuration: Self.configuration(kind))
                try db.attach(.file(path), as: "side", key: kind.key)
            default: db = try Connection(.file(path), key: kind.key, configuration: Self.configuration(kind))
            }
            opened = db
            return db
        }
    }

    /// The schema with the contents.
    var schema: Schema { get throws { kind == .attached ? try connection.schema("side") : try connection.main } }

    /// The queue or the pool, which the first use opens.
    var shared: DatabaseWriter {
        get throws {
            if let lent { return lent }
            let location: DatabaseLocation = kind == .memory ? .memory : .file(path)
            var configuration = Self.configuration(kind)
            if kind == .memory { configuration.onCreate = { try Fixture.fill($0) } }
            let database: DatabaseWriter = sharing == .queue
                ? try DatabaseQueue(location, key: kind.key, configuration: configuration)
                : try DatabasePool(location, key: kind.key, configuration: configuration)
            lent = database
            return database
        }
    }

    var openConnection: Connection? { opened }
    var openShared: DatabaseWriter? { lent }

    /// Closes all that is open.
    func close() {
        opened?.close()
        try? lent?.close()
        (opened, lent) = (nil, nil)
    }

    /// Another connection to the file, as another process would have.
    func other(_ access: DatabaseConfiguration.Access = .readWrite) throws -> Connection {
        var configuration = DatabaseConfiguration()
        (configuration.access, configuration.busyTimeout) = (access, .seconds(2))
        do { return try Connection(.file(path), key: kind.key, configuration: configuration) } catch {
            // The key given by the calls that change the key.
            if let db = try? Connection(.file(path), key: .passphrase("other", cipher: Self.quick), configuration: configuration) { return db }
            if let db = try? Connection(.file(path), key: .slots(secret: .passphrase(Secrets.passphrase), cipher: Self.quick), configuration: configuration) { return db }
            throw error
        }
    }

    /// Makes the files that every subject of a kind starts with.
    static func makeTemplate(_ kind: Kind, at folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder + "/temporary", withIntermediateDirectories: true)
        try Data("sentinel".utf8).write(to: URL(fileURLWithPath: folder + "/outside.txt"))
        guard kind.hasFile else { return }
        var key = try kind.key, configuration = DatabaseConfiguration()
        if kind == .log { configuration.journalMode = .wal }
        if kind == .utf16 { configuration.onCreate = { try $0.execute("PRAGMA encoding = 'UTF-16le'") } }
        if kind == .slots {
            let slots = try KeySlots.create(
                .passphrase(Secrets.passphrase), label: "first", for: .file(folder + "/a.db"),
                derivation: .pbkdf2(iterations: 1000), cipher: quick)
            key = .slots(slots, cipher: quick)
        }
        let db = try Connection(.file(folder + "/a.db"), key: key, configuration: configuration)
        try Fixture.fill(db)
        db.close()
        if kind == .attached { try Connection(.file(folder + "/main.db")).execute("CREATE TABLE beside(x)") }
    }
}

/// The content of every database of the drivers: a table of each kind.
enum Fixture {
    static func fill(_ db: Connection) throws {
        try db.transaction { db -> Void in
            try db.execute(SQLScript("""
                CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n REAL, meta BLOB);
                CREATE TABLE pair(a TEXT, b INTEGER, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
                CREATE TABLE child(id INTEGER PRIMARY KEY, note INTEGER REFERENCES note(id) ON DELETE CASCADE, name TEXT UNIQUE);
                CREATE TABLE canary(x);
                CREATE TABLE probe(id INTEGER PRIMARY KEY, x);
                CREATE TABLE log(what);
                CREATE INDEX note_title ON note(title);
                CREATE VIEW titles AS SELECT id, title FROM note;
                CREATE TRIGGER note_gone AFTER DELETE ON note BEGIN INSERT INTO log VALUES (old.title); END;
                INSERT INTO canary VALUES ('sings');
                INSERT INTO probe VALUES (1, 1), (2, 2), (3, 3);
                INSERT INTO note VALUES (1, 'first', 'the first note', 1.5, '{"tags":["red","blue"],"n":1}'),
                    (2, 'second', 'another note', 2.5, jsonb('{"tags":[],"n":2}')), (3, 'third', 'the third and last', NULL, NULL);
                INSERT INTO pair VALUES ('a', 1, x'00ff'), ('b', 2, 'text');
                INSERT INTO child VALUES (1, 1, 'one'), (2, 2, 'two');
                CREATE VIRTUAL TABLE note_fts USING fts5(title, body, content='note', content_rowid='id');
                INSERT INTO note_fts(note_fts) VALUES ('rebuild');
                CREATE VIRTUAL TABLE words USING fts5(x);
                INSERT INTO words VALUES ('some words of a sentence'), ('other words');
                """))
        }
    }
}

/// The texts that no error, description or log may contain.
enum Secrets {
    static let passphrase = "PASSPHRASE-of-the-contract-7f3"
    static let raw: [UInt8] = (0..<32).map { UInt8(truncatingIfNeeded: 0xA1 &+ $0 &* 7) }
    static let salt: [UInt8] = (0..<16).map { UInt8(truncatingIfNeeded: 0x3C &+ $0 &* 5) }
    /// A value that cases bind, which an error does not show.
    static let value = "BOUND-VALUE-51c"

    static let keyTexts: [String] = {
        let hex = raw.map { String(format: "%02x", $0) }.joined(), phrase = Array(passphrase.utf8)
        return [
            passphrase, Data(phrase).base64EncodedString(), phrase.map { String(format: "%02x", $0) }.joined(),
            phrase.prefix(8).map(String.init).joined(separator: ", "),
            hex, hex.uppercased(), Data(raw).base64EncodedString(), raw.prefix(8).map(String.init).joined(separator: ", "),
        ]
    }()

    /// All that can be read of a value without knowing its type.
    static func texts(of value: Any) -> String {
        var text = String(describing: value) + "\n" + String(reflecting: value) + "\n"
        dump(value, to: &text)
        if let error = value as? any Error {
            text += "\(error.localizedDescription)\n\((error as NSError).userInfo)"
            if let error = error as? DatabaseError { text += "\n" + [error.message, error.sql, error.arguments, error.path].compactMap(\.self).joined(separator: "\n") }
            if let underlying = (error as? DatabaseError)?.underlyingError { text += texts(of: underlying) }
        }
        return text
    }

    /// The secret that a value tells, if it does.
    static func told(by value: Any) -> String? {
        let text = texts(of: value), texts = keyTexts + (value is any Error ? [self.value] : [])
        return texts.first { text.contains($0) }
    }
}
