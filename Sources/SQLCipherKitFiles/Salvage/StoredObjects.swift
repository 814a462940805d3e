import CSQLCipher
import SQLCipherKitCore

/// Tables and indexes of a damaged database that need a collation, a function or a module of another program, and have lost
/// nothing. They are copied as they are stored, with their definitions as text.
struct StoredObjects {
    /// The tables, and the number of rows that each has.
    private(set) var tables: [(object: Salvage.Object, rows: Int)] = []
    private var indexes: [Salvage.Object] = []
    private let map: PageMap
    private let report: () throws -> Void
    private let hasSequences: Bool

    var names: Set<SQLName> { Set((tables.map(\.object) + indexes).map { SQLName($0.entry.name) }) }

    /// Reads their pages.
    /// - Parameters:
    ///   - foreign: the names of those that could not be created.
    ///   - damaged: the tables that were created, and have lost rows.
    init(
        _ objects: [Salvage.Object], needing foreign: Set<SQLName>, _ damaged: [String], _ map: PageMap,
        _ report: @escaping () throws -> Void
    ) throws {
        self.map = map
        self.report = report
        hasSequences = objects.contains { $0.entry.name == "sqlite_sequence" }
        // A new file has this format, in which indexes may be descending
        // (https://sqlite.org/fileformat2.html#schema_format_number).
        guard !map.isFirstPageLost, try map.source.page(1)?.bigEndian(at: 44, bytes: 4) == 4 else { return }
        let damaged = Set(damaged.map { SQLName($0) })
        for table in objects where table.entry.type == "table" && table.root > 0 {
            let name = SQLName(table.entry.name), isForeign = foreign.contains(name)
            let own = objects.filter { $0.entry.type == "index" && $0.root > 0 && SQLName($0.entry.table) == name }
            let wanted = isForeign ? own : own.filter { foreign.contains(SQLName($0.entry.name)) }
            guard !wanted.isEmpty || isForeign, !damaged.contains(name), let rows = try rows(table) else { continue }
            let whole = try wanted.filter { try self.rows($0) != nil }
            // An index of a constraint cannot be left out.
            let constraints = [wanted, whole].map { $0.filter { $0.entry.sql == nil }.count }
            guard constraints[0] == constraints[1] else { continue }
            guard try Self.isReadable([table] + whole) else { continue }
            if isForeign { tables.append((table, rows)) }
            indexes += whole
        }
    }

    /// The number of rows of a table or an index; nil if any is lost, or the rows are not in order.
    private func rows(_ object: Salvage.Object) throws -> Int? {
        var reader = TreeReader(map), count = 0, isOrdered = true, last = Int64?.none
        try reader.readRows(root: object.root) { id, _ in
            if let id, let last, id <= last { isOrdered = false }
            last = id
            count += 1
            if count % 256 == 0 { try report() }
        }
        return reader.losses.isEmpty && isOrdered ? count : nil
    }

    /// Returns whether SQLite can read a schema with these texts.
    private static func isReadable(_ objects: [Salvage.Object]) throws -> Bool {
        do {
            let memory = try Connection(.memory)
            try memory.execute("PRAGMA writable_schema = ON")
            try memory.begin()
            for object in objects { _ = try object.entry.text() }
            _ = try write(objects.map { ($0, true) }, to: memory)
            return true
        } catch let error as DatabaseError where error.isOfSchema { return false }
    }

    /// Makes an empty tree for each object, and writes their definitions.
    /// - Returns: the roots.
    private static func write(_ objects: [(Salvage.Object, hasRowIDs: Bool)], to copy: Connection) throws -> [UInt32] {
        let roots = try objects.map { object, hasRowIDs in
            var root: UInt32 = 0
            try copy.check(sqlcipherkit_make_tree(copy.live(), object.entry.type == "table" && hasRowIDs ? 1 : 0, &root))
            return root
        }
        for ((object, _), root) in zip(objects, roots) {
            let entry = object.entry
            try copy.execute(
                "INSERT INTO sqlite_schema VALUES (\(entry.type), \(entry.name), \(entry.table), \(Int(root)), \(entry.sql))")
        }
        try copy.readSchemaAgain()
        return roots
    }

    func copy(to copy: Connection) throws {
        let source = map.source.connection
        let objects = (tables.map(\.object) + indexes).map { object in
            (object, hasRowIDs: object.entry.type == "table" && map.kind(object.root)?.isTable == true)
        }
        if objects.isEmpty { return }
        if hasSequences, try !copy.main.has("sqlite_sequence") {
            try copy.execute("CREATE TABLE sequence_maker(x INTEGER PRIMARY KEY AUTOINCREMENT)")
            try copy.execute("DROP TABLE sequence_maker")
        }
        let roots = try Self.write(objects, to: copy)
        try source.begin(.deferred)
        defer { try? source.rollback() }
        // Begins to read.
        _ = try source.fetchOne(Int.self, "PRAGMA schema_version")
        for ((object, hasRowIDs), root) in zip(objects, roots) {
            let tree = StoredTree(
                name: object.entry.name, isTable: object.entry.type == "table", hasRowIDs: hasRowIDs, root: UInt32(object.root))
            try tree.copyRecords(of: source.main, to: copy, root: root, report)
        }
    }
}
