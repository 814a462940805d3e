import SQLCipherKitCore

/// Copies with the same entries have the same rows. Messages with all rows are taken on trust, so copies compare checksums now and
/// then; and whatever a copy cannot get, it asks for.
extension ChangeLog {
    /// Checksums of a copy's rows.
    package struct RowSums: Hashable, Codable, Sendable {
        /// The entries that the copy has.
        package let position: Position
        /// By the names of tables and their columns.
        package let tables: [String: Int64]

        package init(position: Position, tables: [String: Int64]) { (self.position, self.tables) = (position, tables) }

        /// Whether two copies with the same entries have other rows. Tables that have other columns are not compared.
        package func differ(from other: RowSums) -> Bool {
            position == other.position && tables.contains { name, sum in other.tables[name].map { $0 != sum } ?? false }
        }
    }

    /// Reads all rows of the logged tables.
    package func rowSums() throws -> RowSums {
        try connection.transaction(.deferred) { db in
            try lookOutside()
            var sums: [String: Int64] = [:]
            for table in try tables().all {
                let names = table.key + table.others.sorted()
                var sum: UInt64 = 0
                let columns = names.map(\.quotedSQLIdentifier).joined(separator: ", ")
                try db.forEach(SQL(raw: "SELECT \(columns) FROM main.\(table.quotedName)")) { row in
                    let values = try RowCopy(row: row).values
                    if values.prefix(table.key.count).contains(.null) { return }
                    var writer = ChangeLogWriter()
                    for value in values { writer.put(value) }
                    // The order of the rows does not matter.
                    sum &+= Self.checksum(writer.bytes)
                }
                sums[([table.name] + names).joined(separator: "\0")] = Int64(bitPattern: sum)
            }
            return TransactionEnd.commit(RowSums(position: try position, tables: sums))
        }
    }

    /// A checksum that finds what differs by accident. It is no proof against one who looks for rows with the same sum.
    private static func checksum(_ bytes: [UInt8]) -> UInt64 {
        func mixed(_ number: UInt64) -> UInt64 {
            let product = (number ^ 0x9e37_79b9_7f4a_7c15).multipliedFullWidth(by: 0xd6e8_feb8_6659_fd93)
            return product.high ^ product.low
        }
        return bytes.withUnsafeBytes { bytes in
            var sum = mixed(UInt64(bytes.count)), place = 0
            while place + 8 <= bytes.count {
                sum = mixed(sum ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))) &+ sum
                place += 8
            }
            var last: UInt64 = 0
            while place < bytes.count {
                last = last << 8 | UInt64(bytes[place])
                place += 1
            }
            return mixed(sum ^ last) &+ sum
        }
    }

    /// A message that asks for all rows. It can be received by any copy.
    package func question() throws -> Message {
        var message = try message(since: Position(), until: Position(), entries: [])
        message.asks = try position
        return message
    }

    /// Tells in a message what this copy's rows are.
    package func addSums(to message: inout Message) throws {
        let sums = try rowSums()
        if sums.position == message.until { message.sums = sums.tables }
    }

    /// All rows, to be merged by those too that have all of their entries.
    package func mend() throws -> Message {
        var message = try wholeState()
        message.isMend = true
        return message
    }
}
