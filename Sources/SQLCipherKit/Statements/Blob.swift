import CSQLCipher
import Foundation

/// One blob, or text, of one row, read and written piece by piece (<https://sqlite.org/c3ref/blob_open.html>).
///
/// ```swift
/// try db.execute("INSERT INTO film(id, data) VALUES (1, \(ZeroBlob(count: size)))")
/// try db.transaction { db in
///     let blob = try db.main.openBlob(table: "film", column: "data", rowID: 1, forWriting: true)
///     while let chunk = try file.read(upToCount: 65_536) { try blob.write(chunk) }
///     blob.close()
/// }
/// ```
/// It has a position, where ``read(upTo:)`` and ``write(_:)`` go on, and which ``seek(to:)`` sets. Its size cannot change: to write
/// a new one, store a ``ZeroBlob`` first. An open blob keeps a transaction open until ``close()``, which letting go of it does as
/// well: one that is open for writing makes `COMMIT` fail. Outside of a transaction of yours, closing commits. The connection's
/// page cache bounds the memory that a transaction takes (``Schema/setCacheSize(_:)``).
///
/// When the row is changed by anything else, each call throws ``ResultCode/abort`` until ``reopen(rowID:)``. After the connection
/// has closed each call throws ``DatabaseError/Reason/closed``.
public final class Blob: ConnectionDependent {
    private let connection: Connection
    private var handle: OpaquePointer?
    private let schema: String, table: String, column: String
    private let isWritable: Bool
    /// The number of bytes.
    public private(set) var count: Int
    /// Where the next reading or writing begins, in bytes from the blob's beginning.
    public private(set) var position = 0

    var endsWithLoan: Bool { true }

    init(
        _ schema: Schema, _ table: String, _ column: String, _ rowID: Int64, forWriting: Bool
    ) throws(DatabaseError) {
        let db = schema.connection
        connection = db
        isWritable = forWriting
        (self.schema, self.table, self.column) = (schema.name, table, column)
        let database = try db.liveForUse()
        let (table, column) = (try table.cName("the name of a table"), try column.cName("the name of a column"))
        if forWriting, sqlcipherkit_is_slot_mark(table) != 0 {
            throw DatabaseError(code: .authorization, reason: .refusedSQL,
                message: "KeySlots alone writes \(SQLCIPHERKIT_SLOT_MARK)")
        }
        let rc = sqlite3_blob_open(database, schema.name, table, column, rowID, forWriting ? 1 : 0, &handle)
        guard rc == SQLITE_OK, let handle else {
            count = 0
            throw db.failure(rc)
        }
        count = Int(sqlite3_blob_bytes(handle))
        db.register(self)
    }

    deinit { close() }

    /// Closes the blob, and with it the transaction that it has kept open. Closing twice does nothing.
    public func close() {
        // On a thread that may not use the connection there is nothing to do: the end of the loan has closed the blob.
        if connection.isUsable { end() }
    }

    func connectionCloses() { end() }

    private func end() {
        guard let handle else { return }
        self.handle = nil
        connection.unregister(self)
        if !connection.isForked { sqlite3_blob_close(handle) }
        if connection.awaitsCommit { connection.settleCommit() }
    }

    /// Goes on with another row of the same table and column, which is faster than opening another blob. The position is the
    /// beginning (<https://sqlite.org/c3ref/blob_reopen.html>).
    /// - Throws: SQLite's error if there is no such row, or its value is neither a blob nor text. Each call throws
    ///   ``ResultCode/abort`` then, until this one succeeds, with any row.
    public func reopen(rowID: Int64) throws(DatabaseError) {
        var handle = try live()
        count = 0
        position = 0
        var rc = sqlite3_blob_reopen(handle, rowID)
        if rc & 0xff == SQLITE_ABORT {
            // SQLite's handle is of no more use, after a failure or a change of its row.
            var fresh: OpaquePointer?
            rc = sqlite3_blob_open(connection.handle, schema, table, column, rowID, isWritable ? 1 : 0, &fresh)
            if rc == SQLITE_OK, let fresh {
                // The new one keeps the transaction open that the old one has kept.
                sqlite3_blob_close(handle)
                (self.handle, handle) = (fresh, fresh)
            }
        }
        try connection.check(rc)
        count = Int(sqlite3_blob_bytes(handle))
    }

    /// Sets the position.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` outside of the blob. Its end is inside.
    public func seek(to position: Int) throws(DatabaseError) {
        _ = try range(position, 0)
        self.position = position
    }

    /// The next bytes, from the position on, which moves after them.
    /// - Parameter count: how many at most.
    /// - Returns: at least one byte; nil at the end.
    public func read(upTo count: Int) throws(DatabaseError) -> Data? {
        _ = try live()
        if count < 1 { throw .invalidArgument("a chunk of \(count) bytes") }
        if position == self.count { return nil }
        let count = min(count, self.count - position)
        let data = try read(count, at: position)
        position += count
        return data
    }

    /// Bytes from a place in the blob; the position stays.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for bytes outside of the blob.
    public func read(_ count: Int, at offset: Int) throws(DatabaseError) -> Data {
        _ = try range(offset, count)
        if count == 0 { return Data() }
        var data = Data(count: count)
        var failure: DatabaseError?
        data.withUnsafeMutableBytes { bytes in
            do throws(DatabaseError) { try read(into: bytes, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
        return data
    }

    /// Fills memory with bytes from a place in the blob; the position stays.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for bytes outside of the blob.
    public func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) {
        let (handle, offset) = try range(offset, bytes.count)
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        try check(sqlite3_blob_read(handle, base, Int32(bytes.count), offset))
    }

    /// Writes bytes from the position on, which moves after them.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for more bytes than there is room, and nothing is written then;
    ///   ``DatabaseError/Reason/misuse`` if the blob was not opened for writing.
    public func write(_ bytes: some ContiguousBytes) throws(DatabaseError) {
        let written = try bytes.withBytes { bytes throws(DatabaseError) in
            try write(bytes, at: position)
            return bytes.count
        }
        position += written
    }

    /// Writes bytes to a place in the blob; the position stays.
    /// - Throws: as ``write(_:)``.
    public func write(_ bytes: some ContiguousBytes, at offset: Int) throws(DatabaseError) {
        try bytes.withBytes { bytes throws(DatabaseError) in try write(bytes, at: offset) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        let (handle, offset) = try range(offset, bytes.count)
        if !isWritable { throw .misuse("the blob was opened for reading") }
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        try check(sqlite3_blob_write(handle, base, Int32(bytes.count), offset))
    }

    private func live() throws(DatabaseError) -> OpaquePointer {
        _ = try connection.liveForUse()
        guard let handle else { throw DatabaseError(code: .misuse, reason: .closed, message: "the blob is closed") }
        return handle
    }

    private func range(_ offset: Int, _ bytes: Int) throws(DatabaseError) -> (OpaquePointer, Int32) {
        let handle = try live()
        guard offset >= 0, bytes >= 0, offset <= count, bytes <= count - offset else {
            throw .invalidArgument("\(bytes) bytes at \(offset) are not within a blob of \(count)")
        }
        return (handle, Int32(offset))
    }

    private func check(_ rc: Int32) throws(DatabaseError) {
        guard rc != SQLITE_OK else { return }
        if rc & 0xff == SQLITE_ABORT {
            throw DatabaseError(code: .abort, message: "the blob's row was changed or deleted since it was opened: open it again")
        }
        throw connection.failure(rc)
    }
}

/// A blob of zeros, which takes no memory, to be written with a ``Blob`` (<https://sqlite.org/c3ref/bind_blob.html>).
public struct ZeroBlob: SQLValueConvertible, Hashable {
    /// The number of bytes.
    public let count: Int

    /// - Parameter count: the number of bytes, up to SQLite's limit of 1,000,000,000.
    public init(count: Int) { self.count = count }

    public var sqlValue: SQLValue {
        get throws(DatabaseError) {
            if count < 0 { throw .invalidArgument("a blob of \(count) bytes") }
            return .blob(Data(count: count))
        }
    }

    /// A blob of zeros. Others are none.
    public init?(sqlValue: SQLValue) {
        guard case .blob(let data) = sqlValue, data.allSatisfy({ $0 == 0 }) else { return nil }
        count = data.count
    }

    public func bindSQL(to parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        if count < 0 { throw .invalidArgument("a blob of \(count) bytes") }
        let rc = sqlite3_bind_zeroblob64(parameter.handle, parameter.index, UInt64(count))
        // SQLite gives the code alone.
        if rc == SQLITE_TOOBIG {
            throw DatabaseError(code: .tooBig, message: "a blob of \(count) bytes is over the limit of the connection")
        }
        try parameter.check(rc)
    }
}
