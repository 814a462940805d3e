import CSQLCipher
import Foundation
import SQLCipherKit

/// Reads and writes a part of a stored blob.
struct BlobStep: Step {
    var table: String
    var column: String
    var rowID: Int64
    var offset: Int
    /// The bytes to write; nil to read.
    var bytes: Data?
    var count: Int

    func run(in world: World) throws {
        // A write without a transaction commits when the blob is closed.
        try world.both(perform, { try model($0) })
    }

    private func perform(_ db: Connection) throws -> Outcome {
        let blob = try db.main.openBlob(table: table, column: column, rowID: rowID, forWriting: bytes != nil)
        defer { blob.close() }
        if let bytes {
            try blob.write(bytes, at: offset)
            return .text("\(blob.count)")
        }
        return .text("\(blob.count): \(Array(try blob.read(count, at: offset)))")
    }

    private func model(_ reference: Reference) throws -> Outcome {
        var blob: OpaquePointer?
        let rc = sqlite3_blob_open(reference.db, "main", table, column, rowID, bytes == nil ? 0 : 1, &blob)
        defer { sqlite3_blob_close(blob) }
        if rc != SQLITE_OK { return Outcome(code: rc) }
        let size = Int(sqlite3_blob_bytes(blob)), wanted = bytes?.count ?? count
        guard offset >= 0, wanted >= 0, offset + wanted <= size else { return .refused(.invalidArgument) }
        if let bytes {
            if !bytes.isEmpty { bytes.withUnsafeBytes { _ = sqlite3_blob_write(blob, $0.baseAddress, Int32($0.count), Int32(offset)) } }
            return .text("\(size)")
        }
        var found = [UInt8](repeating: 0, count: wanted)
        if wanted > 0 { sqlite3_blob_read(blob, &found, Int32(wanted), Int32(offset)) }
        return .text("\(size): \(found)")
    }

    var description: String {
        "try db.main.openBlob(table: \(show(table)), column: \(show(column)), rowID: \(rowID))."
            + (bytes.map { "write(\(Array($0)), at: \(offset))" } ?? "read(\(count), at: \(offset))")
    }
}

extension Sketch {
    mutating func blobStep() -> (any Step)? {
        guard let table = anyTable() else { return createTable() }
        let isRecord = dice.oneIn(2) && (counts["record"] ?? 0) > 0
        return BlobStep(
            table: isRecord ? "item" : table.name, column: isRecord ? "data" : dice.pick(table.columns), rowID: Int64(dice.below(4)),
            offset: dice.below(4) - (dice.oneIn(9) ? 1 : 0), bytes: dice.oneIn(2) ? Data(repeating: 9, count: dice.below(3)) : nil,
            count: dice.below(4))
    }
}
