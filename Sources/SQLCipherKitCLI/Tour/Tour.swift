import Foundation
import SQLCipherKit

/// Shows what the package can do, on the files of a folder.
struct Tour {
    private static let steps = 6

    let files: TourFiles
    let source: FolderImport
    /// The words to search for; chosen from the texts if empty.
    private(set) var words: [String]
    private let style = Terminal.style
    private var number = 0
    private var passphrase = TourFiles.randomPassphrase()

    init(_ source: FolderImport, into files: TourFiles, words: [String]) {
        self.source = source
        self.files = files
        self.words = words
    }

    mutating func run() throws {
        var db = try step("Read the text files into a new encrypted database with a full-text index and a JSON column") {
            try $0.index()
        }
        try step("Search the full text") { try $0.search(db) }
        try step("Query the JSON column") { try $0.queryJSON(db) }
        try step("Attach a second database, encrypted with a raw key of its own") { try $0.attach(db) }
        try step("Change the key") { try $0.changeKey(&db) }
        try step("Look at the bytes on disk") { try $0.prove(db) }
    }

    // MARK: The steps

    private mutating func index() throws -> Connection {
        try files.write(passphrase, to: files.keyFile)
        let db = try Connection(.file(files.database), key: .passphrase(passphrase))
        try Interruption.stop(db)
        let report = try source.run(db, BatchWriter(db, rowsPerBatch: 10_000))
        report.warn()
        say("\(report.documents.counted("file")), \(report.textSize.bytes) of text")
        if let omissions = report.omissions { say(omissions) }
        say("the key is derived from a random passphrase, kept in \(files.keyFile)")
        return db
    }

    private mutating func search(_ db: Connection) throws {
        if words.isEmpty { words = try SearchWords.choose(from: db) }
        guard !words.isEmpty else { return say("no document has a word of six letters or more, so there is nothing to search for") }
        let index = try SearchedTable(db, path: files.database)
        let result = try index.search(words, limit: 3)
        let hits = result.hits
        let best = hits.count < result.total.count ? ", the best \(hits.count)" : ""
        say("“\(words.joined(separator: " ").onOneLine)”: \(result.counted)\(best)")
        for (index, hit) in hits.enumerated() {
            for line in hit.lines(index + 1, style) { say(line) }
        }
    }

    private func queryJSON(_ db: Connection) throws {
        try show(
            db,
            """
            SELECT coalesce(nullif(meta->>'$.extension', ''), '(none)') AS extension, count(*) AS files,
                   sum(meta->>'$.lines') AS lines, sum(meta->>'$.words') AS words
            FROM document GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
            """)
        let folders = try db.fetchOne(Int.self, "SELECT count(*) FROM document, json_each(meta, '$.folders')") ?? 0
        Output.line()
        if folders > 0 {
            try show(
                db,
                """
                SELECT folder.value AS folder, count(*) AS files
                FROM document, json_each(meta, '$.folders') AS folder GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
                """)
        } else {
            try show(
                db,
                """
                SELECT path, meta->>'$.words' AS words, meta->>'$.lines' AS lines
                FROM document WHERE meta->>'$.words' > 0 ORDER BY words DESC LIMIT 5
                """)
        }
    }

    private func attach(_ db: Connection) throws {
        try files.write(TourFiles.randomRawKey(), to: files.archiveKeyFile)
        guard let key = try KeySource.file(files.archiveKeyFile, as: .hexadecimal).key() else {
            throw Failure("the key file \(files.archiveKeyFile) is gone")
        }
        try db.withAttached(.file(files.archive), as: "archive", key: key) { _ in
            try db.transaction { db in
                try db.execute("CREATE TABLE archive.document(id INTEGER PRIMARY KEY, path TEXT, meta BLOB, body TEXT)")
                try db.execute(
                    """
                    INSERT INTO archive.document SELECT id, path, meta, body FROM main.document
                    WHERE meta->>'$.words' >= (SELECT avg(meta->>'$.words') FROM main.document)
                    """)
            }
            let copied = try db.fetchOne(Int.self, "SELECT count(*) FROM archive.document") ?? 0
            say("copied \(copied.counted("file")) of more than average length into \(files.archive), in one transaction")
            let same =
                try db.fetchOne(
                    Int.self, "SELECT count(*) FROM main.document AS a JOIN archive.document AS b USING (id) WHERE a.body = b.body")
                ?? 0
            say("a join over both databases finds \(same.grouped) with the same text")
        }
        say("detached")
    }

    private mutating func changeKey(_ db: inout Connection) throws {
        // The new key is on disk before the database needs it: whatever happens in between, one of the two files opens it.
        let new = TourFiles.randomPassphrase()
        let newFile = files.keyFile + ".new"
        try files.write(new, to: newFile)
        // Only the rewrite's own progress handler may interrupt it.
        try db.settings.setProgressHandler(nil)
        try db.changeKey(to: .passphrase(new), progress: ProgressBar.rewriting("Encrypting again"))
        guard rename(newFile, files.keyFile) == 0 else {
            throw Failure("the key file \(newFile) cannot be renamed: \(systemMessage(errno))")
        }
        say("every page is encrypted again; \(files.keyFile) holds the new passphrase")
        db.close()
        do {
            _ = try Connection(.file(files.database), key: .passphrase(passphrase))
            throw Failure("the old passphrase still opens \(files.database)")
        } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
            say("the old passphrase is refused: \(error.message)")
        }
        passphrase = new
        db = try Connection(.file(files.database), key: .passphrase(new))
        try Interruption.stop(db)
        let check = try db.fetchOne(String.self, "PRAGMA integrity_check") ?? ""
        guard check == "ok" else { throw Failure("the database is damaged: \(check)") }
        say("with the new one the database opens, and its integrity check says \(check)")
    }

    private func prove(_ db: Connection) throws {
        let pieces: [(String, String)] = try db.fetchAll(
            "SELECT path, substr(body, length(body) / 2, 24) FROM document WHERE size >= 48 ORDER BY size DESC LIMIT 20")
        db.close()
        for file in [files.database, files.archive] {
            let proof = try CipherProof(file)
            say("\(file), \(proof.count.bytes), begins with")
            for line in proof.dump(32) { say("  " + line) }
            guard !proof.hasPlaintextHeader else { throw Failure("\(file) is not encrypted") }
            for (_, text) in pieces where proof.contains(text) { throw Failure("\(file) holds the plaintext “\(text)”") }
            say("  which is no SQLite header")
        }
        // Also search where the text must be found: otherwise finding nothing would prove nothing.
        let found = try pieces.count { path, text in try CipherProof(source.folder + "/" + path).contains(text) }
        say(
            "\(pieces.count.counted("piece")) of text searched for: \(found.grouped) found in the folder's files, "
                + "none in the databases")
    }

    // MARK: Output

    private mutating func step<R>(_ title: String, _ body: (inout Tour) throws -> R) throws -> R {
        try Interruption.check()
        number += 1
        Output.line(style.title("\(number)/\(Self.steps)  \(title)"))
        try Output.flush()
        let start = ContinuousClock.now
        let result = try body(&self)
        Output.line(style.dim("     took \(start.duration(to: .now).readable)"))
        Output.line()
        try Output.flush()
        return result
    }

    private func say(_ text: String) { Output.line("     " + text) }

    private func show(_ db: Connection, _ sql: String) throws {
        for line in sql.split(separator: "\n") { say(style.dim(String(line))) }
        let statement = try db.prepare(SQL(raw: sql))
        let writer = TableWriter(statement.columnNames, indentation: "     ")
        try statement.forEach { row in try writer.write(row) }
        writer.finish()
    }
}

/// A file's bytes, examined for signs of its content.
struct CipherProof {
    private let bytes: Data

    /// - Throws: ``Failure`` if the file cannot be read. No connection to it may be open in this process: closing the file
    ///   would drop that connection's locks.
    init(_ path: String) throws {
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped) } catch {
            throw Failure("\(path) cannot be read")
        }
    }

    var count: Int { bytes.count }

    /// True if the file begins as every plaintext SQLite database does.
    var hasPlaintextHeader: Bool { bytes.starts(with: Data("SQLite format 3\0".utf8)) }

    func contains(_ text: String) -> Bool { bytes.range(of: Data(text.utf8)) != nil }

    /// The first bytes in hexadecimal and as characters, 16 in a line.
    func dump(_ count: Int) -> [String] {
        stride(from: 0, to: min(count, bytes.count), by: 16).map { offset in
            let row = bytes[offset..<min(offset + 16, bytes.count)]
            let digits = row.map { String(format: "%02x", $0) }.joined(separator: " ")
            let characters = row.map { (0x20..<0x7f).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            return String(format: "%08x  ", offset) + digits.padded(toColumns: 47) + "  |" + characters + "|"
        }
    }
}

/// Words worth searching for in documents of unknown content.
enum SearchWords {
    /// A word that many but not most documents contain, and the word found together with it most often. Fewer if there are none.
    static func choose(from db: Connection) throws -> [String] {
        let texts = try db.fetchAll(String.self, "SELECT substr(body, 1, 20000) FROM document ORDER BY size DESC LIMIT 200")
        let bodies = texts.map(words)
        let usable = Set(documents(bodies).filter { $0.value <= max(1, bodies.count / 2) }.keys)
        guard let first = best(bodies, usable) else { return [] }
        return [first] + (best(bodies.filter { $0.contains(first) }, usable.subtracting([first])).map { [$0] } ?? [])
    }

    /// The words of 6 to 24 bytes. Most shorter words are in every text.
    private static func words(_ text: String) -> Set<String> {
        Set(text.split { !$0.isLetter }.filter { (6...24).contains($0.utf8.count) }.map { $0.lowercased() })
    }

    /// The number of documents with each word.
    private static func documents(_ bodies: [Set<String>]) -> [String: Int] {
        bodies.reduce(into: [:]) { counts, words in for word in words { counts[word, default: 0] += 1 } }
    }

    /// The word that is in most documents; of several, the first in the alphabet, so that the same folder gives the same words.
    private static func best(_ bodies: [Set<String>], _ usable: Set<String>) -> String? {
        documents(bodies).filter { usable.contains($0.key) }.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }
}
