import SQLCipherKitCore

/// The shape of the records of a table or an index, which tells the owner of a page to which nothing leads.
struct TreeShape {
    fileprivate struct Column {
        /// True if its values are text unless they are blobs or NULL
        /// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
        let isText: Bool
        let isNumber: Bool
        let isNotNull: Bool
        /// True if its value is the row id, and NULL in the record.
        let isRowID: Bool
        /// True if records are in the order of its values' bytes.
        let isOrdered: Bool
    }

    private let columns: [Column]
    /// True if each record has all values: rows from before a column was added have fewer.
    private let isExact: Bool

    /// The shape of a table with row ids.
    init(table: String, in copy: Connection) throws {
        let rows: [(String, Bool, Int)] = try copy.fetchAll(
            "SELECT upper(type), \"notnull\", pk FROM pragma_table_xinfo(\(table), 'main') WHERE hidden <> 2 ORDER BY cid")
        let keys = rows.count { $0.2 > 0 }
        columns = rows.map { type, isNotNull, key in
            Column(type, isNotNull, isRowID: key == 1 && keys == 1 && type == "INTEGER", isOrdered: false)
        }
        isExact = false
    }

    /// The shape of an index, or of the primary key of a table without row ids, which holds the whole rows.
    init(index: String, of table: String, isTable: Bool, in copy: Connection) throws {
        let rows: [(String?, Bool, Bool)] = try copy.fetchAll(
            """
            SELECT upper(c.type), coalesce(c."notnull", 0), i.key AND NOT i."desc" AND i.coll = 'BINARY' AND i.cid <> -2
            FROM pragma_index_xinfo(\(index), 'main') AS i LEFT JOIN pragma_table_xinfo(\(table), 'main') AS c ON c.cid = i.cid
            ORDER BY i.seqno
            """)
        columns = rows.map { Column($0.0 ?? "", $0.1, isRowID: false, isOrdered: $0.2) }
        isExact = !isTable
    }

    /// Returns a score of how well a record fits; nil if the record cannot belong to the tree.
    func score(_ record: StoredRecord) -> Int? {
        guard record.count > 0, record.count == columns.count || (!isExact && record.count < columns.count) else { return nil }
        var score = record.count == columns.count ? 3 : 0
        for (index, column) in columns.prefix(record.count).enumerated() {
            switch record.kind(index) {
            case .null where column.isRowID: score += 2
            case .null where column.isNotNull: return nil
            case .null: break
            case _ where column.isRowID: return nil
            case .number where column.isText: return nil
            case .number: score += column.isNumber ? 2 : 0
            case .text: score += column.isText ? 2 : column.isNumber ? -1 : 0
            case .blob: score -= column.isText || column.isNumber ? 1 : 0
            }
        }
        return score
    }

    /// Returns whether a record may be between two others, as far as the order of bytes tells.
    func isBetween(_ record: StoredRecord, _ gap: TreeGap) -> Bool {
        let ordered = columns.prefix { $0.isOrdered }.count
        if let lower = gap.lower.flatMap({ StoredRecord($0) }), record.precedes(lower, in: ordered) { return false }
        if let upper = gap.upper.flatMap({ StoredRecord($0) }), upper.precedes(record, in: ordered) { return false }
        return true
    }
}

extension TreeShape.Column {
    fileprivate init(_ type: String, _ isNotNull: Bool, isRowID: Bool, isOrdered: Bool) {
        let isInteger = type.contains("INT")
        isText = !isInteger && ["CHAR", "CLOB", "TEXT"].contains { type.contains($0) }
        isNumber = isInteger || ["REAL", "FLOA", "DOUB", "NUM", "DEC"].contains { type.contains($0) }
        (self.isNotNull, self.isRowID, self.isOrdered) = (isNotNull, isRowID, isOrdered)
    }
}

extension StoredRecord {
    enum Kind: Int { case null, number, text, blob }

    func kind(_ index: Int) -> Kind {
        isNull(index) ? .null : bytes(index) == nil ? .number : isText(index) ? .text : .blob
    }

    /// Returns whether this record is before another by the first values, in the order of SQLite's collation BINARY.
    fileprivate func precedes(_ other: StoredRecord, in count: Int) -> Bool {
        for index in 0..<min(count, self.count, other.count) {
            let left = kind(index), right = other.kind(index)
            if left != right { return left.rawValue < right.rawValue }
            switch left {
            case .null: continue
            case .number:
                if let left = integer(index), let right = other.integer(index) {
                    if left != right { return left < right }
                } else if let left = real(index), let right = other.real(index), left != right {
                    return left < right
                }
            case .text, .blob:
                guard let left = bytes(index), let right = other.bytes(index) else { continue }
                if let (left, right) = zip(left, right).first(where: { $0 != $1 }) { return left < right }
                if isCut(index) || other.isCut(index) { return false }
                if left.count != right.count { return left.count < right.count }
            }
        }
        return false
    }
}
