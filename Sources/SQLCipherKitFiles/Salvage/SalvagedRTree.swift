import CSQLCipher
import SQLCipherKitCore

/// An R-Tree that has lost a part of its tables, created again from what they have left (<https://sqlite.org/rtree.html>): the boxes
/// on its readable leaves, and the other columns of their rows.
struct SalvagedRTree {
    private let copy: Connection
    private let entry: SchemaEntry
    /// The tables of the damaged R-Tree under other names.
    private let nodes: String, rows: String
    private let others: [(part: String, name: String)]
    private let hasIntegers: Bool

    /// Nil if the text describes no R-Tree.
    init?(_ entry: SchemaEntry, in copy: Connection) throws {
        guard entry.type == "table", entry.isVirtual, let module = try? entry.statement().module else { return nil }
        guard [SQLName("rtree"), SQLName("rtree_i32")].contains(module) else { return nil }
        (self.copy, self.entry, hasIntegers) = (copy, entry, module == SQLName("rtree_i32"))
        others = try entry.parts.map { ($0, try LostAndFound.freeName("sqlcipherkit_lost_\($0)", copy)) }
        nodes = copy.main.qualified(others[0].name)
        rows = copy.main.qualified(others[1].name)
    }

    /// Replaces the tables in a database that does not have the R-Tree itself yet.
    /// - Returns: false if it cannot be created; the tables are then as they were.
    func create(_ report: () throws -> Void) throws -> Bool {
        for (part, name) in others { try rename(part, name) }
        do { try copy.execute(SQL(raw: entry.statement().sql)) } catch let error as DatabaseError where error.isOfSchema {
            for (part, name) in others { try rename(name, part) }
            return false
        }
        try fill(report)
        for (_, name) in others { try copy.execute(SQL(raw: "DROP TABLE \(copy.main.qualified(name))")) }
        return true
    }

    private func rename(_ table: String, _ name: String) throws {
        try copy.execute(SQL(raw: "ALTER TABLE \(copy.main.qualified(table)) RENAME TO \(name.quotedSQLIdentifier)"))
    }

    private func fill(_ report: () throws -> Void) throws {
        let columns = try copy.main.columns(of: entry.name).count
        let own = try copy.fetchAll(String.self, "SELECT name FROM pragma_table_info(\(others[1].name), 'main') WHERE cid > 1")
        let numbers = columns - 1 - own.count
        guard numbers > 0 else { return }
        let values = (1...numbers + 1).map { "?\($0)" } + own.map(\.quotedSQLIdentifier)
        let insert = try RawStatement(
            copy,
            "INSERT OR IGNORE INTO \(copy.main.qualified(entry.name)) SELECT \(values.joined(separator: ", ")) "
                + "FROM (SELECT 1) LEFT JOIN \(rows) ON rowid = ?1")
        let read = try copy.prepare(SQL(raw: "SELECT data FROM \(nodes) WHERE nodeno = ?"))
        // The root, whose number is 1, begins with the depth. Each cell is a number of 64 bits and the coordinates of 32 bits.
        var waiting: [(node: Int64, depth: Int)] = [], seen: Set<Int64> = []
        if let root = try read.fetchOne([UInt8].self, [1]), let depth = root.bigEndian(at: 0, bytes: 2) { waiting = [(1, depth)] }
        func addWaiting() throws {
            while let (node, depth) = waiting.popLast() {
                guard seen.insert(node).inserted, let bytes = try read.fetchOne([UInt8].self, [node]) else { continue }
                let size = 8 + 4 * numbers, count = min(bytes.bigEndian(at: 2, bytes: 2) ?? 0, max(0, bytes.count - 4) / size)
                for start in (0..<count).map({ 4 + $0 * size }) {
                    let id = Int64(truncatingIfNeeded: bytes.bigEndian(at: start, bytes: 8) ?? 0)
                    if depth > 0 {
                        waiting.append((id, depth - 1))
                        continue
                    }
                    try copy.check(sqlite3_bind_int64(insert.handle, 1, id))
                    for number in 0..<numbers {
                        let bits = UInt32(truncatingIfNeeded: bytes.bigEndian(at: start + 8 + 4 * number, bytes: 4) ?? 0)
                        let value = hasIntegers ? Double(Int32(bitPattern: bits)) : Double(Float(bitPattern: bits))
                        try copy.check(sqlite3_bind_double(insert.handle, Int32(number + 2), value))
                    }
                    _ = try insert.step()
                    insert.reset()
                }
                try report()
            }
        }
        try addWaiting()
        // Leaves that nothing leads to any more.
        waiting = try copy.fetchAll(Int64.self, SQL(raw: "SELECT DISTINCT nodeno FROM \(rows)")).map { ($0, 0) }
        try addWaiting()
    }
}
