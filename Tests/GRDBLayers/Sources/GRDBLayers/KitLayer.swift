import Foundation
import SQLCipherKit

/// The file by SQLCipherKit.
struct KitLayer {
    private let db: Connection

    init(_ path: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(60)
        configuration.valueProfile = .grdb
        db = try Connection(.file(path), key: .passphrase(GRDBLayers.passphrase), configuration: configuration)
    }

    func add(_ title: String, _ created: Date) throws {
        try db.execute("INSERT INTO note(title, created) VALUES (\(title), \(created))")
    }

    func notes() throws -> [Note] { try db.fetchAll(Note.self, "SELECT title, created FROM note ORDER BY created") }

    func search(_ word: String) throws -> [String] {
        try db.fetchAll(String.self, "SELECT title FROM note_fts WHERE note_fts MATCH ?", [word])
    }

    func fill(_ rows: Int) throws {
        for value in 1...rows { try db.transaction { try $0.execute("INSERT INTO tally VALUES ('kit', \(value))") } }
    }

    func tally() throws -> [String] {
        try db.fetchAll(
            String.self, "SELECT layer || ' ' || count(*) || ' ' || sum(value) FROM tally GROUP BY layer ORDER BY layer")
    }

    func problems() throws -> [String] { try db.main.verify().problems.map { String(describing: $0) } }

    func close() { db.close() }
}
