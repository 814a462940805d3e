import Foundation
import SQLCipherKit

/// This package's search, for scripts/bench search. The commands are those of BenchFTS5/main.c, `correction PATH`, which answers
/// the number of corrections of each line's word, and `languages NAME…`, which sets the languages of `typed`. `newest` and `pages`
/// look for each line as typed text. A third argument is the index: `typed` for the one that searches typed text, or `porter`
/// for the very index that BenchFTS5 makes.
@main
struct BenchSearch {
    let documents: String
    let path: String
    let isForTyping: Bool
    var db: Connection
    /// Made once for a connection, as a program does, and as BenchFTS5 prepares its statements once.
    var notes: FullTextIndex?
    var languages: Set<FullTextSearch.Language> = [.english]

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, ["typed", "porter"].contains(arguments[3]) else { exit(2) }
        let path = "\(arguments[2])/\(arguments[3]).db"
        var bench = BenchSearch(
            documents: arguments[1], path: path, isForTyping: arguments[3] == "typed", db: try opened(path))
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            try bench.answer(words.first ?? "", words.count > 1 ? words[1] : "")
        }
    }

    static func opened(_ path: String) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        return try Connection(.file(path), key: .raw(Array(0..<32)), configuration: configuration)
    }

    mutating func answer(_ command: String, _ file: String) throws {
        switch command {
        case "build": say(try build())
        case "open":
            notes = nil
            say("\(try timed { db = try Self.opened(path) })")
        case "intact": say("\(try timed { guard try db.fullText("note_fts").passesIntegrityCheck() else { exit(1) } })")
        case "insert": say("\(try add(file))")
        case "search": try run(file, search)
        case "typed": try run(file, typed)
        case "newest": try run(file, newest)
        case "pages": try run(file, pages)
        case "commits": try commits(file)
        case "facets": try run(file, facets)
        case "correction": try run(file, correction)
        case "languages":
            languages = Set(file.split(separator: " ").compactMap { name in FullTextSearch.Language.allCases.first { "\($0)" == name } })
            say("\(languages.count)")
        default: say("-")
        }
    }

    // MARK: - What is measured

    private func search(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        try notes.search(Self.words(text), limit: 20).hits.map(\.rowID)
    }

    private static func words(_ text: String) -> FTS5Query { .all(text.split(separator: " ").map { .phrase(String($0)) }) }

    private func typed(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        var search = FullTextSearch(text)
        search.languages = languages
        return try notes.search(search).hits.map(\.rowID)
    }

    private func newest(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        var search = FullTextSearch(text + " ")
        search.filter = "id > (SELECT max(id) * 99 / 100 FROM note)"
        return try notes.search(search).hits.map(\.rowID)
    }

    private func pages(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        var search = FullTextSearch(text + " ")
        return try (0..<50).flatMap { page in
            search.offset = 20 * page
            return try notes.search(search).hits.map(\.rowID)
        }
    }

    private func facets(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        let query = Self.words(text)
        let tags: [(String, Int64)] = try db.fetchAll(
            """
            SELECT value, count(*) FROM note_fts JOIN note ON note.id = note_fts.rowid, json_each(note.tags)
            WHERE note_fts MATCH \(query) GROUP BY value ORDER BY count(*) DESC, value LIMIT 10
            """)
        return tags.map(\.1)
    }

    private func correction(_ notes: FullTextIndex, _ text: String) throws -> [Int64] {
        try notes.corrections(of: text).map { Int64($0.documents) }
    }

    private func build() throws -> String {
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, date TEXT, tags TEXT)")
        _ = try add(documents)
        let before = try bytes()
        let index =
            isForTyping
            ? FTS5Table(
                "note_fts", columns: ["title", "body"], content: .external(table: "note", rowID: "id"), tokenizer: .multilingual())
            : FTS5Table(
                "note_fts", columns: ["title", "body"], content: .external(table: "note", rowID: "id"),
                tokenizer: .porter(.unicode61()), prefixes: [2, 3])
        let time = try timed { try db.create(index) }
        let after = try bytes()
        return "\(time) \(after - before) \(after)"
    }

    /// Of the file.
    private func bytes() throws -> Int {
        _ = try db.main.checkpoint(.truncate)
        return try URL(fileURLWithPath: path).resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }

    private func add(_ file: String) throws -> Int {
        let (insert, documents) = (try insertion(), try documents(of: file))
        return try timed { try db.transaction { _ in for document in documents { try insert(document) } } }
    }

    /// Inserts each document in a transaction of its own.
    private func commits(_ file: String) throws {
        let insert = try insertion()
        let times = try documents(of: file).map { document in try timed(by: searchClock) { try insert(document) } }
        say(times.map { "\($0)\t\n" }.joined() + ".")
    }

    private func insertion() throws -> ([String]) throws -> Void {
        let insert = try db.prepare("INSERT INTO note VALUES (?, ?, ?, ?, ?)")
        return { try insert.execute(binding: Int64($0[0]), $0[1], $0[2], $0[3], $0[4]) }
    }

    private func documents(of file: String) throws -> [[String]] {
        try lines(of: file).map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }

    // MARK: - Commands

    private mutating func run(_ file: String, _ body: (FullTextIndex, String) throws -> [Int64]) throws {
        let index = try notes ?? db.fullText("note_fts")
        notes = index
        var answer = ""
        for line in try lines(of: file) {
            var found: [Int64] = []
            let time = try timed(by: searchClock) { found = try body(index, line) }
            answer += "\(time)\t\(found.map(String.init).joined(separator: ","))\n"
        }
        say(answer + ".")
    }

    private func lines(of file: String) throws -> [String] {
        try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}

/// The clock that times searches; BenchFTS5/main.c says why there are two.
private let searchClock = getenv("BENCH_THREAD_TIME") == nil ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID

/// Nanoseconds.
private func timed(by clock: clockid_t = CLOCK_MONOTONIC, _ body: () throws -> Void) rethrows -> Int {
    func now() -> Int {
        var time = timespec()
        clock_gettime(clock, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    let start = now()
    try body()
    return now() - start
}

/// A line, at once: `print` keeps it back when a pipe reads.
private func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
