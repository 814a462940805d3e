import CSQLCipher
import Foundation
import SQLCipherKit

/// The databases that a program runs against: the package's connection to encrypted files, and the reference's connection to
/// plaintext files.
final class World {
    let folder: URL
    private(set) var db: Connection
    private(set) var reference: Reference
    /// The main database's file; nil for a database in memory.
    let main: String?
    /// The keys of the files that exist.
    var files: [String: ModelKey] = [:]
    /// The attached databases and their files.
    var attached: [(name: String, file: String?)] = []
    /// The keys of databases in memory, by the names of their schemas in small letters.
    var memoryKeys: [String: ModelKey] = [:]
    /// The number of closures on the stack that have a transaction.
    var closures = 0
    /// True if SQLite has rolled back the transaction of these closures.
    var isAborted = false
    /// The number of steps so far.
    var steps = 0
    /// The change hook, if there is one.
    var observing: Observing?

    init(folder: URL, onDisk: Bool, key: ModelKey) throws {
        self.folder = folder
        main = onDisk ? "main" : nil
        reference = try Reference(onDisk ? folder.appendingPathComponent("main.plain").path : ":memory:")
        db = try Connection(onDisk ? .file(folder.appendingPathComponent("main.db").path) : .memory, key: key.encryption(),
            configuration: Self.configuration)
        setKey(key.ofNewFile, of: "main")
    }

    static let configuration: DatabaseConfiguration = {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        return configuration
    }()

    func path(_ file: String) -> String { folder.appendingPathComponent(file + ".db").path }
    func plainPath(_ file: String) -> String { folder.appendingPathComponent(file + ".plain").path }

    /// The key of an open schema's database.
    func key(of schema: String) -> ModelKey? {
        file(of: schema).map { files[$0] } ?? memoryKeys[schema.lowercased()]
    }

    func file(of schema: String) -> String? {
        schema == "main" ? main : attached.first { $0.name.lowercased() == schema.lowercased() }?.file
    }

    /// Notes the key that a schema's database has from now on.
    func setKey(_ key: ModelKey, of schema: String) {
        if let file = file(of: schema) { files[file] = key } else { memoryKeys[schema.lowercased()] = key }
    }

    /// True if a file is open, under any name.
    func isOpen(_ file: String) -> Bool { main == file || attached.contains { $0.file == file } }

    // MARK: Opening again

    /// Closes both connections and opens them again, with the key of the file.
    func reopen() throws {
        guard let main, let key = files[main] else { return }
        db.close()
        observing = nil
        try openAgain(main, key)
        try reference.reopen()
        attached = []
        memoryKeys = [:]
    }

    /// Opens only the package's connection again.
    func openAgain(_ file: String, _ key: ModelKey) throws {
        do { db = try Connection(.file(path(file)), key: key.encryption(), configuration: Self.configuration) } catch {
            throw Mismatch(description: "the database does not open with its key \(key): \(error)")
        }
    }

    // MARK: Running

    /// Runs one step in both worlds, and compares everything afterwards.
    func run(_ step: any Step) throws {
        steps += 1
        Watchdog.current.note(step)
        try step.run(in: self)
        if closures == 0 { isAborted = false }
        try compare(after: step)
    }

    /// Compares the outcomes of a call in both worlds. While the transaction is aborted, the package must refuse everything.
    @discardableResult
    func both(_ subject: (Connection) throws -> Outcome, _ reference: (Reference) throws -> Outcome) throws -> Outcome {
        let found = try Outcome.of { try subject(db) }
        if isAborted {
            try expectRefusal(found)
            return found
        }
        let expected = try reference(self.reference)
        if closures > 0, !self.reference.isInTransaction { isAborted = true }
        try expect(expected, found)
        return found
    }

    /// Compares the outcome of a call that has no counterpart in the reference.
    /// - Parameter schema: the schema to which the call may write.
    @discardableResult
    func only(_ expected: Outcome, writing schema: String? = nil, _ subject: (Connection) throws -> Outcome) throws -> Outcome {
        let found = try Outcome.of { try subject(db) }
        if isAborted { try expectRefusal(found) } else { try expect(expected, found) }
        if let schema { try takeWriteLock(of: schema) }
        return found
    }

    /// Takes the write lock in the reference, if a call that only the package has run took it and kept it for its transaction. A
    /// refused call may have taken it, too.
    private func takeWriteLock(of schema: String) throws {
        guard !isAborted, sqlite3_txn_state(try db.live(), schema) == SQLITE_TXN_WRITE,
            sqlite3_txn_state(reference.db, schema) != SQLITE_TXN_WRITE
        else { return }
        let version = "PRAGMA \(schema.quotedSQLIdentifier).user_version"
        guard case .integer(let number)? = try reference.must(version).first?.first else { return }
        _ = try reference.must("\(version) = \(number)")
    }

    /// In an aborted transaction everything is refused; an argument that is wrong in any case may be refused as such.
    private func expectRefusal(_ found: Outcome) throws {
        if !Outcome.refused(.invalidArgument).agrees(with: found) { try expect(.refused(.transactionAborted), found) }
    }

    func expect(_ expected: Outcome, _ found: Outcome) throws {
        guard expected.agrees(with: found) else {
            let message = found.isError ? " (\(Outcome.lastMessage.withLock { $0 }))" : ""
            throw Mismatch(description: "expected \(expected), found \(found)\(message)")
        }
    }

    private func compare(after step: any Step) throws {
        if isAborted { return }
        guard db.isOpen else { throw Mismatch(description: "the connection is closed") }
        guard db.isInTransaction == reference.isInTransaction else {
            throw Mismatch(description: "in a transaction: expected \(reference.isInTransaction), found \(db.isInTransaction)")
        }
        try Contents.compare(self)
        if closures == 0 { try observing?.compare(self) }
        // An empty transaction of either kind is no reason to check the structure.
        if steps % 16 == 0, closures == 0 { try verify() }
    }

    /// Checks the structure of every database.
    func verify() throws {
        for schema in ["main"] + attached.map(\.name) {
            let report = try Outcome.of {
                let report = try self.db.schema(schema).verify()
                let problems = report.problems.filter { !$0.isMade }
                return problems.isEmpty ? .done : .text("\(problems)")
            }
            // The model's own constraints may have been broken on purpose (PRAGMA ignore_check_constraints is never set).
            try expect(.done, report)
        }
    }
}

extension Schema.IntegrityReport.Problem {
    /// True for a fault that programs make: a violated foreign key, or one that cannot be checked, and missing page authentication.
    var isMade: Bool {
        switch self {
        case .foreignKey, .noAuthentication: true
        case .structure(let text): text.hasPrefix("foreign key mismatch")
        default: false
        }
    }
}
