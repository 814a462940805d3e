import CSQLCipher
import Foundation

/// The arguments of a function call from SQL.
/// The arguments are valid only during the call; the compiler does not let you keep them.
@frozen
public struct FunctionArguments: ~Copyable {
    @usableFromInline let values: UnsafeMutablePointer<OpaquePointer?>?
    /// The number of arguments.
    public let count: Int
    @usableFromInline let profile: ValueProfile

    init(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?, _ profile: ValueProfile) {
        self.profile = profile
        self.count = Int(count)
        self.values = values
    }

    /// Returns an argument by its index, from 0, converted without loss like a column.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``, or
    ///   ``DatabaseError/Reason/invalidArgument`` for an index out of range.
    @inlinable
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        get throws { try get(index) }
    }

    /// Returns an argument by its index, with an explicit type.
    /// - Throws: the same errors as the subscript.
    @inlinable
    public func get<T: SQLValueConvertible>(_ index: Int, as type: T.Type = T.self) throws -> T {
        let value = try value(index)
        guard let converted = T(sqlValue: value, in: profile) else {
            throw mismatch(index, value.storageClass, String(describing: T.self))
        }
        return converted
    }

    @usableFromInline
    @inline(never)
    func mismatch(_ index: Int, _ storage: StorageClass, _ type: String) -> DatabaseError {
        DatabaseError(
            code: .mismatch, reason: storage == .null ? .unexpectedNull : .typeMismatch,
            message: storage == .null
                ? "argument \(index + 1) is NULL and was read as \(type)"
                : "argument \(index + 1) is \(storage.rawValue) that cannot be converted to \(type) without loss")
    }

    /// Returns an argument in its own storage class.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` for text that is not UTF-8, or ``DatabaseError/Reason/invalidArgument``
    ///   for an index out of range.
    public func value(_ index: Int) throws -> SQLValue {
        try SQLValue(copying: try pointer(index), "argument \(index + 1)")
    }

    /// Returns whether an argument is NULL.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an index out of range.
    public func isNull(_ index: Int) throws -> Bool { sqlite3_value_type(try pointer(index)) == SQLITE_NULL }

    /// Calls `body` with the bytes of a blob or a text, without copying them.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` for any other value, and any error that `body` throws.
    public func withUnsafeBytes<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        let value = try pointer(index)
        let type = sqlite3_value_type(value)
        guard type == SQLITE_TEXT || type == SQLITE_BLOB else {
            throw DatabaseError(code: .mismatch, reason: .typeMismatch, message: "argument \(index + 1) is neither text nor a blob")
        }
        return try body(UnsafeRawBufferPointer(try Self.bytes(value)))
    }

    /// Returns an argument as SQLite's own text functions see it: numbers are written out, and the bytes of a blob are taken as
    /// UTF-8. Nil for NULL.
    func text(_ index: Int) throws -> String? {
        try isNull(index) ? nil : String(decoding: Self.bytes(pointer(index)), as: UTF8.self)
    }

    private func pointer(_ index: Int) throws -> OpaquePointer {
        guard index >= 0, index < count, let value = values?[index] else {
            throw DatabaseError.invalidArgument("argument \(index + 1) of a call with \(count)")
        }
        return value
    }

    /// - Throws: ``ResultCode/outOfMemory`` if there is no memory for the bytes, for which SQLite has the same answer as for none.
    static func bytes(_ value: OpaquePointer) throws -> UnsafeBufferPointer<UInt8> {
        let isBlob = sqlite3_value_type(value) == SQLITE_BLOB
        let start = isBlob ? sqlite3_value_blob(value) : UnsafeRawPointer(sqlite3_value_text(value))
        let count = Int(sqlite3_value_bytes(value))
        if start == nil, !isBlob || count > 0 { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
        return UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count)
    }
}

extension SQLValue {
    /// Copies the value behind one of SQLite's pointers, in its own storage class.
    /// - Parameter what: the name of the value in an error.
    package init(copying value: OpaquePointer, _ what: String = "a value") throws {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(value))
        case SQLITE_TEXT:
            guard let text = String(validating: try FunctionArguments.bytes(value), as: UTF8.self) else {
                throw DatabaseError(
                    code: .mismatch, reason: .typeMismatch, message: "\(what) is text that is not well-formed UTF-8")
            }
            self = .text(text)
        case SQLITE_BLOB: self = .blob(Data(try FunctionArguments.bytes(value)))
        default: self = .null
        }
    }
}
