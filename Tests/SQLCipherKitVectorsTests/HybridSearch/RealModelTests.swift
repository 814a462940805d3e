import Foundation
import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

/// The model all-MiniLM-L6-v2 over 10,000 passages of software documentation, and the judged queries of `scripts/bench vectors`,
/// which fetches both. The model takes about twenty minutes of processor time.
@Suite(.enabled(if: LongTests.areOn, "SQLCIPHERKIT_LONG_TESTS is not set"))
struct RealModelTests {
    /// The output of `scripts/bench vectors --texts`.
    private struct Texts: Decodable {
        struct Query: Decodable { let text: String, passage: Int64 }
        let passages: String, model: [String], queries: [Query]
    }

    private struct Killed: Error {}

    /// A Python process for each batch, with a text in each line.
    private struct Model: TextVectorizer {
        let program: [String]
        /// The beginning of a text whose batch ends the process by SIGKILL.
        var fatal: String?

        func vectors(for texts: [String]) async throws -> [[Float]] {
            let folder = try TemporaryFolder(), (lines, made) = (folder.path("texts"), folder.path("vectors"))
            // As the bench gives them to the model.
            let input = texts.map { $0.replacing("\n", with: ". ") + "\n" }.joined()
            try Data(input.utf8).write(to: URL(fileURLWithPath: lines))
            // On one thread: on a busy machine, several threads of the library for matrices wait for each other.
            let command = try Command(
                "sh", ["-c", "exec \"$@\" <\"$TEXTS\" >\"$VECTORS\"", "sh"] + program,
                environment: ["TEXTS": lines, "VECTORS": made, "OPENBLAS_NUM_THREADS": "1"])
            if let fatal, texts.contains(where: { $0.hasPrefix(fatal) }) { kill(command.process.processIdentifier, SIGKILL) }
            try await suspendUntil("the model has read \(texts.count) texts") { !command.process.isRunning }
            let outcome = try command.end()
            if outcome.status == -SIGKILL { throw Killed() }
            try #require(outcome.status == 0, "\(outcome.errors)")
            return try Data(contentsOf: URL(fileURLWithPath: made)).withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count, by: 4 * 384).map { start in
                    (0..<384).map { bytes.loadUnaligned(fromByteOffset: start + 4 * $0, as: Float.self) }
                }
            }
        }
    }

    @Test func hybridSearchRanksPassagesBetterThanWordsOrVectorsAloneAfterAKill() async throws {
        let listed = try Command.run(Repository.file("scripts/bench").path, ["vectors", "--texts"])
        try #require(listed.status == 0, "\(listed.errors)")
        let texts = try JSONDecoder().decode(Texts.self, from: Data(listed.output.utf8))
        let passages = try String(contentsOfFile: texts.passages, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        try #require(passages.count == 10_000 && texts.queries.count == 54)

        let folder = try TemporaryFolder(), key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        func open() throws -> Connection { try Connection(.file(folder.path("passages.db")), key: key) }
        do {
            let db = try open()
            try db.execute("CREATE TABLE passage(id INTEGER PRIMARY KEY, title TEXT, text TEXT)")
            try db.create(FTS5Table(
                "words", columns: ["title", "text"], content: .external(table: "passage"), tokenizer: .multilingual()))
            try db.create(VectorTable(
                "near", dimensions: 384, of: .int8, content: .external(table: "passage", columns: ["title", "text"])))
            try db.transaction { db in
                for passage in passages {
                    try db.execute("INSERT INTO passage VALUES (\(Int64(passage[0])), \(passage[1]), \(passage[2]))")
                }
            }
            // Of the third batch.
            let model = Model(program: texts.model, fatal: passages[1_200][1] + "\n" + passages[1_200][2])
            await #expect(throws: Killed.self) { _ = try await db.vectors("near").update(with: model, batchSize: 500) }
        }
        let db = try open(), words = try db.fullText("words"), near = try db.vectors("near"), model = Model(program: texts.model)
        #expect(try near.count == 1_000 && near.missingCount == 9_000)
        let made = try await near.update(with: model, batchSize: 500)
        #expect(try made == 9_000 && near.missingCount == 0 && near.passesIntegrityCheck())

        // A query has one passage, so its nDCG@10 is 1 / log2(1 + rank), or 0 if it is not among the ten best.
        let vectors = try await model.vectors(for: texts.queries.map(\.text))
        try #require(vectors.count == texts.queries.count)
        var gains = [Double](repeating: 0, count: 3)
        for (query, vector) in zip(texts.queries, vectors) {
            let found = [
                try words.search(query.text, limit: 10).hits.map(\.rowID), try near.search(vector, limit: 10).map(\.rowID),
                try db.search(HybridSearch(query.text, vector: vector, limit: 10), words: words, vectors: near).hits.map(\.rowID),
            ]
            for (way, ids) in found.enumerated() {
                guard let rank = ids.firstIndex(of: query.passage) else { continue }
                gains[way] += 1 / log2(Double(2 + rank)) / Double(vectors.count)
            }
        }
        print("nDCG@10 by words, by vectors and by both: \(gains)")
        #expect(gains[2] > gains[0] && gains[2] > gains[1] && gains[0] > 0.4 && gains[1] > 0.6, "\(gains)")
    }
}
