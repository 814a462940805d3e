import CSQLCipher
import SQLCipherKitCore

/// The record that the database keeps of its slots, in a table of one row. It is encrypted like the rest of the database, so only a
/// holder of the key can have written it, and SQL cannot reach it.
struct SlotMark: Hashable, Sendable {
    /// A slot as the database last saw it.
    struct Slot: Hashable, Sendable {
        static let secretCount = 16

        let id: [UInt8]
        /// Identifies the slot's secret: each secret has its own salt.
        let secret: [UInt8]
        let label: String

        init(_ slot: SlotRecord) { (id, secret, label) = (slot.id, Array(slot.salt.prefix(Self.secretCount)), slot.label) }

        init(_ reader: inout ByteReader) throws {
            id = try reader.bytes(SlotTable.idCount)
            secret = try reader.bytes(Self.secretCount)
            label = try reader.label()
        }

        func write(to writer: inout [UInt8]) {
            writer += id + secret
            writer.append(label: label)
        }
    }

    let id: [UInt8]
    let generation: Int
    /// The name of the change that made the generation; nil for one of version 1.
    let change: [UInt8]?
    /// Nil if the slots were not recorded.
    let slots: [Slot]?

    init(_ table: SlotTable) {
        (id, generation, change) = (table.id, table.generation, table.history.last)
        slots = table.slots.map { Slot($0) }
    }

    init(id: [UInt8], generation: Int, change: [UInt8]?, slots: [UInt8]?) {
        (self.id, self.generation, self.change) = (id, generation, change?.count == SlotTable.idCount ? change : nil)
        self.slots = slots.flatMap { try? Self.read($0) }
    }

    private static func read(_ bytes: [UInt8]) throws -> [Slot] {
        var reader = ByteReader(slots: bytes), slots: [Slot] = []
        while !reader.isAtEnd { slots.append(try Slot(&reader)) }
        return slots
    }

    fileprivate var slotBytes: [UInt8]? {
        guard let slots else { return nil }
        var writer: [UInt8] = []
        for slot in slots { slot.write(to: &writer) }
        return writer
    }
}

extension Schema {
    private static let markTable = SQLCIPHERKIT_SLOT_MARK

    /// Returns the mark of the slots; nil if there is none, or none that can be read.
    func slotMark() throws -> SlotMark? {
        let schema = qualified("sqlite_schema")
        let exists: SQL = "SELECT count(*) FROM \(raw: schema) WHERE type = 'table' AND name = \(Self.markTable)"
        guard try connection.fetchOne(Int.self, exists) == 1 else { return nil }
        let rows = SQL(raw: "SELECT * FROM \(qualified(Self.markTable)) WHERE one = 1")
        do {
            let row = try connection.fetchOne(OwnedRow.self, rows)
            guard let row, let id: [UInt8] = try row["id"], id.count == SlotTable.idCount,
                let generation: Int = try row["generation"], generation > 0
            else { return nil }
            // The table of version 1 has three columns.
            guard row.columnNames.contains("change") else {
                return SlotMark(id: id, generation: generation, change: nil, slots: nil)
            }
            return SlotMark(id: id, generation: generation, change: try row["change"], slots: try row["slots"])
        } catch let error as DatabaseError {
            // Something else has created the table.
            if [.noSuchColumn, .typeMismatch].contains(error.reason) || error.code.primary == .error { return nil }
            throw error
        } catch { return nil }
    }

    /// Stores a mark, in a savepoint.
    func setSlotMark(_ mark: SlotMark) throws {
        let slots = mark.slotBytes
        let rc = sqlcipherkit_set_slot_mark(
            try connection.live(), name, mark.id, Int64(mark.generation), mark.change, slots, Int32(slots?.count ?? 0))
        try connection.check(rc)
    }

    func setSlotMark(_ table: SlotTable) throws { try setSlotMark(SlotMark(table)) }

    /// Restores the earlier mark after another one was written.
    func putBack(_ mark: SlotMark?) throws {
        if let mark { return try setSlotMark(mark) }
        try connection.check(sqlcipherkit_remove_slot_mark(connection.live(), name))
    }

    /// Lets SQL write the mark while the connection is open, for copying a whole database to it.
    func allowSlotMark() throws { sqlcipherkit_allow_slot_mark(try connection.live(), 1) }
}
