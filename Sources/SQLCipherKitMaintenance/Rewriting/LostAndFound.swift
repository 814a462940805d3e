import CSQLCipher
import SQLCipherKitCore

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
    static func freeName(_ wanted: String, _ copy: Connection) throws(DatabaseError) -> String {
        var name = wanted, number = 0
        while try copy.main.has(name) {
            number += 1
            name = "\(wanted)_\(number)"
        }
        return name
    }
}
