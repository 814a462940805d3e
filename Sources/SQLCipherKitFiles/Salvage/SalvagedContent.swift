import CSQLCipher
import SQLCipherKitCore

/// Creates the tables, rows and other objects of a damaged database in a new one.
struct SalvagedContent {
    private(set) var tables: [DatabaseConverter.SalvageReport.Table] = []
    private(set) var lostObjects: [DatabaseConverter.SalvageReport.LostObject] = []

    /// The number of rows in the table `lost_and_found`.
    private(set) var unassignedRows = 0

    /// The R-Trees that have lost a part, and were created again.
    private(set) var rebuilt: [String] = []

    /// The tables and indexes that cannot be created because they need what only another program has.
    private var foreign: Set<SQLName> = []

    /// The rows of a table that have been read so far.
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
        let damaged = progress.filter { !$0.losses.isEmpty || $0.refused > 0 }.map(\.object.entry.name)
        let foreign = try foreign.isEmpty ? nil : StoredObjects(objects, needing: foreign, damaged, map, report)
        let whole = foreign?.names ?? []
        let inPart = try stored.filter { table in
            let name = SQLName(table.entry.name)
            return try self.foreign.contains(name) && !whole.contains(name) && makeInPart(table.entry)
        }
        try HiddenRowIDs(inPart.map(\.entry.name), copy).whileNamed {
            for table in inPart { try progress.append(copyRows(of: table)) }
        }
        let isWhole = isSchemaWhole && progress.count + (foreign?.tables.count ?? 0) == stored.count
        if !isWhole || progress.contains(where: \.hasLost) {
            let hiding = try HiddenRowIDs(progress.map(\.object.entry.name), copy)
            try hiding.whileNamed { try copyLostRows(&progress, objects, isWhole) }
        }
        if let foreign {
            try foreign.copy(to: copy)
            progress += foreign.tables.map { Progress(object: $0.object, losses: TreeReader.Losses(), rows: $0.rows) }
            lostObjects.removeAll { whole.contains(SQLName($0.name)) }
            // The indexes of such tables could not be created before them.
            let later = Set((foreign.tables.map(\.object) + inPart).map { SQLName($0.entry.name) })
            for index in objects where index.entry.type == "index" && index.entry.sql != nil {
                let name = SQLName(index.entry.name)
                guard later.contains(SQLName(index.entry.table)), !whole.contains(name) else { continue }
                lostObjects.removeAll { SQLName($0.name) == name }
                _ = try make(index.entry)
            }
        }
        tables = progress.map(\.report)
        if let sequences = objects.first(where: { $0.entry.name == "sqlite_sequence" }), try copy.main.has("sqlite_sequence") {
            try copy.execute("DELETE FROM sqlite_sequence")
            tables.append(try copyRows(of: sequences).report)
        }
        // Copy the text of views, triggers and virtual tables, which have no content of their own.
        let insert = try copy.prepare("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, 0, ?)")
        var names = Set(progress.map { SQLName($0.object.entry.name) })
        let texts = objects.map(\.entry).filter { $0.isVirtual && $0.type != "index" }
        let lossy = Set(tables.filter { !$0.isComplete }.map { SQLName($0.name) })
        for entry in texts where entry.parts.contains(where: { lossy.contains(SQLName($0)) }) {
            guard entry.parts.allSatisfy({ names.contains(SQLName($0)) }) else { continue }
            guard try SalvagedRTree(entry, in: copy)?.create(report) == true else { continue }
            rebuilt.append(entry.name)
            names.insert(SQLName(entry.name))
        }
        let others = texts.filter { !rebuilt.contains($0.name) }
        for entry in others.filter({ $0.type != "trigger" }) + others.filter({ $0.type == "trigger" }) {
            // With a trigger of a missing table, SQLite refuses the whole schema, and a virtual table needs all of its parts.
            let needed = entry.type == "trigger" ? [entry.table] : entry.parts
            if let missing = needed.first(where: { !names.contains(SQLName($0)) }) {
                lostObjects.append(.init(name: entry.name, message: "no such table: \(missing)"))
                continue
            }
            let isWritten = try attempt(entry) { () throws in
                try insert.execute(binding: entry.type, entry.name, entry.table, entry.statement().sql)
            }
            if isWritten { names.insert(SQLName(entry.name)) }
        }
        try copy.commit()
    }

    private mutating func make(_ entry: SchemaEntry) throws -> Bool {
        let copy = copy
        return try attempt(entry) { () throws in try copy.execute(SQL(raw: entry.statement().sql)) }
    }

    /// Creates a table without the names in its definition that are missing: its rows are in no order that needs them.
    private func makeInPart(_ entry: SchemaEntry) throws -> Bool {
        var sql = entry.sql ?? ""
        while true {
            do {
                let part = SchemaEntry(type: entry.type, name: entry.name, table: entry.table, isVirtual: entry.isVirtual, sql: sql)
                try copy.execute(SQL(raw: part.statement().sql))
                return true
            } catch let error as DatabaseError where error.isOfSchema {
                guard let name = ForeignName(error.message)?.name else { return false }
                guard let rest = SchemaDefinition(sql)?.without(name, keepsStored: true), !rest.isEmpty else { return false }
                sql = rest
            }
        }
    }

    /// Creates an object, or records that it cannot be created.
    @discardableResult
    private mutating func attempt(_ entry: SchemaEntry, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as DatabaseError where error.isOfSchema {
            lostObjects.append(DatabaseConverter.SalvageReport.LostObject(name: entry.name, message: error.message))
            if error.isOfMissingName { foreign.insert(SQLName(entry.name)) }
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

/// Copies what is left of a table's lost rows: the columns that indexes hold, and the beginnings of rows that have lost overflow
/// pages.
struct PartialRows {
    /// The number of rows that the indexes had all columns of, of the other ones, and of the rows that are cut.
    private(set) var whole = 0, count = 0, cut = 0

    private let table: String
    private let copy: Connection
    /// The stored columns that are not generated, by their number.
    private let columns: [(id: Int, name: String)]
    /// The column that is the row id.
    private let alias: Int?
    /// The columns that identify a row: in the table, and in the working table.
    private let keys: [(name: String, working: String)]

    private static let working = "temp.sqlcipherkit_lost_rows"

    init(
        of table: String, _ objects: [Salvage.Object], _ found: [String: [Int]], cut pages: [Int], _ map: PageMap,
        _ copy: Connection, _ encoding: StoredRecord.Encoding, _ report: () throws -> Void
    ) throws {
        self.table = table
        self.copy = copy
        let rows: [(Int, String, String, Int)] = try copy.fetchAll(
            "SELECT cid, name, upper(type), pk FROM pragma_table_xinfo(\(table), 'main') WHERE hidden = 0 ORDER BY cid")
        columns = rows.map { ($0.0, $0.1) }
        let primary = rows.filter { $0.3 > 0 }
        if let name = try copy.main.rowIDName(of: table) {
            alias = primary.count == 1 && primary[0].2 == "INTEGER" ? primary[0].0 : nil
            keys = [(name, "rowid")]
        } else {
            alias = nil
            keys = primary.map { ($0.1.quotedSQLIdentifier, "c\($0.0)") }
        }
        let indexes = objects.filter { $0.entry.type == "index" && $0.root > 0 && SQLName($0.entry.table) == SQLName(table) }
        guard !indexes.isEmpty || !pages.isEmpty, !keys.isEmpty else { return }
        let values = columns.map { "\($0.name.quotedSQLIdentifier) AS c\($0.id)" }
        try copy.execute(
            SQL(raw: "CREATE TABLE \(Self.working) AS SELECT \(values.joined(separator: ", ")), 0 AS sources "
                + "FROM \(copy.main.qualified(table)) LIMIT 0"))
        defer { try? copy.execute(SQL(raw: "DROP TABLE \(Self.working)")) }
        if keys[0].working != "rowid" {
            try copy.execute(
                SQL(raw: "CREATE UNIQUE INDEX temp.sqlcipherkit_lost_keys ON sqlcipherkit_lost_rows(\(working(keys)))"))
        }
        var sources: [Set<Int>] = []
        for index in indexes.prefix(62) {
            let places = try copy.fetchAll(
                Int.self, "SELECT cid FROM pragma_index_xinfo(\(index.entry.name), 'main') ORDER BY seqno")
            let pages = found[index.entry.name] ?? []
            guard let held = try read(index, pages, places, bit: sources.count, map, encoding, report) else { continue }
            sources.append(held)
        }
        try copyWholeRows(sources)
        let left = try copy.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(Self.working)")) ?? 0
        if left > 0 || !pages.isEmpty { try keepOthers(cut: pages, map, encoding, report) }
    }

    private func working(_ keys: [(name: String, working: String)]) -> String {
        keys.map(\.working).joined(separator: ", ")
    }

    /// Reads the entries of an index whose rows are lost.
    /// - Parameter pages: those of the index that nothing leads to.
    /// - Returns: the columns that it has; nil if it does not identify rows.
    private func read(
        _ index: Salvage.Object, _ pages: [Int], _ places: [Int], bit: Int, _ map: PageMap, _ encoding: StoredRecord.Encoding,
        _ report: () throws -> Void
    ) throws -> Set<Int>? {
        // -1 is the row id, and -2 an expression.
        func name(_ id: Int) -> String? { id == -1 || id == alias ? "rowid" : columns.contains { $0.id == id } ? "c\(id)" : nil }
        var used: [(place: Int, name: String)] = []
        for (place, id) in places.enumerated() {
            if let name = name(id), !used.contains(where: { $0.name == name }) { used.append((place, name)) }
        }
        func parameter(_ name: String) -> String? { used.firstIndex { $0.name == name }.map { "?\($0 + 1)" } }
        var isLost: [String] = []
        for key in keys {
            guard let parameter = parameter(key.working) else { return nil }
            isLost.append("\(key.name) IS \(parameter)")
        }
        let updates = used.filter { one in !keys.contains { $0.working == one.name } }.map { "\($0.name) = excluded.\($0.name)" }
        let insert = try RawStatement(
            copy,
            """
            INSERT INTO \(Self.working)(\(used.map(\.name).joined(separator: ", ")), sources)
            SELECT \(used.indices.map { "?\($0 + 1)" }.joined(separator: ", ")), \(1 << bit)
            WHERE NOT EXISTS (SELECT 1 FROM \(copy.main.qualified(table)) WHERE \(isLost.joined(separator: " AND ")))
            ON CONFLICT(\(working(keys)))
            DO UPDATE SET \((updates + ["sources = sources | excluded.sources"]).joined(separator: ", "))
            """)
        var reader = TreeReader(map), count = 0
        func take(_: Int64?, _ bytes: [UInt8]) throws {
            guard let record = StoredRecord(bytes), record.count == places.count else { return }
            for (parameter, one) in used.enumerated() {
                try copy.check(record.bind(one.place, to: insert.handle, at: Int32(parameter + 1), encoding))
            }
            _ = try insert.step()
            insert.reset()
            count += 1
            if count % 256 == 0 { try report() }
        }
        try reader.readRows(root: index.root, take)
        for page in pages { _ = try reader.readPage(page, take) }
        return Set(used.compactMap { used in columns.first { "c\($0.id)" == used.name }?.id })
    }

    /// Moves the rows of which all columns are known into the table.
    private mutating func copyWholeRows(_ sources: [Set<Int>]) throws {
        let others = columns.filter { $0.id != alias }, isRowID = keys[0].working == "rowid"
        let names = (isRowID ? [keys[0].name] : []) + others.map(\.name.quotedSQLIdentifier)
        let values = (isRowID ? ["rowid"] : []) + others.map { "c\($0.id)" }
        for mask in try copy.fetchAll(Int.self, SQL(raw: "SELECT DISTINCT sources FROM \(Self.working)")) {
            let known = sources.indices.filter { mask & 1 << $0 != 0 }.reduce(into: Set<Int>()) { $0.formUnion(sources[$1]) }
            guard others.allSatisfy({ known.contains($0.id) }) else { continue }
            try copy.execute(
                SQL(raw: "INSERT OR IGNORE INTO \(copy.main.qualified(table))(\(names.joined(separator: ", "))) "
                    + "SELECT \(values.joined(separator: ", ")) FROM \(Self.working) WHERE sources = \(mask)"))
            whole += try copy.fetchOne(Int.self, "SELECT changes()") ?? 0
            try copy.execute(SQL(raw: "DELETE FROM \(Self.working) WHERE sources = \(mask)"))
        }
    }

    /// Puts the other rows into a table of their own.
    private mutating func keepOthers(
        cut pages: [Int], _ map: PageMap, _ encoding: StoredRecord.Encoding, _ report: () throws -> Void
    ) throws {
        var rowID = "lost_row_id"
        while columns.contains(where: { SQLName($0.name) == SQLName(rowID) }) { rowID += "_" }
        // SQLite opens no file that has a table of more than 2,000 columns.
        let hasRowID = alias == nil && keys[0].working == "rowid" && columns.count < 2000
        let values = (hasRowID ? [("rowid", rowID)] : [])
            + columns.map { ($0.id == alias ? "rowid" : "c\($0.id)", $0.name.quotedSQLIdentifier) }
        let kept = copy.main.qualified(try LostAndFound.freeName("lost_and_found_" + table, copy))
        let all = "SELECT \(values.map { "\($0) AS \($1)" }.joined(separator: ", ")) FROM \(Self.working)"
        func rows() throws -> Int { try copy.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(kept)")) ?? 0 }
        try copy.execute(SQL(raw: "CREATE TABLE \(kept) AS \(all) LIMIT 0"))
        let unreadable = try keepCutRows(pages, in: kept, values.map(\.0), map, encoding, report)
        cut = try rows() + unreadable
        try copy.execute(SQL(raw: "INSERT INTO \(kept) \(all)"))
        count = try rows()
        if count == 0 { try copy.execute(SQL(raw: "DROP TABLE \(kept)")) }
    }

    /// Puts the rows that have lost overflow pages into a table, with what indexes hold of their columns.
    /// - Returns: the number of rows of which nothing is left.
    private func keepCutRows(
        _ pages: [Int], in kept: String, _ values: [String], _ map: PageMap, _ encoding: StoredRecord.Encoding,
        _ report: () throws -> Void
    ) throws -> Int {
        var numbers: [String: Int32] = ["rowid": 1]
        for column in columns { numbers["c\(column.id)"] = Int32(numbers.count + 1) }
        func parameter(_ name: String) -> String { "?\(numbers[name] ?? 0)" }
        let isSame = keys.map { "lost.\($0.working) IS \(parameter($0.working))" }.joined(separator: " AND ")
        let isSaved = keys.map { "\($0.name) IS \(parameter($0.working))" }.joined(separator: " AND ")
        let known = values.map { "coalesce(lost.\($0), \(parameter($0)))" }.joined(separator: ", ")
        let insert = try RawStatement(
            copy,
            "INSERT INTO \(kept) SELECT \(known) FROM (SELECT 1) LEFT JOIN \(Self.working) AS lost ON \(isSame) "
                + "WHERE NOT EXISTS (SELECT 1 FROM \(copy.main.qualified(table)) WHERE \(isSaved))")
        let remove = try RawStatement(copy, "DELETE FROM \(Self.working) AS lost WHERE \(isSame)")
        // By the place in the record.
        let parameters = try SalvagedRows(copy, table, encoding).columns.map { column in
            column.isOrdinary && column.id != alias ? numbers["c\(column.id)"] : nil
        }
        var reader = TreeReader(map, .cut), unreadable = 0
        for page in pages {
            _ = try reader.readPage(page) { rowID, bytes in
                guard let record = StoredRecord(bytes, mayBeCut: true) else {
                    unreadable += 1
                    return
                }
                for statement in [insert, remove] {
                    let count = sqlite3_bind_parameter_count(statement.handle)
                    sqlite3_clear_bindings(statement.handle)
                    for case let (place, parameter?) in parameters.prefix(record.count).enumerated() where parameter <= count {
                        try copy.check(record.bind(place, to: statement.handle, at: parameter, encoding))
                    }
                    if let rowID { try copy.check(sqlite3_bind_int64(statement.handle, 1, rowID)) }
                    _ = try statement.step()
                    statement.reset()
                }
                try report()
            }
        }
        return unreadable
    }
}

/// Tables whose columns have all three names of the row id, so that no SQL names it.
struct HiddenRowIDs {
    private let tables: [(name: String, column: String)]
    private let copy: Connection

    /// - Parameters:
    ///   - names: the tables to look at.
    ///   - copy: a new database, which has them.
    init(_ names: [String], _ copy: Connection) throws {
        self.copy = copy
        tables = try names.compactMap { table in
            let hasRowIDs = try copy.main.form(of: table)?.isWithoutRowID == false
            guard hasRowIDs, try copy.main.rowIDName(of: table) == nil else { return nil }
            let column = try copy.main.columns(of: table).first { SQLName($0.name) == SQLName("oid") }
            return column.map { (table, $0.name) }
        }
    }

    func contains(_ table: String) -> Bool { tables.contains { $0.name == table } }

    /// Meanwhile `oid` is the row id, and the column has another name.
    ///
    /// The schema's texts are changed, as SQLite 3.54 lets no ALTER TABLE rename a column with such a name.
    func whileNamed(_ body: () throws -> Void) throws {
        if tables.isEmpty { return try body() }
        let texts: [(Int64, String)] = try tables.flatMap { table, _ in
            try copy.fetchAll("""
                SELECT rowid, sql FROM sqlite_schema
                WHERE type IN ('table', 'index') AND tbl_name = \(table) COLLATE NOCASE AND sql IS NOT NULL
                """)
        }
        try write(texts.map { ($0, Self.renamed($1)) })
        try body()
        try write(texts)
    }

    private func write(_ texts: [(id: Int64, text: String)]) throws {
        for (id, text) in texts { try copy.execute("UPDATE sqlite_schema SET sql = \(text) WHERE rowid = \(id)") }
        try copy.readSchemaAgain()
    }

    /// The text of a table or an index with another name for its column `oid`. A function, a collation or a table of that name
    /// keeps it, and so does a string, except where a column is defined.
    private static func renamed(_ text: String) -> String {
        var tokens = SQLTokens(text), parts: [(text: String, isColumn: Bool)] = []
        var depth = 0, last = 0
        while let token = tokens.nextPart() {
            let written = tokens.text(token), before = parts.isEmpty ? "" : parts[last].text
            var isColumn = depth > 0 && !before.isSameName(as: "COLLATE")
            isColumn = isColumn && tokens.name(token)?.isSameName(as: "oid") == true
            if written.hasPrefix("'"), depth != 1 || before != "(" && before != "," { isColumn = false }
            parts.append((written, isColumn))
            if token.kind == .blank || token.kind == .comment { continue }
            if token.kind == .opening || written == "." { parts[last].isColumn = false }
            depth += token.kind == .opening ? 1 : token.kind == .closing ? -1 : 0
            last = parts.count - 1
        }
        return parts.map { $0.isColumn ? name.quotedSQLIdentifier : $0.text }.joined()
    }

    private static let name = "sqlcipherkit hidden"
}

extension Connection {
    /// Makes SQLite read a schema whose text was written, which may be written again afterwards.
    func readSchemaAgain() throws {
        try execute("PRAGMA writable_schema = RESET")
        _ = try fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema")
        try execute("PRAGMA writable_schema = ON")
    }
}
