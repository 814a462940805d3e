import Foundation
import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

/// A model whose vectors follow from the letters of a text.
struct LetterModel: TextVectorizer {
    var dimensions = 26
    var whenCalled: @Sendable ([String]) async throws -> Void = { _ in }

    func vectors(for texts: [String]) async throws -> [[Float]] {
        try await whenCalled(texts)
        return texts.map { text in
            var vector = [Float](repeating: 0.01, count: dimensions)
            for letter in text.utf8 where (97...122).contains(letter) { vector[Int(letter - 97) % dimensions] += 1 }
            return vector
        }
    }
}

@Suite struct VectorStorageTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test(arguments: VectorTable.Element.allCases, [1, 7, 384, 20_000]) func vectorsAreReadAsWritten(
        _ element: VectorTable.Element, dimensions: Int
    ) throws {
        try db.create(VectorTable("v", dimensions: dimensions, of: element))
        let vectors = try db.vectors("v")
        var random = SeededGenerator(dimensions)
        let all = RandomVectors.some(dimensions > 1_000 ? 5 : 200, dimensions, &random)
        let ids = all.indices.map { Int64($0) * 1_000_003 - 7 }
        try vectors.set(zip(ids, all).map { (id: $0, vector: $1) })
        // Again, in another order, in place of others.
        try vectors.set(zip(ids, all.reversed()).map { (id: $0, vector: $1) }.reversed())
        #expect(try vectors.count == all.count && vectors.passesIntegrityCheck())
        for (id, vector) in zip(ids, all.reversed()) {
            let stored = try #require(try vectors.vector(for: id))
            let largest = vector.map(abs).max() ?? 0
            switch element {
            case .float32: #expect(stored == vector)
            case .int8: #expect(zip(stored, vector).allSatisfy { abs($0 - $1) <= largest / 253 })
            case .bits: #expect(stored == vector.map { $0 > 0 ? 1 : -1 })
            }
        }
        #expect(try vectors.vector(for: 1) == nil)
    }

    @Test func vectorsThatDoNotFitAreRefusedAndChangeNothing() throws {
        try db.create(VectorTable("v", dimensions: 3))
        let vectors = try db.vectors("v")
        try vectors.set([1, 2, 3], for: 1)
        for (vector, part) in [
            ([1, 2], "dimensions"), ([1, 2, 3, 4], "dimensions"), ([], "dimensions"), ([.nan, 1, 1], "NaN"), ([1, .infinity, 1], "infinite"),
            ([1, -.infinity, 1], "infinite"), ([0, 0, 0], "zero"), ([0, -0, 1e-25], "zero"), ([1e19, 0, 0], "longer"),
        ] as [([Float], String)] {
            let calls: [() throws -> Void] = [
                { try vectors.set([(id: 7, vector: [1, 1, 1]), (id: 1, vector: vector)]) }, { _ = try vectors.search(vector) },
            ]
            for call in calls {
                #expect { try call() } throws: { error in
                    (error as? DatabaseError)?.reason == .invalidArgument && (error as? DatabaseError)?.message.contains(part) == true
                }
            }
        }
        #expect(try vectors.count == 1 && vectors.vector(for: 1) == [1, 2, 3] && vectors.passesIntegrityCheck())
        try db.create(VectorTable("w", dimensions: 3, metric: .l2))
        try db.vectors("w").set([0, 0, 0], for: 1)
        #expect(try db.vectors("w").search([3, 0, 4]) == [.init(rowID: 1, distance: 5)])
    }

    @Test func freedSlotsAreUsedAgain() throws {
        try db.create(VectorTable("v", dimensions: 4, of: .int8, keepsBits: true))
        let vectors = try db.vectors("v")
        var random = SeededGenerator()
        try vectors.set((0..<100).map { (id: Int64($0), vector: RandomVectors.one(4, &random)) })
        let size = try db.fetchOne(Int.self, "SELECT sum(length(vectors)) FROM v_chunks")
        for _ in 0..<20 {
            let ids = (0..<100).filter { _ in Bool.random(using: &random) }.map(Int64.init)
            try vectors.remove(ids + [4_711])
            #expect(try vectors.count == 100 - ids.count && vectors.passesIntegrityCheck())
            try vectors.set(ids.shuffled(using: &random).map { (id: $0, vector: RandomVectors.one(4, &random)) })
        }
        #expect(try db.fetchOne(Int.self, "SELECT sum(length(vectors)) FROM v_chunks") == size)
        try vectors.removeAll()
        #expect(try vectors.count == 0 && vectors.passesIntegrityCheck() && vectors.search([1, 1, 1, 1]).isEmpty)
    }

    // MARK: Models

    private func notes(_ count: Int) throws -> VectorIndex {
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        for number in 0..<count { try db.execute("INSERT INTO note(title) VALUES (\("note \(number)"))") }
        try db.create(VectorTable("v", dimensions: 26, content: .external(table: "note", columns: ["title"])))
        return try db.vectors("v")
    }

    @Test func updateMakesWhatIsMissingInBatches() async throws {
        let vectors = try notes(25)
        var steps: [Int] = []
        let made = try await vectors.update(with: LetterModel(), batchSize: 10) { steps.append($0.completed) }
        #expect(made == 25 && steps == [10, 20, 25])
        #expect(try vectors.count == 25 && vectors.missingCount == 0)
        let again = try await vectors.update(with: LetterModel { _ in Issue.record("nothing is missing") })
        #expect(again == 0)
    }

    @Test func updateGoesOnAfterAnError() async throws {
        struct Failure: Error {}
        let vectors = try notes(25)
        do {
            try await vectors.update(with: LetterModel { if $0.contains("note 12") { throw Failure() } }, batchSize: 5)
            Issue.record("the model's error is lost")
        } catch is Failure {}
        #expect(try vectors.count == 10)
        let rest = try await vectors.update(with: LetterModel(), batchSize: 5)
        #expect(rest == 15)
    }

    @Test func updateGoesOnAfterACancellation() async throws {
        let folder = try TemporaryFolder()
        let pool = try await pool(folder, notes: 25)
        let task = Task {
            try await pool.updateVectors(
                "v", with: LetterModel { if $0.contains("note 12") { withUnsafeCurrentTask { task in if let task { task.cancel() } } } }, batchSize: 5)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        // Nothing of a batch is half written.
        let count = try await pool.read { db in try db.vectors("v").count }
        #expect(count == 10)
        let rest = try await pool.updateVectors("v", with: LetterModel(), batchSize: 5)
        #expect(rest == 15)
    }

    private func pool(_ folder: TemporaryFolder, notes: Int) async throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .raw([UInt8](repeating: 1, count: 32)))
        try await pool.write { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
            for number in 0..<notes { try db.execute("INSERT INTO note(title) VALUES (\("note \(number)"))") }
            try db.create(VectorTable("v", dimensions: 26, content: .external(table: "note", columns: ["title"])))
        }
        return pool
    }

    /// At each call of the model, the files are as a process leaves them that is killed there.
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal]) func updateGoesOnAfterAKill(_ mode: DatabaseConfiguration.JournalMode) async throws {
        let folder = try TemporaryFolder(), key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32)), path = folder.path("a.db")
        let db = try Connection(.file(path), key: key)
        try db.main.setJournalMode(mode)
        try db.transaction { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
            for number in 0..<25 { try db.execute("INSERT INTO note(title) VALUES (\("note \(number)"))") }
            try db.create(VectorTable("v", dimensions: 26, of: .int8, content: .external(table: "note", columns: ["title"]), keepsBits: true))
        }
        let made = try await db.vectors("v").update(with: LetterModel { texts in
            let copy = folder.path(texts[0] + ".db")
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
        }, batchSize: 5)
        #expect(made == 25)
        for number in [0, 5, 10, 15, 20] {
            let left = try Connection(.file(folder.path("note \(number).db")), key: key), vectors = try left.vectors("v")
            #expect(try vectors.count == number && vectors.missingCount == 25 - number && vectors.passesIntegrityCheck())
            let rest = try await vectors.update(with: LetterModel { #expect(!$0.contains("note \(number - 1)")) }, batchSize: 7)
            #expect(rest == 25 - number)
            #expect(try vectors.search(like: 1, limit: 30) == db.vectors("v").search(like: 1, limit: 30))
        }
    }

    @Test func modelsThatGiveTheWrongVectorsAreRefused() async throws {
        struct Short: TextVectorizer { func vectors(for texts: [String]) async throws -> [[Float]] { [] } }
        let vectors = try notes(3)
        for model in [Short(), LetterModel(dimensions: 25)] as [any TextVectorizer] {
            do {
                try await vectors.update(with: model)
                Issue.record("\(model)")
            } catch let error as DatabaseError { #expect(error.reason == .invalidArgument) }
        }
        #expect(try vectors.count == 0 && vectors.missingCount == 3)
    }

    @Test func rowThatChangesMeanwhileStaysMissing() async throws {
        let folder = try TemporaryFolder()
        let pool = try await pool(folder, notes: 3)
        let made = try await pool.updateVectors("v", with: LetterModel { _ in
            try await pool.write { db in
                try db.execute("UPDATE note SET title = 'x' WHERE id = 2")
                try db.execute("DELETE FROM note WHERE id = 3")
            }
        })
        #expect(made == 1)
        let missing = try await pool.read { db in try db.vectors("v").missing() }
        #expect(missing.map(\.id) == [2] && missing.map(\.text) == ["x"])
        let rest = try await pool.updateVectors("v", with: LetterModel())
        let isIntact = try await pool.read { db in try db.vectors("v").passesIntegrityCheck() }
        #expect(rest == 1 && isIntact)
    }
}
