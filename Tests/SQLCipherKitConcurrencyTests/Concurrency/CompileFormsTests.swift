import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Forms of the calls that have to compile: functions, methods and parameters in the place of closures, and results of all kinds.
@Suite struct ConcurrencyCompileFormsTests {
    let folder: TemporaryFolder
    let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try pool.write(createTable)
    }

    struct Note: Sendable, Equatable {
        let title: String
    }

    final class Box { var value = 0 }

    private func notes(_ db: Connection) throws -> [Note] { try fetchNotes(db) }

    @Test func accessMethodsAcceptFunctionsAndMethods() throws {
        try pool.write(insertNote)
        #expect(try pool.read(fetchNotes) == [Note(title: "a")])
        #expect(try pool.read(notes) == [Note(title: "a")])
        #expect(try pool.read(timeout: .forTests, fetchNotes).count == 1)
        #expect(try pool.barrierWriteWithoutTransaction { db in try fetchNotes(db) }.count == 1)
        #expect(try pool.writeWithoutTransaction { db in try fetchNotes(db) }.count == 1)
        #expect(try pool.write { db in try insertNote(db) } then: { db, _ in try fetchNotes(db) }.count == 2)
        #expect(try pool.write { db in try fetchNotes(db) } then: { _, written in written }.count == 2)
        #expect(try pool.snapshot().read(fetchNotes).count == 2)
        #expect(try pool.reader.read(fetchNotes).count == 2)
        #expect(try generic(pool, fetchNotes).count == 2)
        #expect(try plain(pool, fetchNotes).count == 2)
    }

    @Test func asyncAccessMethodsAcceptFunctionsAndMethods() async throws {
        try await pool.write(insertNote)
        var all = try await pool.read(fetchNotes)
        all += try await pool.read(notes)
        all += try await pool.barrierWriteWithoutTransaction { db in try fetchNotes(db) }
        all += try await pool.writeWithoutTransaction { db in try fetchNotes(db) }
        all += try await pool.write { db in try fetchNotes(db) } then: { _, written in written }
        all += try await pool.write { db in try deleteNothing(db) } then: { db, _ in try fetchNotes(db) }
        all += try await pool.snapshot().read(fetchNotes)
        all += try await pool.reader.read(fetchNotes)
        all += try await genericOfTask(pool, fetchNotes)
        for try await now in pool.observe(fetchNotes) {
            all += now
            break
        }
        #expect(all.count == 10)
    }

    @Test func accessMethodsReturnNonSendableResults() throws {
        let box = try pool.read { _ in Box() }
        box.value += 1
        let (number, other) = try pool.write { db in (try db.fetchOne(Int.self, "SELECT 1"), Box()) }
        #expect(number == 1 && other.value == 0)
        var count = 0
        try pool.read { db in count += try db.fetchOne(Int.self, "SELECT 1") ?? 0 }
        try pool.write { db in
            try db.execute("SELECT 1")
            count += 1
        }
        #expect(count == 2)
    }

    @Test func asyncAccessMethodsReturnNonSendableResults() async throws {
        let sent = Box()
        let box = try await pool.read { _ in
            sent.value += 1
            return Box()
        }
        #expect(box.value == 0)
        let title = "b"
        let (number, text) = try await pool.write { db in
            let number = try db.fetchOne(Int.self, "SELECT 1")
            return (number, title)
        }
        #expect(number == 1 && text == "b")
    }

    @MainActor final class Model {
        let pool: DatabasePool
        var notes: [Note] = []
        init(_ pool: DatabasePool) { self.pool = pool }

        func load() async throws {
            notes = try await pool.read(fetchNotes)
            notes += try await pool.read { db in try fetchNotes(db) }
        }

        func loadNow() throws {
            notes = try pool.read(fetchNotes)
            notes += try pool.read { db in try fetchNotes(db) }
        }
    }

    @MainActor @Test func mainActorModelReadsThePool() async throws {
        let model = Model(pool)
        try await model.load()
        try model.loadNow()
        #expect(model.notes == [])
    }

    /// The error of a call is a DatabaseError or the closure's error, so that a plain `catch` has any error.
    @Test func accessErrorsAreCaughtByTypeAndReason() throws {
        do { try pool.read { db in try db.execute("nonsense") } } catch let error as DatabaseError { #expect(error.code == .error) }
        do {
            try pool.write { db in try db.execute("nonsense") }
        } catch let error as DatabaseError where error.reason == .busy {
            Issue.record("busy")
        } catch {
            #expect((error as? DatabaseError)?.code == .error)
        }
    }
}

private func createTable(_ db: Connection) throws { try db.execute("CREATE TABLE note(title TEXT)") }
private func insertNote(_ db: Connection) throws { try db.execute("INSERT INTO note VALUES ('a')") }

private func deleteNothing(_ db: Connection) throws { try db.execute("DELETE FROM note WHERE title = 'z'") }

@Sendable private func fetchNotes(_ db: Connection) throws -> [ConcurrencyCompileFormsTests.Note] {
    try db.fetchAll(String.self, "SELECT title FROM note").map { .init(title: $0) }
}

private func generic<T: Sendable>(_ pool: DatabasePool, _ body: @escaping @Sendable (Connection) throws -> T) throws -> T {
    try pool.read(body)
}

private func genericOfTask<T: Sendable>(
    _ pool: DatabasePool, _ body: @escaping @Sendable (Connection) throws -> T
) async throws -> T {
    try await pool.read(body)
}

private func plain<T: Sendable>(_ pool: DatabasePool, _ body: (Connection) throws -> T) throws -> T { try pool.write(body) }
