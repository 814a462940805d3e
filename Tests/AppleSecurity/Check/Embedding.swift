import NaturalLanguage
import SQLCipherKit
import SQLCipherKitVectors

actor AppleModel: TextVectorizer {
    struct Unavailable: Error {}

    nonisolated let dimensions: Int
    private let model: NLContextualEmbedding

    init(_ language: NLLanguage) async throws {
        guard
            let model = NLContextualEmbedding(language: language)
        else { throw Unavailable() }
        if !model.hasAvailableAssets {
            guard try await model.requestAssets() == .available else {
                throw Unavailable()
            }
        }
        try model.load()
        dimensions = model.dimension
        self.model = model
    }

    func vectors(for texts: [String]) throws -> [[Float]] {
        try texts.map { text in
            let result = try model.embeddingResult(
                for: text, language: nil)
            var sum = [Float](repeating: 0, count: dimensions)
            result.enumerateTokenVectors(
                in: text.startIndex..<text.endIndex
            ) { vector, _ in
                for (place, number) in vector.enumerated() {
                    sum[place] += Float(number)
                }
                return true
            }
            return sum
        }
    }
}

/// The article "Vectors from Apple's model".
func checkEmbedding() async throws {
    let db = try Connection(.memory)
    try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
    try db.execute("INSERT INTO note(title) VALUES ('a car'), ('bread'), ('')")
    do {
        let model = try await AppleModel(.english)
        try db.create(
            VectorTable(
                "note_vectors", dimensions: model.dimensions, of: .int8,
                content: .external(table: "note", columns: ["title"])))
        let vectors = try db.vectors("note_vectors")
        try await vectors.update(with: model)
        let question = try await model.vectors(for: ["beard"])[0]
        let hits = try vectors.search(question)
        expect(hits.map(\.rowID) == [2, 1] && model.dimensions == 26)
        expect(hits[0].distance < 0.001 && hits[1].distance > 0.1)
    }
    for (hasAssets, answer) in [(false, .notAvailable), (false, .error)] as [(Bool, NLContextualEmbedding.AssetsResult)] {
        (NLContextualEmbedding.standInHasAssets, NLContextualEmbedding.standInAnswer) = (hasAssets, answer)
        var isRefused = false
        do { _ = try await AppleModel(.english) } catch is AppleModel.Unavailable { isRefused = true }
        expect(isRefused)
    }
}
