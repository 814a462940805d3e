import SQLCipherKit
import SQLCipherKitVectors

/// Stands in for a real model, which knows what words mean: this one only counts them. Each word adds to one of the numbers, which
/// its hash chooses, and a longer word adds more.
struct WordCounts: TextVectorizer {
    static let dimensions = 512

    func vectors(for texts: [String]) async throws -> [[Float]] {
        texts.map { text in
            // A text without words has a vector too.
            var counts: [Float] = [0.001] + Array(repeating: 0, count: Self.dimensions - 1)
            for word in text.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) where word.count > 3 {
                // FNV-1a, which gives the same in each process.
                let hash = word.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
                counts[Int(hash % UInt64(Self.dimensions))] += Float(word.count - 3)
            }
            return counts.map { $0.squareRoot() }
        }
    }
}

extension Notebook {
    func makeVectors() async throws { try await pool.updateVectors("note_vectors", with: WordCounts()) }

    /// The notes that are most like a note, as far as any are. Triggers mark the notes whose texts have changed; their vectors are
    /// made first. A slow model would do that in a task of its own.
    public func similar(to id: ID, limit: Int = 3) async throws -> [Note] {
        try await makeVectors()
        return try await pool.read { db in
            let vectors = try db.vectors("note_vectors")
            guard let vector = try vectors.vector(for: id) else { return [] }
            var search = VectorSearch(vector, limit: limit)
            search.filter = "id <> \(id) AND deleted IS NULL"
            let ids = try vectors.search(search).filter { $0.distance < 0.7 }.map(\.rowID)
            return try ids.compactMap { try db.fetchOne(Note.self, id: $0) }
        }
    }
}
