import CSQLCipher
import Foundation
import SQLCipherKitCore

extension Schema {
    /// A report of the places where ``Schema/findRemnants(of:progress:)`` found the bytes or words that it searched for.
    public struct RemnantReport: Hashable, Sendable {
        /// The kind of place.
        public struct Kind: Hashable, Sendable, CustomStringConvertible {
            /// The kind in words.
            public let description: String
            private init(_ words: String) { description = words }

            /// A row of a table, or an entry of an index, that is not deleted.
            public static let content = Kind("content")
            /// The index of a full-text table, as one of its words.
            public static let fullTextIndex = Kind("full-text index")
            /// A sample taken by `ANALYZE`.
            public static let statistics = Kind("statistics")
            /// Unused bytes of a page that is in use; in an R-Tree, also unused bytes of a node.
            public static let slack = Kind("slack")
            /// A page that is not in use, or after the end of the database.
            public static let freePage = Kind("free page")
            /// A page as it was before a transaction in the write-ahead log changed it.
            public static let replacedPage = Kind("replaced page")
            /// The write-ahead log, in an older version of a page.
            public static let wal = Kind("wal")
            /// The rollback journal, in an older version of a page.
            public static let journal = Kind("journal")
            /// A file left by a rewrite or a backup that was killed.
            public static let leftoverFile = Kind("leftoverFile")
        }

        /// A place where a text was found.
        public struct Place: Hashable, Sendable {
            /// The index of the text that was found, among the texts searched for.
            public let target: Int
            /// The kind of place.
            public let kind: Kind
            /// The file's path; nil for a database that is not in a file. For a page that is both in the log and in the database,
            /// this is the database's path.
            public let file: String?
            /// The number of the database page, counted from 1; nil if unknown.
            public let page: Int?
            /// The table or index that the page belongs to, if any.
            public let object: String?
            /// True if the content found is not deleted: a row, a word that occurs in a row, or a sample of such a row.
            public internal(set) var isLive: Bool
        }

        /// All places; each page is listed once per kind.
        public internal(set) var places: [Place] = []
        /// The number of pages searched, including their older images in the log and the journal.
        public internal(set) var pagesSearched = 0
        /// The number of these pages and images that the key does not open, because they are damaged, incomplete or from before a
        /// key change. Their content is unknown.
        public internal(set) var unreadablePages = 0

        /// The places that hold deleted or unused content.
        public var remnants: [Place] { places.filter { !$0.isLive } }
        /// True if all places are in content that is not deleted.
        public var isErased: Bool { places.allSatisfy(\.isLive) }
    }
}

extension Schema {
    /// Searches the database's files for words or other texts, in deleted content as well as in content that is not deleted.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE title = 'Foxes'")
    /// let report = try db.main.findRemnants(of: ["Foxes"])
    /// for place in report.remnants { print(place.kind, place.file ?? "", place.page ?? 0, place.object ?? "") }
    /// if !report.isErased { try db.main.eraseDeletedContent() }
    /// ```
    /// All pages are decrypted and searched: rows and index entries with their overflow pages, unused bytes of pages, and free
    /// pages. So are older images of pages in the write-ahead log and the rollback journal, and files left by a killed rewrite. In
    /// the index of a full-text table (FTS5), a text is found if all words into which the table's tokenizer splits it are there, or
    /// if one word contains it. A word may also be found in part, because an index omits the beginning that a word shares with the
    /// previous word. Elsewhere a text is found byte for byte, in UTF-8 and in the database's encoding. Case matters, except where
    /// a tokenizer folds it.
    ///
    /// The following are not found: text that the application stored compressed or encoded, partly overwritten text, words on
    /// deleted index pages if at most three bytes of the word follow the shared beginning, and remains of deleted rows in an FTS3
    /// or FTS4 index. Only the database is searched, not copies that the file system or the drive keeps.
    /// - Parameters:
    ///   - values: the texts to search for, or blobs such as `Data`, which are found byte for byte. No text or blob may be empty.
    ///   - progress: called every few pages. If it throws, this method throws the same error.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, ``DatabaseError/Reason/invalidArgument`` for an empty text or a
    ///   number, ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, or the error that prevents the files from
    ///   being read.
    public func findRemnants<Value: SQLValueConvertible>(
        of values: [Value], progress: DatabaseProgress.Handler? = nil
    ) throws -> RemnantReport {
        try live()
        let encoding = try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).encoding")) ?? "UTF-8"
        let targets = try values.map { try ResidueTarget($0.sqlValue, encoding: encoding) }
        if targets.contains(where: { $0.bytes.isEmpty }) { throw DatabaseError.invalidArgument("an empty text cannot be found") }
        if connection.isInTransaction { throw DatabaseError.misuse("the files lack the transaction's changes: commit first") }
        return try connection.usingExclusively {
            var report = RemnantReport()
            // In one snapshot, so that no page moves.
            try connection.withSnapshot {
                _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(qualified("sqlite_schema"))"))
                let search = try RemnantSearch(self, targets, progress.map { ProgressRelay($0, on: connection) })
                report = try search.run()
            }
            return report
        }
    }
}

/// The bytes or text to search for.
struct ResidueTarget {
    /// The bytes, in UTF-8 if it is a text.
    let bytes: [UInt8]
    /// The text; nil for bytes.
    let text: String?
    /// The byte sequences to search for.
    let forms: [[UInt8]]
    /// The forms in which a full-text index may hold a word that begins like the one before it: the length of the shared beginning,
    /// the length of the rest, and the rest.
    private let rests: [[UInt8]]

    init(_ value: SQLValue, encoding: String) throws {
        switch value {
        case .text(let text): self.init(text, encoding: encoding)
        case .blob(let data): self.init(Array(data))
        default: throw DatabaseError.invalidArgument("only texts and blobs can be searched for, not \(value.storageClass)")
        }
    }

    private init(_ bytes: [UInt8]) {
        (self.bytes, text, forms) = (bytes, nil, [bytes])
        rests = Self.rests(of: bytes)
    }

    private init(_ text: String, encoding: String) {
        self.text = text
        bytes = Array(text.utf8)
        let wide = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        switch encoding {
        case "UTF-16le": forms = [bytes, wide]
        case "UTF-16be": forms = [bytes, text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }]
        default: forms = [bytes]
        }
        rests = Self.rests(of: bytes) + (text.lowercased() == text ? [] : Self.rests(of: Array(text.lowercased().utf8)))
    }

    private static func rests(of word: [UInt8]) -> [[UInt8]] {
        let shortest = 4
        // The lengths of longer words take two bytes.
        guard word.count > shortest, word.count < 126 else { return [] }
        // A word follows one byte that tells which of the indexes it belongs to.
        return (1...word.count - shortest).map { [UInt8($0 + 1), UInt8(word.count - $0)] + word[$0...] }
    }

    /// The ranges where the text occurs in bytes.
    func ranges(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] { forms.flatMap { Self.ranges(of: $0, in: bytes) } }

    static func ranges(of form: [UInt8], in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = 0
        form.withUnsafeBytes { form in
            while start + form.count <= bytes.count, let base = bytes.baseAddress,
                let hit = sqlcipherkit_find(base + start, bytes.count - start, form.baseAddress, form.count)
            {
                let at = hit - base
                found.append(at..<at + form.count)
                start = at + 1
            }
        }
        return found
    }

    func stands(in bytes: some ContiguousBytes) -> Bool {
        bytes.withUnsafeBytes { bytes in forms.contains { !Self.ranges(of: $0, in: bytes).isEmpty } }
    }

    /// Returns whether it occurs as a whole, or in a form in which a full-text index may hold it.
    func standsInPart(in bytes: some ContiguousBytes) -> Bool {
        bytes.withUnsafeBytes { bytes in (forms + rests).contains { !Self.ranges(of: $0, in: bytes).isEmpty } }
    }
}
