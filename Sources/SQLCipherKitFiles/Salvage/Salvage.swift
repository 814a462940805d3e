import CSQLCipher
import SQLCipherKitCore

/// Copies the readable content of a damaged database to a new one.
struct Salvage {
    private let source: PageReader
    /// The damaged file's own name, for errors.
    private let path: String
    private let key: DatabaseKey
    private let recovery: RecoveryCopy?
    private let configuration: DatabaseConfiguration
    private let meter: WorkMeter
    private let relay: ProgressRelay?

    /// A row of the schema.
    struct Object {
        let entry: SchemaEntry
        let root: Int
    }

    init(
        of source: PageReader, path: String, key: DatabaseKey, _ recovery: RecoveryCopy?, _ configuration: DatabaseConfiguration,
        _ meter: WorkMeter, _ relay: ProgressRelay?
    ) {
        self.source = source
        self.path = path
        self.key = key
        self.recovery = recovery
        self.configuration = configuration
        self.meter = meter
        self.relay = relay
    }

    func run(to newPath: String, key newKey: DatabaseKey) throws -> DatabaseConverter.SalvageReport {
        let first = try firstPage(), header = first ?? recovery?.header
        let map = try PageMap(source, header: header, isFirstPageLost: first == nil, meter, report)
        var encoding = StoredRecord.Encoding(rawValue: header?.bigEndian(at: 56, bytes: 4) ?? 1) ?? .utf8
        var schema = TreeReader(map)
        var objects: [Object] = []
        try schema.readRows(root: 1) { _, bytes in
            if let record = StoredRecord(bytes), let object = Object(record, encoding) { objects.append(object) }
        }
        if let gap = schema.losses.gaps.first {
            let encodings = header == nil ? [.utf8, .utf16LittleEndian, .utf16BigEndian] : [encoding]
            try findObjects(map, gap, &objects, encodings) { encoding = $0 }
        }
        let known = objects.count
        if !schema.losses.pages.isEmpty, let recovery {
            let names = Set(objects.map { SQLName($0.entry.name) })
            for object in recovery.objects where !names.contains(SQLName(object.entry.name)) {
                // With auto_vacuum, a table may begin elsewhere by now.
                if case .tree(let root) = try map.place(of: object.root), root != object.root { continue }
                objects.append(object)
            }
        }
        let copy = try open(newPath, newKey, header, encoding)
        let content = try watch(copy) {
            try copy.withRoomForRowID {
                try SalvagedContent(map, copy, encoding, objects, isSchemaWhole: schema.losses.pages.isEmpty) {
                    try report(source.pageCount)
                }
            }
        }
        copy.close()
        let damagedTables = Set(content.tables.filter { !$0.isComplete }.map(\.name))
        return DatabaseConverter.SalvageReport(
            tables: content.tables, lostObjects: content.lostObjects, lostSchemaPages: schema.losses.pages,
            lostPages: map.lostPages, rebuiltIndexes: try content.rebuilt + finish(newPath, newKey, objects, damagedTables),
            unassignedRows: content.unassignedRows, recoveredObjects: objects.count - known)
    }

    /// Reads the pages of the schema that nothing leads to: those that hold nothing but rows of a schema.
    private func findObjects(
        _ map: PageMap, _ gap: TreeGap, _ objects: inout [Object], _ encodings: [StoredRecord.Encoding],
        _ use: (StoredRecord.Encoding) -> Void
    ) throws {
        var names = Set(objects.map { SQLName($0.entry.name) }), encodings = encodings
        for page in map.unreached where map.kind(page) == .leafTable {
            if case .free = try map.place(of: page) { continue }
            var reader = TreeReader(map), records: [StoredRecord] = [], size = 0
            _ = try reader.readPage(page) { rowID, bytes in
                size += bytes.count
                try meter.require(bytes: size)
                if let rowID, gap.rowIDs.contains(rowID), let record = StoredRecord(bytes) { records.append(record) }
            }
            for encoding in encodings {
                let found = records.compactMap { Object($0, encoding) }.filter(\.isOfSchema)
                guard !found.isEmpty, found.count == records.count else { continue }
                encodings = [encoding]
                use(encoding)
                objects += found.filter { names.insert(SQLName($0.entry.name)).inserted }
            }
            if records.isEmpty || !records.allSatisfy({ Object($0, encodings[0])?.isOfSchema == true }) { map.release(page) }
        }
    }

    /// The first page, which confirms that this is a database with this key; nil if it is lost.
    private func firstPage() throws -> [UInt8]? {
        if try source.hasFirstPage { return try source.page(1) }
        // The key is right if it opens the recovery copy, or if another page has the right authentication code.
        if try key.isPlaintext || !key.settings.usesHMAC ? recovery != nil : source.hasAuthenticPage(key) { return nil }
        throw key.refusal(by: path, header: nil)
    }

    private func open(
        _ newPath: String, _ newKey: DatabaseKey, _ header: [UInt8]?, _ encoding: StoredRecord.Encoding
    ) throws -> Connection {
        var opening = copying
        let pageSize = newKey.isPlaintext ? source.pageSize : nil
        func number(at offset: Int) -> Int { header?.bigEndian(at: offset, bytes: 4) ?? 0 }
        let autoVacuum = number(at: 52) == 0 ? 0 : number(at: 64) == 0 ? 1 : 2
        let name = StoredRecord.Encoding.names[encoding] ?? "UTF-8"
        opening.beforeHeader = { copy in try copy.setShape(pageSize: pageSize, encoding: name, autoVacuum: autoVacuum) }
        let copy = try Connection(.file(newPath), key: newKey, configuration: opening)
        try copy.disableJournal()
        for pragma in ["foreign_keys = OFF", "writable_schema = ON"] { try copy.execute(SQL(raw: "PRAGMA \(pragma)")) }
        var now: Int32 = 0
        for option in [SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML] {
            try copy.check(sqlcipherkit_db_config(copy.live(), option, 1, &now))
        }
        for (pragma, offset) in [("user_version", 60), ("application_id", 68)] {
            let value = Int32(truncatingIfNeeded: number(at: offset))
            try copy.execute(SQL(raw: "PRAGMA \(pragma) = \(value)"))
        }
        return copy
    }

    /// Rebuilds the full-text indexes that have lost content, on a new connection, which knows the virtual tables.
    private func finish(_ newPath: String, _ newKey: DatabaseKey, _ objects: [Object], _ damaged: Set<String>) throws -> [String] {
        let copy = try Connection(.file(newPath), key: newKey, configuration: copying)
        defer { copy.close() }
        return try watch(copy) { try finish(copy, newPath, objects, damaged) }
    }

    /// Runs work on the copy within the limits, and asks the progress handler also while a statement runs.
    private func watch<R>(_ copy: Connection, _ body: () throws -> R) throws -> R {
        try copy.ending(with: nil) { try report(source.pageCount) } _: { try meter.watch(copy, body) }
    }

    private func finish(_ copy: Connection, _ newPath: String, _ objects: [Object], _ damaged: Set<String>) throws -> [String] {
        try copy.main.setJournalMode(.delete)
        var rebuilt: [String] = []
        for object in objects where object.isFullText {
            guard damaged.contains(where: { $0.hasPrefix(object.entry.name + "_") }) else { continue }
            let name = object.entry.name.quotedSQLIdentifier
            // Without this row in its configuration, FTS5 refuses all requests (https://sqlite.org/fts5.html).
            try meter.use()
            _ = try? copy.execute(
                SQL(raw: "INSERT OR IGNORE INTO \((object.entry.name + "_config").quotedSQLIdentifier) VALUES ('version', 4)"))
            let rebuild = SQL(raw: "INSERT INTO \(name)(\(name)) VALUES ('rebuild')")
            if (try? copy.execute(rebuild)) != nil { rebuilt.append(object.entry.name) }
            try meter.use()
        }
        if let info = try copy.main.cipher, let problem = try copy.main.damagedPages(info).first {
            throw DatabaseError(
                code: .corrupt, reason: .conversionFailed, message: "the new file is damaged: \(problem)", path: newPath)
        }
        return rebuilt
    }

    private var copying: DatabaseConfiguration {
        var copying = DatabaseConfiguration()
        copying.access = .readWrite
        copying.enforcesForeignKeys = false
        copying.prepareDatabase = configuration.preparingOnly
        // The new file has the old one's schema.
        copying.safeguards = configuration.safeguards.map { _ in .limited(to: meter.remaining) }
        return copying
    }

    private func report(_ pages: Int) throws {
        guard let relay else { return }
        let isWanted = relay.report(done: min(pages, source.pageCount - 1), total: source.pageCount)
        guard isWanted else { throw relay.error ?? CancellationError() }
    }
}

extension Salvage.Object {
    fileprivate init?(_ record: StoredRecord, _ encoding: StoredRecord.Encoding) {
        guard record.count >= 5, let type = record.text(0, encoding), let name = record.text(1, encoding),
            let table = record.text(2, encoding)
        else { return nil }
        root = Int(record.integer(3) ?? 0)
        entry = SchemaEntry(type: type, name: name, table: table, isVirtual: root == 0, sql: record.text(4, encoding))
    }

    fileprivate var isOfSchema: Bool { root >= 0 && ["table", "index", "view", "trigger"].contains(entry.type) }

    fileprivate var isFullText: Bool {
        entry.type == "table" && root == 0 && entry.sql?.lowercased().contains("using fts5") == true
    }
}

extension PageReader {
    /// True if the first page is whole.
    var hasFirstPage: Bool {
        get throws {
            guard let page = try page(1), page.starts(with: DatabaseFile.plaintextHeader) else { return false }
            return page.isDatabaseHeader(of: self)
        }
    }

    /// Returns whether a page other than the first has the right authentication code.
    func hasAuthenticPage(_ key: DatabaseKey) throws -> Bool {
        if key.isPlaintext || !key.settings.usesHMAC { return false }
        for number in stride(from: 2, through: pageCount, by: 1) where try page(number) != nil { return true }
        return false
    }
}

extension [UInt8] {
    /// Returns whether this is a first page with this page size: without authentication, a wrong key gives random bytes.
    func isDatabaseHeader(of pages: PageReader) -> Bool {
        let size = bigEndian(at: 16, bytes: 2) ?? 0
        return (size == 1 ? 65536 : size) == pages.pageSize && self[20] >= pages.reservedSize
            && self[21...23].elementsEqual([64, 32, 32])
    }
}

/// The table for rows of an unknown table. It has the columns of the one that `.recover` of SQLite's shell makes
/// (<https://sqlite.org/recovery.html>).
struct LostAndFound {
    let name: String
    private(set) var rows = 0

    /// Creates the table, if there are rows for it.
    init(_ pages: [(top: Int, pages: [Int])], _ map: PageMap, _ copy: Connection, _ encoding: StoredRecord.Encoding) throws {
        var width = 0
        func read(_ body: (_ top: Int, _ page: Int, Int64?, StoredRecord) throws -> Void) throws {
            for (top, pages) in pages {
                for page in pages {
                    var reader = TreeReader(map, .all)
                    _ = try reader.readPage(page) { rowID, bytes in
                        if let record = StoredRecord(bytes, mayBeCut: true) { try body(top, page, rowID, record) }
                    }
                }
            }
        }
        try read { width = max(width, $3.count) }
        width = min(width, 1900)
        name = try Self.freeName("lost_and_found", copy)
        guard width > 0 else { return }
        let columns = (0..<width).map { "c\($0)" }
        try copy.execute(
            SQL(raw: "CREATE TABLE \(name)(rootpgno INTEGER, pgno INTEGER, nfield INTEGER, id INTEGER, "
                + "\(columns.joined(separator: ", ")))"))
        let marks = (0..<width + 4).map { _ in "?" }.joined(separator: ", ")
        let insert = try RawStatement(copy, "INSERT INTO main.\(name) VALUES (\(marks))")
        var count = 0
        try read { top, page, rowID, record in
            for (index, value) in [top, page, record.count].enumerated() {
                try copy.check(sqlite3_bind_int64(insert.handle, Int32(index + 1), Int64(value)))
            }
            try copy.check(rowID.map { sqlite3_bind_int64(insert.handle, 4, $0) } ?? sqlite3_bind_null(insert.handle, 4))
            for index in 0..<width {
                try copy.check(
                    index < record.count
                        ? record.bind(index, to: insert.handle, at: Int32(index + 5), encoding)
                        : sqlite3_bind_null(insert.handle, Int32(index + 5)))
            }
            _ = try insert.step()
            insert.reset()
            count += 1
        }
        rows = count
    }

    /// A name for a new table, with a number if it is taken.
    static func freeName(_ wanted: String, _ copy: Connection) throws -> String {
        var name = wanted, number = 0
        while try copy.main.has(name) {
            number += 1
            name = "\(wanted)_\(number)"
        }
        return name
    }
}
