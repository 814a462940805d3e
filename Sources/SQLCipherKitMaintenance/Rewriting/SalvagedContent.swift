import CSQLCipher
import SQLCipherKitCore

/// Creates the tables, rows and other objects of a damaged database in a new one.
struct SalvagedContent {
    private(set) var tables: [SalvageReport.Table] = []
    private(set) var lostObjects: [SalvageReport.LostObject] = []

    /// The number of rows in the table `lost_and_found`.
    private(set) var unassignedRows = 0

    /// What has been read of a table so far.
    fileprivate struct Progress {
        let object: Salvage.Object
        var losses: TreeReader.Losses
        var rows = 0, refused = 0, reattached = 0, partial = 0
        var hasLost: Bool { !losses.pages.isEmpty || !losses.cut.isEmpty }
    }

    private let map: PageMap
    private let copy: Connection
    private let encoding: StoredRecord.Encoding
    private let report: () throws -> Void

    /// Creates all of them in one transaction.
    /// - Parameter isSchemaWhole: whether all objects are known.
    init(
        _ map: PageMap, _ copy: Connection, _ encoding: StoredRecord.Encoding, _ objects: [Salvage.Object], isSchemaWhole: Bool,
        _ report: @escaping () throws -> Void
    ) throws {
        self.map = map
        self.copy = copy
        self.encoding = encoding
        self.report = report
        try copy.begin()
        let stored = objects.filter { $0.entry.type == "table" && $0.root > 0 && $0.entry.name != "sqlite_sequence" }
        // The database's record of its key slots is copied as well.
        try copy.main.allowSlotMark()
        let made = try stored.filter { try make($0.entry) }
        // An existing row is kept even if it fails the table's current checks.
        try copy.main.ignoreConstraints()
        var progress: [Progress] = []
        let hiding = try HiddenRowIDs(made.map(\.entry), copy)
        try hiding.whileNamed { for table in made { try progress.append(copyRows(of: table)) } }
        for object in objects where object.entry.type == "index" && object.entry.sql != nil { _ = try make(object.entry) }
        let isWhole = isSchemaWhole && made.count == stored.count
        if !isWhole || progress.contains(where: \.hasLost) {
            try hiding.whileNamed { try copyLostRows(&progress, objects, isWhole) }
        }
        tables = progress.map(\.report)
        if let sequences = objects.first(where: { $0.entry.name == "sqlite_sequence" }), try copy.main.has("sqlite_sequence") {
            try copy.execute("DELETE FROM sqlite_sequence")
            tables.append(try copyRows(of: sequences).report)
        }
        // Copy the text of views, triggers and virtual tables, which have no content of their own.
        let insert = try copy.prepare("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)")
        var names = Set(made.map { SQLName($0.entry.name) })
        let texts = objects.map(\.entry).filter { $0.isVirtual && $0.type != "index" }
        for entry in texts.filter({ $0.type != "trigger" }) + texts.filter({ $0.type == "trigger" }) {
            // With a trigger of a missing table, SQLite refuses the whole schema, and a virtual table needs all of its parts.
            let needed = entry.type == "trigger" ? [entry.table] : entry.parts
            if let missing = needed.first(where: { !names.contains(SQLName($0)) }) {
                lostObjects.append(SalvageReport.LostObject(name: entry.name, message: "no such table: \(missing)"))
                continue
            }
            let isWritten = try attempt(entry) { () throws(DatabaseError) in
                try insert.execute(binding: entry.type, entry.name, entry.table, entry.statement().sql)
            }
            if isWritten { names.insert(SQLName(entry.name)) }
        }
        try copy.commit()
    }

    private mutating func make(_ entry: SchemaEntry) throws(DatabaseError) -> Bool {
        let copy = copy
        return try attempt(entry) { () throws(DatabaseError) in try copy.execute(SQL(raw: entry.statement().sql)) }
    }

    /// Creates an object, or records that it cannot be created.
    @discardableResult
    private mutating func attempt(_ entry: SchemaEntry, _ body: () throws(DatabaseError) -> Void) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try body()
            return true
        } catch {
            guard [.error, .constraint, .corrupt, .misuse].contains(error.code.primary) else { throw error }
            lostObjects.append(SalvageReport.LostObject(name: entry.name, message: error.message))
            return false
        }
    }

    private func copyRows(of table: Salvage.Object) throws -> Progress {
        var reader = TreeReader(map)
        var unreadable = 0
        let writer = try insertRows(into: table.entry.name, unreadable: &unreadable) { try reader.readRows(root: table.root, $0) }
        var losses = reader.losses
        losses.rows += unreadable
        return Progress(object: table, losses: losses, rows: writer.rows, refused: writer.refused)
    }

    private func insertRows(
        into table: String, unreadable: inout Int, _ read: ((Int64?, [UInt8]) throws -> Void) throws -> Void
    ) throws -> SalvagedRows {
        var writer = try SalvagedRows(copy, table, encoding), invalid = 0
        try read { rowID, bytes in
            guard let record = StoredRecord(bytes) else {
                invalid += 1
                return
            }
            try writer.insert(rowID, record)
            if writer.rows % 256 == 0 { try report() }
        }
        unreadable += invalid
        return writer
    }

    /// Copies the rows on pages that nothing leads to any more, and what indexes hold of other lost rows.
    private mutating func copyLostRows(_ progress: inout [Progress], _ objects: [Salvage.Object], _ isWhole: Bool) throws {
        var trees = try progress.filter { !$0.losses.gaps.isEmpty }.compactMap { try tree(of: $0) }
        for object in objects where object.root > 0 {
            if object.entry.name == "sqlite_sequence" || object.entry.type == "index" {
                var reader = TreeReader(map)
                try reader.readRows(root: object.root) { _, _ in try report() }
                guard object.entry.type == "index", !reader.losses.gaps.isEmpty else { continue }
                guard try copy.main.has(object.entry.name) else { continue }
                let shape = try TreeShape(index: object.entry.name, of: object.entry.table, isTable: false, in: copy)
                let gaps = reader.losses.gaps
                let name = object.entry.name
                trees.append(UnreachedPages.Tree(name: name, root: object.root, hasRowIDs: false, gaps: gaps, shape: shape))
            }
        }
        let pages = try UnreachedPages(map, trees, keepsAll: !isWhole)
        unassignedRows = try LostAndFound(pages.lost, map, copy, encoding).rows
        for index in progress.indices where progress[index].hasLost {
            let table = progress[index].object.entry.name
            var reader = TreeReader(map), unreadable = 0
            let writer = try insertRows(into: table, unreadable: &unreadable) { body in
                for page in pages.found[table] ?? [] { _ = try reader.readPage(page, body) }
            }
            progress[index].rows += writer.rows
            progress[index].reattached += writer.rows
            progress[index].losses.pages += reader.losses.pages
            progress[index].losses.cut += reader.losses.cut
            let cut = progress[index].losses.cut
            let others = try PartialRows(of: table, objects, pages.found, cut: cut, map, copy, encoding, report)
            progress[index].rows += others.whole
            progress[index].partial = others.count
            progress[index].losses.rows += reader.losses.rows + unreadable + others.cut
        }
    }

    private func tree(of table: Progress) throws -> UnreachedPages.Tree? {
        let name = table.object.entry.name
        let isWithoutRowID = try copy.main.form(of: name)?.isWithoutRowID ?? false
        let shape: TreeShape
        if isWithoutRowID {
            guard let key = try copy.main.uniqueIndexes(of: name).first(where: { $0.origin == .primaryKey }) else { return nil }
            shape = try TreeShape(index: key.name, of: name, isTable: true, in: copy)
        } else {
            shape = try TreeShape(table: name, in: copy)
        }
        return UnreachedPages.Tree(
            name: name, root: table.object.root, hasRowIDs: !isWithoutRowID, gaps: table.losses.gaps, shape: shape)
    }
}

/// Tables whose columns have all three names of the row id, so that no SQL names it.
private struct HiddenRowIDs {
    private let tables: [(name: String, column: String)]
    private let copy: Connection

    init(_ entries: [SchemaEntry], _ copy: Connection) throws {
        self.copy = copy
        tables = try entries.compactMap { entry in
            guard try copy.main.form(of: entry.name)?.isWithoutRowID == false, try copy.main.rowIDName(of: entry.name) == nil else {
                return nil
            }
            let column = try copy.main.columns(of: entry.name).first { SQLName($0.name) == SQLName("oid") }
            return column.map { (entry.name, $0.name) }
        }
    }

    /// Meanwhile `oid` is the row id, and the column has another name. The schema's texts are as before afterwards.
    func whileNamed(_ body: () throws -> Void) throws {
        let texts: [(Int64, String)] = try tables.flatMap { table, _ in
            try copy.fetchAll("SELECT rowid, sql FROM sqlite_schema WHERE tbl_name = \(table) COLLATE NOCASE AND sql IS NOT NULL")
        }
        func rename(_ table: String, _ from: String, _ to: String) throws {
            let names = [from, to].map(\.quotedSQLIdentifier).joined(separator: " TO ")
            try copy.execute(SQL(raw: "ALTER TABLE \(copy.main.qualified(table)) RENAME COLUMN \(names)"))
        }
        for (table, column) in tables { try rename(table, column, Self.name) }
        try body()
        for (table, column) in tables { try rename(table, Self.name, column) }
        for (id, text) in texts { try copy.execute("UPDATE sqlite_schema SET sql = \(text) WHERE rowid = \(id)") }
    }

    private static let name = "sqlcipherkit hidden"
}

extension SalvagedContent.Progress {
    fileprivate var report: SalvageReport.Table {
        SalvageReport.Table(
            name: object.entry.name, rows: rows, lostPages: Set(losses.pages).sorted(), lostRows: losses.rows + refused,
            reattachedRows: reattached, partialRows: partial)
    }
}

/// Writes records into a table.
struct SalvagedRows {
    struct Column {
        let id: Int
        let name: String
        /// Whether an INSERT may name it. A stored generated column is in the record, but is computed again.
        let isOrdinary: Bool
        /// Whether its value is the row id, which is stored as NULL in the record.
        let isRowID: Bool
    }

    private let copy: Connection
    private let table: String
    private let encoding: StoredRecord.Encoding
    private let rowIDName: String?
    /// The columns in the order in which they are stored.
    private(set) var columns: [Column] = []
    /// The statements by the number of values in a record: a record from before a column was added gets that column's default.
    private var statements: [Int: RawStatement] = [:]
    /// The number of rows written, and the number of rows that the table has refused.
    private(set) var rows = 0, refused = 0

    init(_ copy: Connection, _ table: String, _ encoding: StoredRecord.Encoding) throws {
        self.copy = copy
        self.table = table
        self.encoding = encoding
        let isWithoutRowID = try copy.main.form(of: table)?.isWithoutRowID ?? false
        rowIDName = try copy.main.rowIDName(of: table)
        // Kinds: 0 ordinary, 2 generated and not stored, 3 generated and stored.
        var rows: [(Int, String, String, Int, Int)] = try copy.fetchAll(
            "SELECT cid, name, type, pk, hidden FROM pragma_table_xinfo(\(table), 'main') WHERE hidden <> 2 ORDER BY cid")
        let keys = rows.count { $0.3 > 0 }
        if isWithoutRowID { rows = rows.filter { $0.3 > 0 }.sorted { $0.3 < $1.3 } + rows.filter { $0.3 == 0 } }
        columns = rows.map { id, name, type, key, kind in
            Column(
                id: id, name: name, isOrdinary: kind == 0,
                isRowID: !isWithoutRowID && keys == 1 && key == 1 && type.uppercased() == "INTEGER")
        }
    }

    mutating func insert(_ rowID: Int64?, _ record: StoredRecord) throws(DatabaseError) {
        let count = min(record.count, columns.count)
        let statement = try statement(for: count, hasRowID: rowID != nil)
        var parameter: Int32 = 0
        if let rowID, rowIDName != nil {
            parameter += 1
            try copy.check(sqlite3_bind_int64(statement.handle, parameter, rowID))
        }
        for index in 0..<count where columns[index].isOrdinary {
            parameter += 1
            if let rowID, columns[index].isRowID, record.isNull(index) {
                try copy.check(sqlite3_bind_int64(statement.handle, parameter, rowID))
            } else {
                try copy.check(record.bind(index, to: statement.handle, at: parameter, encoding))
            }
        }
        do throws(DatabaseError) {
            _ = try statement.step()
            statement.reset()
            rows += 1
        } catch {
            statement.reset()
            guard [.constraint, .mismatch].contains(error.code.primary) else { throw error }
            refused += 1
        }
    }

    private mutating func statement(for count: Int, hasRowID: Bool) throws(DatabaseError) -> RawStatement {
        if let statement = statements[count] { return statement }
        var names = columns.prefix(count).filter(\.isOrdinary).map(\.name.quotedSQLIdentifier)
        if hasRowID, let rowIDName { names.insert(rowIDName, at: 0) }
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let into = copy.main.qualified(table)
        let values = names.isEmpty ? "DEFAULT VALUES" : "(\(names.joined(separator: ", "))) VALUES (\(marks))"
        let statement = try RawStatement(copy, "INSERT INTO \(into) \(values)")
        statements[count] = statement
        return statement
    }
}
