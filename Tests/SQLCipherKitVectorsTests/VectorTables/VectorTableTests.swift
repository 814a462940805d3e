import Foundation
import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

@Suite struct VectorTableTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT COLLATE NOCASE UNIQUE, body TEXT, seen INTEGER DEFAULT 0)")
    }

    private func make(_ element: VectorTable.Element = .float32, keepsBits: Bool = false) throws -> VectorIndex {
        try db.create(VectorTable(
            "v", dimensions: 8, of: element, content: .external(table: "note", columns: ["title", "body"]), keepsBits: keepsBits))
        return try db.vectors("v")
    }

    private func refused(_ part: String, _ body: @escaping () throws -> Void) {
        #expect { try body() } throws: { error in
            guard let error = error as? DatabaseError else { return false }
            return error.reason == .invalidArgument && error.message.contains(part)
        }
    }

    @Test func impossibleTablesAreRefusedAndLeaveNothing() throws {
        try db.execute(SQLScript("CREATE TABLE named(name TEXT PRIMARY KEY); CREATE TABLE plain(x)"))
        func create(_ table: VectorTable) -> () throws -> Void { { try self.db.create(table) } }
        refused("dimensions", create(VectorTable("v", dimensions: 0)))
        refused("dimensions", create(VectorTable("v", dimensions: 65_537)))
        refused("name", create(VectorTable("", dimensions: 4)))
        refused("hamming", create(VectorTable("v", dimensions: 4, of: .bits, metric: .cosine)))
        refused("hamming", create(VectorTable("v", dimensions: 4, of: .int8, metric: .hamming)))
        refused("bits", create(VectorTable("v", dimensions: 4, of: .bits, keepsBits: true)))
        refused("no columns", create(VectorTable("v", dimensions: 4, content: .external(table: "note", columns: []))))
        refused("column missing", create(VectorTable("v", dimensions: 4, content: .external(table: "note", columns: ["missing"]))))
        refused("no table", create(VectorTable("v", dimensions: 4, content: .external(table: "none", columns: ["a"]))))
        refused("PRIMARY KEY", create(VectorTable("v", dimensions: 4, content: .external(table: "named", columns: ["name"]))))
        refused("PRIMARY KEY", create(VectorTable("v", dimensions: 4, content: .external(table: "plain", columns: ["x"]))))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'v*'") == 0)
        refused("no table of vectors", { _ = try db.vectors("v") })
    }

    @Test func tableSaysWhatItWasCreatedWith() throws {
        let vectors = try make(.int8, keepsBits: true)
        #expect(try vectors.dimensions == 8 && vectors.element == .int8 && vectors.metric == .cosine)
        #expect(try db.vectors("V").name == "v" && db.main.vectorIndexes().map(\.name) == ["v"])
        try db.create(VectorTable("v", dimensions: 3), ifNotExists: true)
        #expect(try vectors.dimensions == 8)
        #expect(throws: DatabaseError.self) { try db.create(VectorTable("v", dimensions: 3)) }
        try db.execute("UPDATE v_settings SET dimensions = 0")
        #expect { _ = try vectors.dimensions } throws: { ($0 as? DatabaseError)?.code == .corrupt }
    }

    @Test func dropLeavesTheContentAlone() throws {
        let before = try db.fetchAll(String.self, "SELECT name FROM sqlite_schema ORDER BY name")
        let vectors = try make(keepsBits: true)
        try db.execute("INSERT INTO note(title) VALUES ('a')")
        try vectors.drop()
        #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema ORDER BY name") == before)
        try db.execute("INSERT INTO note(title) VALUES ('b')")
        refused("no table of vectors", { try vectors.drop() })
        refused("no table of vectors", { _ = try vectors.count })
    }

    @Test func changedRowsAreMissingAndDeletedOnesAreGone() throws {
        try db.execute("INSERT INTO note(id, title) VALUES (1, 'one'), (2, 'two')")
        let vectors = try make()
        #expect(try vectors.missing().map { "\($0.id) \($0.text)" } == ["1 one", "2 two"])
        try db.execute("INSERT INTO note(id, title, body) VALUES (3, 'three', 'x'), (4, NULL, NULL)")
        #expect(try vectors.missing(from: 3).map { "\($0.id) \($0.text)" } == ["3 three\nx"])
        for id in 1...3 { try vectors.set([Float](repeating: Float(id), count: 8), for: Int64(id)) }
        #expect(try vectors.missingCount == 0 && vectors.count == 3)
        // A change of a column that the vector does not depend on changes nothing; a change that NOCASE does not see is one.
        try db.execute("UPDATE note SET seen = 1")
        #expect(try vectors.count == 3)
        try db.execute("UPDATE note SET title = 'ONE' WHERE id = 1")
        #expect(try vectors.missing().map(\.id) == [1] && vectors.count == 2)
        try db.execute("UPDATE note SET id = 9 WHERE id = 2")
        #expect(try vectors.missing().map(\.id) == [1, 9])
        try db.execute("DELETE FROM note WHERE id = 3")
        #expect(try vectors.count == 0 && vectors.passesIntegrityCheck())
        // Nothing of a vector is left in the chunk.
        let bytes = try db.fetchOne([UInt8].self, "SELECT vectors FROM v_chunks") ?? [1]
        #expect(bytes == [UInt8](repeating: 0, count: 3 * 32))
    }

    @Test func renamedContentKeepsItsVectors() throws {
        let vectors = try make()
        try db.execute(SQLScript("ALTER TABLE note RENAME COLUMN title TO name; ALTER TABLE note RENAME TO page"))
        try db.execute("INSERT INTO page(id, name) VALUES (1, 'a')")
        try vectors.set([Float](repeating: 1, count: 8), for: 1)
        var search = VectorSearch([Float](repeating: 1, count: 8))
        search.filter = "t.name = \("a")"
        #expect(try vectors.search(search).map(\.rowID) == [1])
        try db.execute("DELETE FROM page")
        #expect(try vectors.count == 0)
    }

    /// Random writes of every kind, with conflicts and without recursive triggers, leave each row with a vector or missing one.
    @Test(arguments: VectorTable.Element.allCases, [false, true])
    func randomWritesKeepTablesInStep(_ element: VectorTable.Element, isUTF16: Bool) throws {
        let db = try Connection(.memory)
        if isUTF16 { try db.execute("PRAGMA encoding = 'UTF-16'") }
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT)")
        try db.create(VectorTable(
            "v", dimensions: 9, of: element, content: .external(table: "note", columns: ["title"]), keepsBits: element != .bits))
        let vectors = try db.vectors("v")
        var random = SeededGenerator(isUTF16 ? 1 : 0, of: element.rawValue)
        var known: [Int64: [Float]] = [:]
        for round in 0..<200 {
            let id = Int64.random(in: -3..<20, using: &random), other = Int64.random(in: -3..<20, using: &random)
            let title = "t\(Int.random(in: 0..<25, using: &random))"
            let conflict = ["OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT", ""].randomElement(using: &random) ?? ""
            do {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: try db.execute("INSERT \(raw: conflict) INTO note(id, title) VALUES (\(id), \(title))")
                case 1: try db.execute("UPDATE \(raw: conflict) note SET title = \(title) WHERE id = \(id)")
                case 2: try db.execute("UPDATE \(raw: conflict) note SET id = \(other), body = 'x' WHERE id = \(id)")
                case 3: try db.execute("DELETE FROM note WHERE id IN (\(id), \(other))")
                default:
                    for row in try vectors.missing(limit: 4) {
                        let vector = RandomVectors.one(9, &random)
                        try vectors.set(vector, for: row.id)
                        known[row.id] = vector
                    }
                }
            } catch let error as DatabaseError where error.code.primary == .constraint {}
            if round.isMultiple(of: 10) { #expect(try vectors.passesIntegrityCheck()) }
        }
        #expect(try vectors.passesIntegrityCheck())
        for id in try db.fetchAll(Int64.self, "SELECT id FROM v") {
            let stored = try #require(try vectors.vector(for: id)), given = try #require(known[id])
            for (x, y) in zip(stored, given) { #expect(element == .bits ? (x > 0) == (y > 0) : abs(x - y) < 0.01) }
        }
    }

    /// A program with another engine may replace a row without the delete trigger: here, one whose trigger is missing.
    @Test func rowsThatAreGoneWithoutATriggerAreNotFound() throws {
        let vectors = try make()
        try db.execute("INSERT INTO note(id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        for id in 1...3 { try vectors.set((0..<8).map { Float($0 == id ? 1 : 0) }, for: Int64(id)) }
        try db.execute(SQLScript("DROP TRIGGER v_deleted; DELETE FROM note WHERE id = 1"))
        #expect(try vectors.search((0..<8).map { $0 == 1 ? 1 : 0.1 }, limit: 2).map(\.rowID).sorted() == [2, 3])
    }
}
