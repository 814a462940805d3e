import SQLCipherKitCore
import SQLCipherKitSearch

/// Rewrites a full-text index without the words that occur only in deleted rows.
///
/// FTS5 marks the words of a deleted row as deleted in a new segment, and both remain until the two segments are merged; with its
/// `secure-delete`, a page keeps parts of them. Merging does nothing if there is only one segment, and drops the marks only if the
/// result is the oldest segment.
struct FullTextErasure {
    private let index: FullTextIndex
    private var connection: Connection { index.connection }

    init(_ index: FullTextIndex) { self.index = index }

    /// - Returns: whether the index matches its content; true if there is no content to compare it with.
    func run() throws -> Bool {
        let options = try index.options()
        guard let content = options["content"] else {
            try index.rebuild()
            return true
        }
        // The index was made by this package: triggers keep it in sync with the content, and a rebuild also empties the table in
        // which they keep replaced values.
        if !content.isEmpty, try index.schema.has(index.name + ContentSync.Suffix.replaced), try index.content() != nil {
            try index.rebuild()
            return true
        }
        try writeSegments(canDeleteRows: options["contentless_delete"].map { $0 != "0" } ?? false)
        // An index may intentionally hold fewer rows than its content, so it is not rebuilt from it here.
        return try content.isEmpty || matchesContent()
    }

    /// Merges all segments with temporary entries, which ensure that there is something to merge, and removes these entries.
    private func writeSegments(canDeleteRows: Bool) throws {
        try index.optimize()
        guard let text = try textWithWords() else { return }
        let columns = try index.columns()
        let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let values = SQL(raw: Array(repeating: text.quotedSQLLiteral, count: columns.count).joined(separator: ", "))
        let table = index.qualifiedName
        // Ids far from those of real rows.
        let ids = (0..<2).map { Int64.min / 2 + Int64.random(in: 0..<1 << 60) * 2 + $0 }
        for id in ids {
            // The first may end up in a segment that is not the oldest, the second cannot.
            try connection.execute("INSERT INTO \(raw: table)(rowid, \(raw: names)) VALUES (\(id), \(values))")
            try index.optimize()
        }
        for id in ids {
            if canDeleteRows {
                try connection.execute("DELETE FROM \(raw: table) WHERE rowid = \(id)")
            } else {
                try connection.execute(
                    """
                    INSERT INTO \(raw: table)(\(identifier: index.name), rowid, \(raw: names))
                    VALUES ('delete', \(id), \(values))
                    """)
            }
        }
        try index.optimize()
    }

    /// A text in which the table's tokenizer finds words.
    private func textWithWords() throws -> String? {
        let candidates = ["sqlcipherkit", "0", "\u{4E00}\u{4E8C}\u{4E09}"] + (try index.terms(limit: 1).map(\.term))
        return try candidates.first { try !index.tokens(of: $0, for: .document).isEmpty }
    }

    private func matchesContent() throws -> Bool {
        do throws(DatabaseError) { return try index.isIntact() } catch {
            // The content is missing.
            if error.code.primary == .error { return false }
            throw error
        }
    }
}
