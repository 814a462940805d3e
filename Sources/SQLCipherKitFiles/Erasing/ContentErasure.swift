import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch

/// Removes deleted content from inside stored values, which a vacuum copies byte for byte: full-text indexes, R-Trees and the
/// samples of `ANALYZE`. Runs inside a transaction.
struct ContentErasure {
    private let schema: Schema
    private let reporter: RewriteReporter?
    private var connection: Connection { schema.connection }

    init(of schema: Schema, _ reporter: RewriteReporter?) {
        self.schema = schema
        self.reporter = reporter
    }

    func run(_ report: inout Schema.ErasureReport) throws {
        for index in try schema.fullTextIndexes() {
            try reporter?.report()
            if try !FullTextErasure(index).run() { report.unmatchedIndexes.append(index.name) }
            report.fullTextIndexes.append(index.name)
        }
        let virtual = try schema.entries(where: "type = 'table' AND rootpage = 0 AND sql LIKE 'CREATE VIRTUAL TABLE%'")
        for table in virtual where !report.fullTextIndexes.contains(table.name) {
            if try Self.isTree(table, schema) {
                if try clearNodes(of: table.name) { report.trees.append(table.name) }
            } else if try Self.isOlderFullText(table, schema) {
                if try !rewriteOlderIndex(table) { report.unmatchedIndexes.append(table.name) }
                report.fullTextIndexes.append(table.name)
            } else if try hasTables(table) {
                report.otherVirtualTables.append(table.name)
            }
        }
        report.analyzedTables = try takeNewSamples()
    }

    // MARK: R-Trees

    static func isTree(_ table: SchemaEntry, _ schema: Schema) throws -> Bool {
        try table.sql?.lowercased().contains("using rtree") == true && schema.has(table.name + "_node")
    }

    /// The size of an R-Tree entry: an id of 8 bytes, and 4 bytes for each coordinate.
    static func entrySize(of table: String, _ schema: Schema) throws -> Int {
        // Auxiliary columns, which are not coordinates, are stored with the row id and the node's number.
        let extra = try schema.columns(of: table + "_rowid").count - 2
        return try 8 + 4 * (schema.columns(of: table).count - 1 - extra)
    }

    /// Clears the unused bytes of nodes. A node is a blob of fixed size that holds a number of fixed-size cells
    /// (<https://sqlite.org/rtree.html>). The bytes of the last cell remain when it is deleted, or when it is moved to replace
    /// another.
    /// - Returns: whether any node was changed.
    private func clearNodes(of table: String) throws -> Bool {
        let cell = try Self.entrySize(of: table, schema)
        let nodes = schema.qualified(table + "_node")
        var changed: [(Int64, Data)] = []
        try connection.forEach("SELECT nodeno, data FROM \(raw: nodes)") { row in
            var data: Data = try row[1]
            guard let count = data.bigEndian(at: 2, bytes: 2) else { return }
            let end = 4 + cell * count
            guard end < data.count, data[end...].contains(where: { $0 != 0 }) else { return }
            data.resetBytes(in: end..<data.count)
            let node: Int64 = try row[0]
            changed.append((node, data))
        }
        guard !changed.isEmpty else { return false }
        let isDefensive = try connection.settings.isEnabled(.defensive)
        try connection.settings.setEnabled(.defensive, to: false)
        defer { _ = try? connection.settings.setEnabled(.defensive, to: isDefensive) }
        for (node, data) in changed { try connection.execute("UPDATE \(raw: nodes) SET data = \(data) WHERE nodeno = \(node)") }
        return true
    }

    /// Returns whether a virtual table appears to store data in tables of the database, judging by the names that most modules use.
    private func hasTables(_ table: SchemaEntry) throws -> Bool {
        let sql = table.sql?.lowercased() ?? ""
        guard !["using fts5vocab", "using fts4aux"].contains(where: sql.contains) else { return false }
        let others = try schema.entries(where: "type = 'table' AND rootpage > 0")
        return others.contains { $0.name.lowercased().hasPrefix(table.name.lowercased() + "_") }
    }

    // MARK: FTS3 and FTS4

    static func isOlderFullText(_ table: SchemaEntry, _ schema: Schema) throws -> Bool {
        let sql = table.sql?.lowercased() ?? ""
        return try (sql.contains("using fts3") || sql.contains("using fts4")) && !sql.contains("using fts4aux")
            && schema.has(table.name + "_segdir")
    }

    /// Rewrites an FTS3 or FTS4 index (<https://sqlite.org/fts3.html#_optimize_>).
    /// - Returns: whether the index matches its content.
    private func rewriteOlderIndex(_ table: SchemaEntry) throws -> Bool {
        func command(_ command: String) throws {
            let index = schema.qualified(table.name)
            try connection.execute("INSERT INTO \(raw: index)(\(identifier: table.name)) VALUES (\(command))")
        }
        guard let content = FTS5Declaration.options(in: table.sql ?? "")["content"] else {
            try command("rebuild")
            return true
        }
        try command("optimize")
        if content.isEmpty { return true }
        do { try command("integrity-check") } catch let error as DatabaseError where .corrupt ~= error.code { return false }
        return true
    }

    // MARK: Statistics

    /// Replaces the samples of `ANALYZE`, which are copies of index rows at the time.
    private func takeNewSamples() throws -> [String] {
        // Older versions of SQLite created these; newer ones do not read them (https://sqlite.org/fileformat2.html#stat3tab).
        for table in ["sqlite_stat2", "sqlite_stat3"] where try schema.has(table) {
            try connection.execute("DELETE FROM \(raw: schema.qualified(table))")
        }
        guard try schema.has("sqlite_stat4") else { return [] }
        let samples = schema.qualified("sqlite_stat4")
        let tables = try connection.fetchAll(String?.self, "SELECT DISTINCT tbl FROM \(raw: samples) ORDER BY tbl")
        try connection.execute("DELETE FROM \(raw: samples)")
        let present = try tables.compactMap(\.self).filter { try schema.has($0) }
        for table in present { try schema.analyze(table) }
        return present
    }
}

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
        do { return try index.passesIntegrityCheck() } catch let error as DatabaseError where error.code.primary == .error {
            // The content is missing.
            return false
        }
    }
}
