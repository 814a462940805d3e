import CSQLCipher
import SQLCipherKitCore

/// Creates the tables, rows and other objects of a damaged database in a new one.
struct SalvagedContent {
    private(set) var tables: [DatabaseConverter.SalvageReport.Table] = []
    private(set) var lostObjects: [DatabaseConverter.SalvageReport.LostObject] = []

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
        let hiding = try HiddenRowIDs(made.map(\.entry.name), copy)
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
                lostObjects.append(.init(name: entry.name, message: "no such table: \(missing)"))
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
            lostObjects.append(DatabaseConverter.SalvageReport.LostObject(name: entry.name, message: error.message))
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

extension SalvagedContent.Progress {
    fileprivate var report: DatabaseConverter.SalvageReport.Table {
        DatabaseConverter.SalvageReport.Table(
            name: object.entry.name, rows: rows, lostPages: Set(losses.pages).sorted(), lostRows: losses.rows + refused,
            reattachedRows: reattached, partialRows: partial)
    }
}
