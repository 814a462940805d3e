import Foundation
import SQLCipherKit
import SQLCipherKitVectors

/// Tables of vectors, for scripts/bench vectors: builds one from a file of four-byte numbers, or searches the one that it has built
/// before, and prints figures and hits as JSON.
///
/// The arguments are a folder, a file of vectors and one of queries, the dimensions, how the numbers are stored, whether the
/// database is encrypted, whether a search looks at bits first (`exact` or `coarse`), and how many rounds of searches there are
/// after the first one.
/// Times are processor times in seconds, and of the first search after opening also one by the clock: no cache has the file then.
/// Memory is what the searches add to the process, in bytes, with all of the table in SQLite's cache.
///
/// With `judged` and four files (passages, their vectors, queries, their vectors), it prints the ten best row ids for each query by
/// words, by vectors and by both. A line of the passages has a row id, a title and a text, with tabs between them.
@main struct BenchVectors {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 6, arguments[0] == "judged", let dimensions = Int(arguments[5]) {
            return try searchJudged(passages: arguments[1], vectors: arguments[2], queries: arguments[3], arguments[4], dimensions)
        }
        guard arguments.count == 8, let dimensions = Int(arguments[3]), let element = VectorTable.Element(rawValue: arguments[4]),
            let rounds = Int(arguments[7])
        else { return print("FOLDER VECTORS QUERIES DIMENSIONS ELEMENT encrypted|plain exact|coarse ROUNDS") }
        let path = arguments[0] + "/vectors.db"
        let key: DatabaseKey = arguments[5] == "plain" ? .plaintext : try .raw([UInt8](repeating: 7, count: 32))
        let isCoarse = arguments[6] == "coarse"
        var figures: [String: Double] = [:], hits: [[Int64]] = []
        if !FileManager.default.fileExists(atPath: path) {
            let vectors = try read(arguments[1], dimensions)
            let db = try Connection(.file(path), key: key)
            try db.main.setJournalMode(.wal)
            try db.create(VectorTable("v", dimensions: dimensions, of: element, keepsBits: isCoarse))
            let table = try db.vectors("v")
            figures["build"] = try time {
                for start in stride(from: 0, to: vectors.count, by: 1_000) {
                    try table.set((start..<min(start + 1_000, vectors.count)).map { (id: Int64($0), vector: vectors[$0]) })
                }
            }
        } else {
            try search(path, key, try read(arguments[2], dimensions), rounds, isCoarse, &figures, &hits)
        }
        figures["bytes"] = Double(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        let output = try JSONEncoder().encode(figures), found = try JSONEncoder().encode(hits)
        print("{\"figures\": \(String(decoding: output, as: UTF8.self)), \"hits\": \(String(decoding: found, as: UTF8.self))}")
    }

    private static func search(
        _ path: String, _ key: DatabaseKey, _ queries: [[Float]], _ rounds: Int, _ isCoarse: Bool,
        _ figures: inout [String: Double], _ hits: inout [[Int64]]
    ) throws {
        #if os(Linux)
        // The file leaves the system's cache too.
        let file = open(path, O_RDONLY)
        _ = (fdatasync(file), posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), close(file))
        #endif
        let before = memory()
        let db = try Connection(.file(path), key: key)
        // Room for the table: what is measured first is a cold cache, and then a warm one.
        try db.execute("PRAGMA cache_size = -4000000")
        let table = try db.vectors("v")
        func search(_ query: [Float], _ filter: SQL? = nil) throws -> [VectorSearch.Hit] {
            var search = VectorSearch(query, limit: 10)
            search.coarse = isCoarse ? .bits() : nil
            search.filter = filter
            return try table.search(search)
        }
        figures["cold clock"] = try time(CLOCK_MONOTONIC) { figures["cold"] = try time { _ = try search(queries[0]) } }
        if rounds == 0 { return }
        figures["top 10"] = try median((0..<rounds).map { round in
            try time {
                let found = try queries.map { try search($0) }
                if round == 0 { hits = found.map { $0.map(\.rowID) } }
            } / Double(queries.count)
        })
        figures["filter"] = try median((0..<rounds).map { _ in
            try time { for query in queries { _ = try search(query, "id % 100 = 7") } } / Double(queries.count)
        })
        figures["memory"] = memory() - before
    }

    private static func searchJudged(
        passages: String, vectors: String, queries: String, _ queryVectors: String, _ dimensions: Int
    ) throws {
        func lines(_ path: String) throws -> [Substring] { try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") }
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE passage(id INTEGER PRIMARY KEY, title TEXT, text TEXT)")
        try db.create(FTS5Table(
            "words", columns: ["title", "text"], content: .external(table: "passage"), tokenizer: .multilingual()))
        try db.create(VectorTable(
            "vectors", dimensions: dimensions, of: .int8, content: .external(table: "passage", columns: ["title", "text"])))
        let (words, near) = (try db.fullText("words"), try db.vectors("vectors"))
        try db.transaction { db in
            for line in try lines(passages) {
                let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
                try db.execute("INSERT INTO passage VALUES (\(Int64(fields[0])), \(fields[1]), \(fields[2]))")
            }
            try near.set(try read(vectors, dimensions).enumerated().map { (id: Int64($0.offset + 1), vector: $0.element) })
        }
        let asked = zip(try lines(queries).map(String.init), try read(queryVectors, dimensions))
        let hits = try asked.map { text, vector in
            [try words.search(text, limit: 10).hits.map(\.rowID), try near.search(vector, limit: 10).map(\.rowID),
             try db.search(HybridSearch(text, vector: vector, limit: 10), words: words, vectors: near).hits.map(\.rowID)]
        }
        print(String(decoding: try JSONEncoder().encode(hits), as: UTF8.self))
    }

    private static func read(_ path: String, _ dimensions: Int) throws -> [[Float]] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return data.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count - 4 * dimensions + 1, by: 4 * dimensions).map { start in
                (0..<dimensions).map { bytes.loadUnaligned(fromByteOffset: start + 4 * $0, as: Float.self) }
            }
        }
    }

    /// The most memory that the process had, in bytes.
    private static func memory() -> Double {
        var usage = rusage()
        // RUSAGE_SELF, which Swift has as another type on Linux.
        getrusage(0, &usage)
        #if os(Linux)
        return Double(usage.ru_maxrss) * 1024
        #else
        return Double(usage.ru_maxrss)
        #endif
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func time(_ clock: clockid_t = CLOCK_PROCESS_CPUTIME_ID, _ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(clock, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try body()
        return now() - start
    }
}
