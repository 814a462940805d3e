import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Calls that only look at a database, in the middle of a transaction.
@Suite struct LookingTests {
    enum Look: String, CaseIterable, Sendable {
        case verify, quickVerify, residue, residueOfBytes, spaceReport, integrityCheck, foreignKeys, cipher, encryption, tables, values
        case statistics, compactBackup

        func callAsFunction(_ schema: Schema, _ folder: TemporaryFolder) throws {
            switch self {
            case .verify: #expect(try schema.verify().isIntact)
            case .quickVerify: #expect(try schema.verify(quick: true).isIntact)
            // Refused, or not, according to the transaction.
            case .residue: _ = try? schema.findRemnants(of: ["gone"])
            case .residueOfBytes: _ = try? schema.findRemnants(of: [Data("gone".utf8)])
            case .spaceReport: _ = try schema.spaceReport()
            case .integrityCheck: #expect(try schema.integrityCheck().isEmpty)
            case .foreignKeys: #expect(try schema.foreignKeyViolations().isEmpty)
            case .cipher: _ = try schema.cipher
            case .encryption: _ = try schema.key
            case .tables: _ = try schema.tables()
            case .values: _ = try schema.valueReport()
            case .statistics: _ = try schema.statistics()
            case .compactBackup:
                let path = folder.path("\(UUID()).db")
                try schema.backup(toFileAt: path, options: .compact)
            }
        }
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ mode: DatabaseConfiguration.JournalMode?) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let location: DatabaseLocation = mode == nil ? .memory : .file(folder.path("a.db"))
        return try Connection(location, key: .raw([UInt8](repeating: 1, count: 32)), configuration: configuration)
    }

    private func sum(_ db: Connection) throws -> String? {
        try db.fetchOne(String.self, "SELECT count(*) || ' ' || total(length(x)) FROM t")
    }

    /// Changes that are rolled back after the call are gone, whether by a savepoint or by the transaction.
    @Test(arguments: Look.allCases, [.delete, .wal, .persist, nil] as [DatabaseConfiguration.JournalMode?])
    func inspectionInTransactionAllowsRollback(look: Look, mode: DatabaseConfiguration.JournalMode?) throws {
        let db = try open(mode)
        try db.execute("CREATE TABLE t(x)")
        for size in [1, 100, 10_000] { try db.execute("INSERT INTO t VALUES (zeroblob(\(size)))") }
        let before = try sum(db)
        for kind in TransactionKind.allCases {
            try db.begin(kind)
            try look(db.main, folder)
            #expect(throws: CancellationError.self) {
                try db.savepoint { db in
                    try db.execute("UPDATE t SET x = zeroblob(3)")
                    try look(db.main, folder)
                    try db.execute("DELETE FROM t WHERE rowid = 1")
                    throw CancellationError()
                }
            }
            #expect(try sum(db) == before)
            try db.execute("INSERT INTO t VALUES (zeroblob(50000))")
            try look(db.main, folder)
            try db.execute("DELETE FROM t WHERE rowid = 2")
            try db.rollback()
            #expect(try sum(db) == before)
            #expect(try db.main.verify().isIntact)
        }
        guard mode != nil else { return }
        db.close()
        #expect(try sum(open(mode)) == before)
    }

    /// A read transaction sees one snapshot, whatever is looked at meanwhile.
    @Test(arguments: Look.allCases) func inspectionKeepsTheReadSnapshot(look: Look) throws {
        let reader = try open(.wal), writer = try open(.wal)
        try writer.execute("CREATE TABLE t(x)")
        try reader.begin(.deferred)
        #expect(try sum(reader) == "0 0.0")
        try writer.execute("INSERT INTO t VALUES (zeroblob(9000))")
        try look(reader.main, folder)
        #expect(try sum(reader) == "0 0.0")
        try reader.commit()
        #expect(try sum(reader) == "1 9000.0")
    }
}
