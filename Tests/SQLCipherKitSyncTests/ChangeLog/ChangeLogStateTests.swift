#if DEBUG || SQLCIPHERKIT_TESTABLE
import SQLCipherKitCore
@testable import SQLCipherKitSync
import Testing

/// The bytes of a snapshot's rows.
@Suite struct ChangeLogStateTests {
    /// A snapshot until b's entry of the time 20, with one row.
    private func read(insert: ChangeStamp, gone: Int64?, cell: ChangeStamp? = nil) throws -> ChangeLogState {
        var until = ChangeLog.Position()
        until.marks["b"] = ChangeLog.Position.Mark(sequence: 1, clock: 20, identity: 1)
        let row = ChangeLogRow(insert: insert, gone: gone, cells: cell.map { [ChangeLogRow.wholeRow: $0] } ?? [:])
        var state = ChangeLogState(), bytes: [UInt8] = []
        let values: [SQLValue]? = gone == nil ? [.text("x")] : nil
        state.tables = [ChangeLogState.Table(name: "note", keyColumns: ["id"], columns: ["title"])]
        state.tables[0].rows = [ChangeLogState.Row(key: [.integer(1)], values: values, row: row)]
        state.write(&bytes)
        var reader = ByteReader(log: bytes)
        let found = try ChangeLogState(&reader, until)
        #expect(found == state)
        return found
    }

    /// The entry of the insert may be in a chain that was lost, before the delete came by another chain.
    @Test func deleteMayNameInsertThatSnapshotLacks() throws {
        let (known, unknown) = (ChangeStamp(clock: 10, peer: "b"), ChangeStamp(clock: 15, peer: "a"))
        _ = try read(insert: known, gone: nil)
        _ = try read(insert: unknown, gone: 20)
        for (insert, gone, cell) in [
            // A row that is there, one deleted before it was inserted, a delete that is later than the snapshot, an update.
            (unknown, nil, nil), (unknown, 14, nil), (unknown, 21, nil), (known, nil, unknown),
        ] as [(ChangeStamp, Int64?, ChangeStamp?)] {
            #expect(throws: DatabaseError.malformedLog) { try read(insert: insert, gone: gone, cell: cell) }
        }
    }
}
#endif
