import CSQLCipher
import SQLCipherKitCore

/// Copies a whole database into another connection's empty database, table by table and index by index, as they are stored.
///
/// The schema is copied as text, and no record is taken apart. So nothing of it needs to be known here: neither the collations,
/// functions and modules that only another program has, nor what names the row ids.
struct DatabaseCopy {
    private let schema: Schema
    private let source: Connection
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(from schema: Schema, to copy: Connection, _ reporter: RewriteReporter?) {
        self.schema = schema
        source = schema.connection
        self.copy = copy
        self.reporter = reporter
    }

    func run() throws {
        // SQLite runs them when the copy is used.
        try schema.entriesToRun()
        try copy.ending(with: source) { [reporter] in try reporter?.repeatLast() } _: { try schema.whileReading { try copyAll() } }
    }

    private func copyAll() throws {
        for pragma in ["foreign_keys = OFF", "writable_schema = ON"] { try copy.execute(SQL(raw: "PRAGMA \(pragma)")) }
        try reporter?.report(0)
        try copy.begin()
        try copy.check(sqlcipherkit_copy_header(source.live(), schema.name, copy.live()))
        let trees = try schema.storedTrees(), roots = try trees.map { try makeTree($0) }
        try copySchema(roots)
        // Makes SQLite read the schema.
        try copy.execute("PRAGMA writable_schema = RESET")
        let isRebuilt = try trees.map { try !$0.isTable && copy.canRebuild($0.name) }
        for (place, tree) in trees.enumerated() where !isRebuilt[place] {
            let root = roots[place]
            try tree.copyRecords(of: schema, to: copy, root: root) { try reportPages() }
        }
        // A damaged index is no reason to refuse a copy, as its table has all that it had.
        for (place, index) in trees.enumerated() where isRebuilt[place] {
            try copy.execute(SQL(raw: "REINDEX \(copy.main.qualified(index.name))"))
            try reportPages()
        }
        try copy.commit()
    }

    private func makeTree(_ tree: StoredTree) throws -> UInt32 {
        var root: UInt32 = 0
        try copy.check(sqlcipherkit_make_tree(copy.live(), tree.hasRowIDs ? 1 : 0, &root))
        return root
    }

    /// Copies the schema's rows in their order. All trees are made before: in a database with auto-vacuum, a new one moves the
    /// page that is in its place.
    private func copySchema(_ roots: [UInt32]) throws {
        // The database's record of its key slots is copied too.
        try copy.main.allowSlotMark()
        let read = try RawStatement(source, Schema.listing(schema))
        let write = try RawStatement(
            copy, "INSERT INTO main.sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)")
        var roots = roots.makeIterator()
        while try read.step() {
            for column: Int32 in [0, 1, 2, 4] { try write.bind(column, of: read, at: column + 1) }
            let root = sqlite3_column_int64(read.handle, 3) > 0 ? roots.next() : nil
            try copy.check(sqlite3_bind_int64(write.handle, 4, Int64(root ?? 0)))
            _ = try write.step()
            write.reset()
        }
    }

    private func reportPages() throws {
        guard let reporter else { return }
        let pages = try copy.fetchOne(SQLValue.self, "PRAGMA page_count")
        if case .integer(let pages) = pages { try reporter.report(Int(pages)) }
    }
}

/// A table or an index, as a database's schema lists it, that has pages of its own.
struct StoredTree {
    let name: String
    let isTable: Bool
    /// False for an index and a table WITHOUT ROWID.
    let hasRowIDs: Bool
    private let root: UInt32

    init(name: String, isTable: Bool, hasRowIDs: Bool, root: UInt32) {
        self.name = name
        self.isTable = isTable
        self.hasRowIDs = hasRowIDs
        self.root = root
    }

    func copyRecords(of schema: Schema, to copy: Connection, root: UInt32, _ report: () throws -> Void) throws {
        _ = try each(of: schema, copy, root, fills: true) { trees in
            try report()
            return sqlcipherkit_copy_records(trees, 256)
        }
    }

    /// Returns true if another database's tree has the same records in the same order.
    fileprivate func equals(
        _ other: StoredTree, in copy: Connection, of schema: Schema, _ report: () throws -> Void
    ) throws -> Bool {
        try each(of: schema, copy, other.root, fills: false) { trees in
            try report()
            return sqlcipherkit_compare_records(trees, 256)
        }
    }

    /// Returns false if `step` returned SQLITE_MISMATCH.
    private func each(
        of schema: Schema, _ copy: Connection, _ other: UInt32, fills: Bool, _ step: (OpaquePointer) throws -> Int32
    ) throws -> Bool {
        var trees: OpaquePointer?
        try copy.check(sqlcipherkit_open_trees(
            schema.connection.live(), schema.name, root, copy.live(), other, hasRowIDs ? 1 : 0, fills ? 1 : 0, &trees))
        defer { sqlcipherkit_close_trees(trees) }
        while let trees {
            try schema.connection.requireToGoOn()
            switch try step(trees) {
            case SQLITE_ROW: continue
            case SQLITE_DONE: return true
            case SQLITE_MISMATCH: return false
            case let rc: throw (sqlcipherkit_failed_at_target(trees) != 0 ? copy : schema.connection).failure(rc)
            }
        }
        return true
    }
}

extension Schema {
    fileprivate static func listing(_ schema: Schema) -> String {
        "SELECT type, name, tbl_name, rootpage, sql FROM \(schema.qualified("sqlite_schema")) ORDER BY rowid"
    }

    /// The tables and indexes that have pages of their own, in the schema's order.
    fileprivate func storedTrees() throws -> [StoredTree] {
        let rows: [(String, String, Int64)] = try connection.fetchAll(
            SQL(raw: "SELECT type, name, rootpage FROM \(qualified("sqlite_schema")) WHERE rootpage > 0 ORDER BY rowid"))
        return try rows.map { type, name, page in
            let isTable = type == "table", root = UInt32(clamping: page)
            let hasRowIDs = try isTable && form(of: name)?.isWithoutRowID != true
            return StoredTree(name: name, isTable: isTable, hasRowIDs: hasRowIDs, root: root)
        }
    }

    /// Holds a transaction of the database open, whether or not the connection has one.
    fileprivate func whileReading(_ body: () throws -> Void) throws {
        let reading = try RawStatement(connection, "SELECT 1 UNION ALL SELECT rootpage FROM \(qualified("sqlite_schema"))")
        _ = try reading.step()
        try withExtendedLifetime(reading, body)
    }
}

extension Connection {
    /// Returns false if the connection lacks a collation or a function of an index of its main database.
    fileprivate func canRebuild(_ index: String) throws -> Bool {
        do {
            _ = try RawStatement(self, "REINDEX \(main.qualified(index))")
            return true
        } catch let error as DatabaseError where error.code.primary == .error { return false }
    }
}

/// Compares a database with its copy: schema, settings and every row byte for byte. Then checks the structure of the copy.
struct DatabaseComparison {
    private let original: Schema
    private let copy: Connection
    private let reporter: RewriteReporter?

    init(of original: Schema, with copy: Connection, _ reporter: RewriteReporter?) {
        self.original = original
        self.copy = copy
        self.reporter = reporter
    }

    /// - Throws: ``DatabaseError/Reason/conversionFailed`` with a message that says where they differ, or any error that the
    ///   progress handler throws.
    func run() throws {
        try copy.ending(with: original.connection) { [reporter] in try reporter?.repeatLast() } _: { try compare() }
    }

    private func compare() throws {
        try original.whileReading { try copy.main.whileReading { try compareContent() } }
        try reporter?.report()
        // The copy's rows violate the same constraints as the original's.
        try copy.main.ignoreConstraints()
        if let problem = try copy.main.structuralProblems(texts: false, foreignKeys: false).first {
            throw differs("in its structure: \(problem)")
        }
        if let info = try copy.main.cipher, try copy.main.path != nil, let problem = try copy.main.damagedPages(info).first {
            throw differs("in its pages: \(problem)")
        }
    }

    private func compareContent() throws {
        for pragma in ["user_version", "application_id", "auto_vacuum", "encoding"] {
            let a = try original.connection.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(original.quotedName).\(pragma)"))
            let b = try copy.fetchOne(SQLValue.self, SQL(raw: "PRAGMA main.\(pragma)"))
            if a != b { throw differs("in \(pragma)") }
        }
        try compareSchemas()
        let trees = try zip(original.storedTrees(), copy.main.storedTrees())
        for (tree, copied) in trees {
            if try !tree.isTable && copy.canRebuild(tree.name) { continue }
            guard try tree.equals(copied, in: copy, of: original, { try reporter?.report() }) else {
                throw differs("in the rows of \(tree.name)")
            }
        }
    }

    private func compareSchemas() throws {
        let a = try RawStatement(original.connection, Schema.listing(original))
        let b = try RawStatement(copy, Schema.listing(copy.main))
        while true {
            let more = try a.step()
            guard try b.step() == more else { throw differs("in the number of its objects") }
            guard more else { return }
            let hasPages = [a, b].map { sqlite3_column_int64($0.handle, 3) > 0 }
            guard [0, 1, 2, 4].allSatisfy({ a.equals(b, column: $0) }), hasPages[0] == hasPages[1] else {
                throw differs("in its schema")
            }
        }
    }

    private func differs(_ what: String) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .conversionFailed, message: "the new file differs from the old \(what); the old file stays",
            path: original.connection.location.path)
    }
}
