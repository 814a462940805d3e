import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// What the programs of the ports begin with: an encrypted database in a folder of its own, with three notes.
struct PortDesk {
    let folder: TemporaryFolder
    let path: String
    let key: Encryption
    let db: Connection

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("notes.db")
        key = try .passphrase("correct horse").quick
        db = try Connection(.file(path), key: key)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER);
            INSERT INTO note(title, stars) VALUES ('Bakery', 3), ('Mill', NULL), ('Well', 5);
            """))
    }

    /// The path of another file in the folder.
    func file(_ name: String) -> String { folder.path(name) }

    /// Another connection to the database.
    func open(_ change: (inout DatabaseConfiguration) -> Void = { _ in }) throws -> Connection {
        var configuration = DatabaseConfiguration()
        change(&configuration)
        return try Connection(.file(path), key: key, configuration: configuration)
    }

    /// The reason of the error that `body` throws.
    func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
        do { try body() } catch let error as DatabaseError { return error.reason } catch {}
        return nil
    }
}

/// The program of a row, by its number. One test runs all of a suite: one for each takes the compiler ten times as long.
struct Port: Sendable, CustomTestStringConvertible {
    let number: String
    let run: @Sendable () async throws -> Void
    var testDescription: String { number }

    /// Each program gets a suite of its own, as each test does.
    static func list<Suite>(
        _ suite: @escaping @Sendable () throws -> Suite,
        _ programs: KeyValuePairs<String, @Sendable (Suite) -> () throws -> Void>,
        async others: KeyValuePairs<String, @Sendable (Suite) -> () async throws -> Void> = [:]
    ) -> [Port] {
        programs.map { number, program in Port(number: number) { try program(suite())() } }
            + others.map { number, program in Port(number: number) { try await program(suite())() } }
    }
}

/// A value that several threads change.
final class Seen<Value: Sendable>: @unchecked Sendable {
    // The lock guards the only property.
    private let lock = NSLock()
    private var values: [Value] = []

    func add(_ value: Value) { lock.withLock { values.append(value) } }
    var all: [Value] { lock.withLock { values } }
}
