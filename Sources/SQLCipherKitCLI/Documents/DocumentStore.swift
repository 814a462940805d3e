import Foundation
import SQLCipherKit

/// A database of documents: their table, and the full-text index over it.
struct DocumentStore {
    static let index = "document_search"

    let db: Connection

    /// The store in an open database.
    /// - Throws: ``Failure`` if the database is another one.
    init(_ db: Connection, path: String) throws {
        guard try db.fullTextTables().contains(Self.index) else {
            throw Failure("\(path) holds no indexed documents: sqlcipherkit index makes such a database")
        }
        self.db = db
    }

    /// Makes a new database and fills it in one transaction; if `fill` throws, no file is left.
    static func make<R>(_ path: String, key: EncryptionKey, fill: @escaping (Writer) throws -> R) throws -> (Connection, R) {
        // Opening runs the closure on this thread, before it returns.
        nonisolated(unsafe) var result: R?
        nonisolated(unsafe) let fill = fill
        var configuration = Configuration()
        configuration.onCreate = { db in
            // Room for what the index holds before it is written, so that pages are encrypted once and not over and over.
            try db.execute("PRAGMA cache_size = -65536")
            try createSchema(in: db)
            result = try fill(Writer(db))
        }
        let db = try Connection(.file(path), key: key, configuration: configuration)
        guard let result else { throw Failure("the database \(path) exists already") }
        return (db, result)
    }

    private static func createSchema(in db: Connection) throws {
        try db.execute(
            """
            CREATE TABLE document(
                id INTEGER PRIMARY KEY,
                path TEXT NOT NULL,
                title TEXT NOT NULL,
                size INTEGER NOT NULL,      -- bytes of UTF-8
                modified TEXT NOT NULL,     -- ISO 8601, UTC
                meta BLOB NOT NULL,         -- JSONB: name, extension, folders, lines, words
                body TEXT NOT NULL          -- last, so that a query of the others does not read through it
            ) STRICT
            """)
        try db.execute("CREATE INDEX document_path ON document(path)")
        try db.create(
            FTS5Table(
                index, columns: ["title", "body", "path"], content: .external(table: "document", rowID: "id"),
                tokenizer: .porter(.unicode61()), prefixes: [2, 3]))
    }

    /// Adds documents.
    struct Writer {
        private let insert: Statement

        fileprivate init(_ db: Connection) throws {
            insert = try db.prepare("INSERT INTO document(path, title, size, modified, meta, body) VALUES (?, ?, ?, ?, ?, ?)")
        }

        func add(_ document: Document) throws {
            try insert.execute(
                binding: document.path, document.title, document.size, document.modified, document.meta, document.body)
        }
    }

    // MARK: Searching

    /// What somebody typed as a query.
    static func query(_ words: [String]) -> FTS5Query {
        FTS5Query(userInput: words.joined(separator: " "), options: .init(columns: ["title", "body", "path"]))
    }

    /// The best hits, a word in the title or path counting more than one in the text, and the number of all.
    func search(_ query: FTS5Query, limit: Int) throws -> (hits: [DocumentHit], total: Int) {
        let hits = try db.search(
            Self.index, query, weights: [5, 1, 3], snippet: .column("body", words: 24), highlights: ["title"], columns: ["path"],
            limit: limit)
        return (try hits.map(DocumentHit.init), try db.searchCount(Self.index, query))
    }
}

/// A document that a search has found.
struct DocumentHit {
    let path: String
    let title: MarkedText
    let snippet: MarkedText
    /// The greater the better. It compares the hits of one search and means nothing beyond it.
    let score: Double

    init(_ hit: SearchHit) throws {
        path = try hit["path"]
        title = hit.highlights["title"] ?? MarkedText("")
        snippet = hit.snippet
        score = -hit.rank
    }

    /// The hit as the lines that a person reads.
    func lines(_ number: Int, _ style: Terminal.Style, indentation: String = "") -> [String] {
        let label = "\(number).".padded(toColumns: 4)
        return [
            indentation + label + style.number(path.onOneLine) + "  " + Self.readable(title, style) { style.bold($0) },
            indentation + "    " + Self.readable(snippet, style) { $0 },
        ]
    }

    /// Marked text on one line: runs of blanks and line ends become one blank, so that code and tables read as a sentence.
    private static func readable(_ text: MarkedText, _ style: Terminal.Style, _ plain: (String) -> String) -> String {
        var line = ""
        for part in text.parts {
            var words = part.text.split(whereSeparator: \.isWhitespace).joined(separator: " ").onOneLine
            if part.text.first?.isWhitespace == true { words = " " + words }
            if part.text.last?.isWhitespace == true, !words.hasSuffix(" ") { words += " " }
            line += part.isMarked ? style.match(words) : plain(words)
        }
        return line
    }

    var json: JSONValue {
        [
            "path": .string(path), "title": .string(title.text), "score": .real(score), "snippet": .string(snippet.text),
            "matches": .array(snippet.parts.filter(\.isMarked).map { .string(String($0.text)) }),
        ]
    }
}
