import Companion
import Foundation
import GRDB

extension Note: FetchableRecord, PersistableRecord {
    static var databaseTableName: String { "note" }
}

/// The file by GRDB.
struct GRDBLayer {
    private let pool: DatabasePool

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { try $0.usePassphrase(GRDBLayers.passphrase) }
        pool = try DatabasePool(path: path, configuration: configuration)
    }

    func create() throws {
        try pool.write { db in
            try db.create(table: "note") { table in
                table.column("title", .text).notNull()
                table.column("created", .datetime).notNull()
            }
            try db.create(virtualTable: "note_fts", using: FTS5()) { table in
                table.synchronize(withTable: "note")
                table.column("title")
            }
            try db.create(table: "tally") { table in
                table.column("layer", .text)
                table.column("value", .integer)
                table.uniqueKey(["layer", "value"])
            }
        }
    }

    func add(_ title: String, _ created: Date) throws {
        try pool.write { try Note(title: title, created: created).insert($0) }
    }

    func notes() throws -> [Note] { try pool.read { try Note.order(Column("created")).fetchAll($0) } }

    func search(_ word: String) throws -> [String] {
        try pool.read { try String.fetchAll($0, sql: "SELECT title FROM note_fts WHERE note_fts MATCH ?", arguments: [word]) }
    }

    /// By a library that depends on GRDB as it is published.
    func titles() throws -> [String] { try texts(pool, "SELECT title FROM note ORDER BY created") }

    func fill(_ rows: Int) throws {
        for value in 1...rows { try pool.write { try $0.execute(sql: "INSERT INTO tally VALUES ('grdb', ?)", arguments: [value]) } }
    }

    func tally() throws -> [String] {
        try pool.read {
            try String.fetchAll($0, sql: "SELECT layer || ' ' || count(*) || ' ' || sum(value) FROM tally GROUP BY layer ORDER BY layer")
        }
    }

    func close() throws { try pool.close() }
}
