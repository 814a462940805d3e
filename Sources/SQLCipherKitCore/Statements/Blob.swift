import CSQLCipher
import Foundation

/// A blob or text value of a row, read and written incrementally (<https://sqlite.org/c3ref/blob_open.html>).
///
/// ```swift
/// try db.execute("INSERT INTO film(id, data) VALUES (1, \(ZeroBlob(count: size)))")
/// try db.transaction { db in
///     let blob = try db.main.openBlob(table: "film", column: "data", rowID: 1, forWriting: true)
///     while let chunk = try file.read(upToCount: 65_536) { try blob.write(chunk) }
///     blob.close()
/// }
/// ```
/// ``read(upTo:)`` and ``write(_:)`` continue at the blob's position, which ``seek(to:)`` sets. The size of a blob cannot change:
/// to write a new blob, store a ``ZeroBlob`` first. An open blob keeps a transaction open until it is closed with ``close()`` or
/// released; a blob that is open for writing makes `COMMIT` fail. Outside a transaction of your own, closing the blob commits. The
/// connection's page cache limits the memory that a transaction takes (``Schema/setCacheSize(_:)``).
///
/// After anything else changes the row, each call throws ``ResultCode/abort`` until ``reopen(rowID:)``. After the connection was
/// closed, each call throws ``DatabaseError/Reason/closed``.
public final class Blob: ConnectionDependent {
    private let connection: Connection
    private var handle: OpaquePointer?
    private let schema: String, table: String, column: String
    private var rowID: Int64
    private let isWritable: Bool
    /// The number of bytes.
    public private(set) var count: Int
    /// The position of the next read or write, in bytes from the start of the blob.
    public private(set) var position = 0

    package var endsWithLoan: Bool { true }

    init(
        _ schema: Schema, _ table: String, _ column: String, _ rowID: Int64, forWriting: Bool
    ) throws {
        let db = schema.connection
        connection = db
        (isWritable, self.rowID) = (forWriting, rowID)
        (self.schema, self.table, self.column) = (schema.name, table, column)
        let database = try db.liveForUse()
        let (table, column) = (try table.cName("the name of a table"), try column.cName("the name of a column"))
        if forWriting, sqlcipherkit_is_slot_mark(table) != 0 {
            throw DatabaseError(code: .authorization, reason: .refusedSQL,
                message: "KeySlots alone writes \(SQLCIPHERKIT_SLOT_MARK)")
        }
        let rc = sqlcipherkit_open_blob(database, schema.name, table, column, rowID, forWriting ? 1 : 0, &handle)
        guard rc == SQLITE_OK, let handle else {
            count = 0
            throw db.failure(rc)
        }
        count = Int(sqlite3_blob_bytes(handle))
        // SQLite's authorizer, by which reads are recorded, is not asked here.
        db.hooks?.recorder?.record(database, SQLITE_READ, table, column, schema.name)
        db.register(self)
    }

    deinit { close() }

    /// Closes the blob and ends the transaction that it kept open. Closing it again does nothing.
    public func close() {
        // On a thread that may not use the connection there is nothing to do: the blob was closed when the connection's loan ended.
        if connection.isUsable { end() }
    }

    package func connectionCloses() { end() }

    private func end() {
        guard let handle else { return }
        self.handle = nil
        connection.unregister(self)
        if !connection.isForked { sqlite3_blob_close(handle) }
        if connection.awaitsCommit { connection.settleCommit() }
    }

    /// Moves to another row of the same table and column, which is faster than opening another blob. The position is reset to the
    /// start (<https://sqlite.org/c3ref/blob_reopen.html>).
    /// - Throws: SQLite's error if there is no such row, or its value is neither a blob nor text. Each call then throws
    ///   ``ResultCode/abort`` until this method succeeds for some row.
    public func reopen(rowID: Int64) throws {
        var handle = try live()
        count = 0
        position = 0
        var rc = sqlite3_blob_reopen(handle, rowID)
        if rc & 0xff == SQLITE_ABORT {
            // SQLite's handle is unusable after a failure or a change of its row.
            var fresh: OpaquePointer?
            rc = try sqlcipherkit_open_blob(connection.liveForUse(), schema, table, column, rowID, isWritable ? 1 : 0, &fresh)
            if rc == SQLITE_OK, let fresh {
                // The new handle keeps the old one's transaction open.
                sqlite3_blob_close(handle)
                (self.handle, handle) = (fresh, fresh)
            }
        }
        try connection.check(rc)
        self.rowID = rowID
        count = Int(sqlite3_blob_bytes(handle))
    }

    /// Sets the position.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a position outside the blob. The end itself is allowed.
    public func seek(to position: Int) throws {
        _ = try range(position, 0)
        self.position = position
    }

    /// Reads the next bytes from the position, which advances past them.
    /// - Parameter count: the maximum number of bytes.
    /// - Returns: at least one byte; nil at the end.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if `count` is less than 1, or SQLite's error.
    public func read(upTo count: Int) throws -> Data? {
        _ = try live()
        if count < 1 { throw DatabaseError.invalidArgument("a chunk must have at least 1 byte, and not \(count)") }
        if position == self.count { return nil }
        let count = min(count, self.count - position)
        let data = try read(count, at: position)
        position += count
        return data
    }

    /// Reads bytes at an offset in the blob, without moving the position.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for bytes outside the blob.
    public func read(_ count: Int, at offset: Int) throws -> Data {
        _ = try range(offset, count)
        if count == 0 { return Data() }
        var data = Data(count: count)
        try data.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        return data
    }

    /// Fills memory with bytes at an offset in the blob, without moving the position.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for bytes outside the blob.
    public func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        let (handle, offset) = try range(offset, bytes.count)
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        try check(sqlite3_blob_read(handle, base, Int32(bytes.count), offset))
    }

    /// Writes bytes at the position, which advances past them.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the bytes do not fit, in which case nothing is written;
    ///   ``DatabaseError/Reason/misuse`` if the blob was not opened for writing.
    public func write(_ bytes: some ContiguousBytes) throws {
        let written = try bytes.withBytes { bytes in
            try write(bytes, at: position)
            return bytes.count
        }
        position += written
    }

    /// Writes bytes at an offset in the blob, without moving the position.
    /// - Throws: the same errors as ``write(_:)``.
    public func write(_ bytes: some ContiguousBytes, at offset: Int) throws {
        try bytes.withBytes { bytes in try write(bytes, at: offset) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        let (handle, offset) = try range(offset, bytes.count)
        if !isWritable { throw DatabaseError.misuse("the blob was opened for reading") }
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        try check(sqlcipherkit_write_blob(connection.liveForUse(), schema, table, rowID, handle, base, Int32(bytes.count), offset))
    }

    private func live() throws -> OpaquePointer {
        _ = try connection.liveForUse()
        guard let handle else { throw DatabaseError(code: .misuse, reason: .closed, message: "the blob is closed") }
        return handle
    }

    private func range(_ offset: Int, _ bytes: Int) throws -> (OpaquePointer, Int32) {
        let handle = try live()
        guard offset >= 0, bytes >= 0, offset <= count, bytes <= count - offset else {
            throw DatabaseError.invalidArgument("\(bytes) bytes at \(offset) are not within a blob of \(count)")
        }
        return (handle, Int32(offset))
    }

    private func check(_ rc: Int32) throws {
        guard rc != SQLITE_OK else { return }
        if rc & 0xff == SQLITE_ABORT {
            throw DatabaseError(code: .abort, message: "the blob's row was changed or deleted since it was opened: open it again")
        }
        throw connection.failure(rc)
    }
}

/// A blob of zeros, which takes no memory, to be filled through a ``Blob`` (<https://sqlite.org/c3ref/bind_blob.html>).
public struct ZeroBlob: SQLValueConvertible, Hashable {
    /// The number of bytes.
    public let count: Int

    /// - Parameter count: the number of bytes, up to SQLite's limit of 1,000,000,000.
    public init(count: Int) { self.count = count }

    /// A blob of ``count`` zeros, in memory.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a negative ``count``.
    public var sqlValue: SQLValue {
        get throws {
            if count < 0 { throw DatabaseError.invalidArgument("a blob cannot have \(count) bytes") }
            return .blob(Data(count: count))
        }
    }

    /// Converts from a blob of zeros; nil for any other value.
    public init?(sqlValue: SQLValue) {
        guard case .blob(let data) = sqlValue, data.allSatisfy({ $0 == 0 }) else { return nil }
        count = data.count
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        if count < 0 { throw DatabaseError.invalidArgument("a blob cannot have \(count) bytes") }
        let rc = sqlite3_bind_zeroblob64(parameter.handle, parameter.index, UInt64(count))
        // SQLite gives no message with this code.
        if rc == SQLITE_TOOBIG {
            throw DatabaseError(code: .tooBig, message: "a blob of \(count) bytes exceeds the limit of the connection")
        }
        try parameter.check(rc)
    }
}

extension Blob {
    /// The blob from its position to its end, in chunks.
    ///
    /// ```swift
    /// for try await chunk in blob.chunks(of: 65_536) { try await connection.send(chunk) }
    /// ```
    /// Reading takes place on the loop's own thread. Without `await`, use ``read(upTo:)``.
    /// The sequence throws the same errors.
    /// - Parameter count: the size of a chunk in bytes; the last chunk may be shorter. Default: 65,536.
    public func chunks(of count: Int = 65_536) -> some AsyncSequence<Data, any Error> { BlobChunks(blob: self, count: count) }
}

private struct BlobChunks: AsyncSequence, AsyncIteratorProtocol {
    let blob: Blob
    let count: Int

    func next() async throws -> Data? { try blob.read(upTo: count) }
    func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try blob.read(upTo: count) }
    func makeAsyncIterator() -> BlobChunks { self }
}

extension Schema {
    /// Opens the value of a column in a row, to read and write it incrementally.
    /// - Parameters:
    ///   - table: a table with row ids and without generated columns.
    ///   - column: a stored column. For writing, the column must not be in an index, a foreign key, a full-text index or a table of
    ///     vectors, because SQLite runs no triggers when a blob is written. A change log records these writes nevertheless.
    ///   - rowID: the row's id.
    ///   - forWriting: whether the value may be written. Default: false.
    /// - Throws: SQLite's error if there is no such table, column or row, or its value is neither a blob nor text.
    public func openBlob(table: String, column: String, rowID: Int64, forWriting: Bool = false) throws -> Blob {
        try Blob(self, table, column, rowID, forWriting: forWriting)
    }
}
