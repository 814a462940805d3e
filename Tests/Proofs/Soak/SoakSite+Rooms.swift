import Foundation
import SQLCipherKit

/// Full text, records, key-value stores. Each replaces as much as it writes.
extension SoakSite {
    struct Item: SQLRecord, Equatable {
        var id: Int64?
        var name: String
        var stars: Int
        var tags: [String] = []

        static let table = SQLTable(of: Item.self) {
            $0.id.primaryKey()
            $0.name
            $0.stars
            $0.tags
        }
    }

    private func words(_ count: Int) -> String { (0..<count).map { _ in "w\(random(0..<60))" }.joined(separator: " ") }

    /// Replaces some notes, and compares the index with the text itself in one snapshot.
    func search() async throws {
        let notes = (0..<5).map { _ in (random(0..<300), words(3), words(40)) }, word = "w\(random(0..<60))"
        try await pool.write { db in
            for (id, title, body) in notes {
                try db.execute("INSERT OR REPLACE INTO note VALUES (\(id), \(title), \(body))")
            }
        }
        let (found, there, hits) = try await pool.read { db in
            let index = try db.fullText("note_fts")
            let there = try db.fetchOne(
                Int.self, "SELECT count(*) FROM note WHERE instr(' ' || title || ' ' || body || ' ', \(" \(word) ")) > 0")
            let found = try index.search(FTS5Query.phrase(word), limit: 10)
            return (found.total.count, there, found.hits.count)
        }
        expect(found == there && hits == min(10, found), "the index finds \(found) notes, \(hits) hits, of \(there ?? 0)")
        if random(0..<200) == 0 { try await pool.write { db in try db.fullText("note_fts").optimize() } }
    }

    func keepRecords() async throws {
        let item = Item(id: Int64(random(0..<200)), name: words(4), stars: random(0..<6), tags: [words(1), words(1)])
        try await pool.write { db in
            _ = try db.delete(item)
            try db.insert(item)
        }
        let same = try await pool.read { db in try db.fetchOne(Item.self, id: item.id ?? 0) }
        expect(same == item, "a record that was written is not the one that is read: \(item)")
        let stars = item.stars
        let both = try await pool.read { db in
            let records = try db.fetchAll(Item.filter { $0.stars == stars })
            return (records.count, try db.fetchOne(Int.self, "SELECT count(*) FROM item WHERE stars = \(stars)"))
        }
        expect(both.0 == both.1, "a query of records finds \(both.0), and there are \(both.1 ?? 0)")
    }

    func keepSettings() async throws {
        let store = try SharedKeyValueStore("settings", in: pool)
        let key = "key\(random(0..<50))", value = random(0..<1_000_000)
        try await store.set(key, to: value)
        let same = try await store.get(key, as: Int.self)
        expect(same == value, "a setting that was written is not the one that is read")
        try await store.set("short\(random(0..<20))", to: value, expires: Date(timeIntervalSinceNow: 0.01))
        _ = try await store.write { store in try store.purgeExpired() }
        if random(0..<10) == 0 { _ = try await store.remove(key) }
    }
}
