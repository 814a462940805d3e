import CSQLCipher
import Foundation

/// Stored as TEXT, byte for byte, NUL characters included.
extension String: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(self) }

    public init?(sqlValue: SQLValue) {
        guard case .text(let value) = sqlValue else { return nil }
        self = value
    }

    /// Reads TEXT. Bytes that are not valid UTF-8 are not replaced but cause an error: read them as `Data`.
    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> String {
        let bytes = try column.rawBytes(text: true, blob: false, as: "String")
        guard let text = String(wellFormed: bytes) else { throw column.mismatch("String, as it is not well-formed UTF-8,") }
        return text
    }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> String? {
        guard let bytes = column.fastBytes(text: true, blob: false) else { return nil }
        return String(wellFormed: bytes)
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        // Avoids copying the string if its storage is contiguous.
        utf8.withContiguousStorageIfAvailable { parameter.bindText($0) == SQLITE_OK } ?? false
    }

    /// The text of UTF-8 bytes; nil if they are not well-formed. `String(validating:)` is four times slower: it is not specialised
    /// for UTF-8.
    @usableFromInline
    package init?(wellFormed bytes: UnsafeRawBufferPointer) {
        // Decoding replaces bytes that are not well-formed, so the result then differs from the original.
        var text = String(decoding: bytes, as: UTF8.self)
        let isSame = text.withUTF8 { decoded in
            decoded.count == bytes.count && (bytes.isEmpty || memcmp(decoded.baseAddress!, bytes.baseAddress!, bytes.count) == 0)
        }
        guard isSame else { return nil }
        self = text
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try withBytes { bytes in try parameter.bind(utf8: bytes.assumingMemoryBound(to: UInt8.self)) }
    }
}

/// Stored as TEXT, like `String`.
extension Substring: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(String(self)) }

    public init?(sqlValue: SQLValue) {
        guard case .text(let value) = sqlValue else { return nil }
        self = value[...]
    }
}

/// Stored as BLOB. Read from a BLOB, or from TEXT as its UTF-8 bytes.
extension Data: SQLValueConvertible {
    public var sqlValue: SQLValue { .blob(self) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .blob(let value): self = value
        case .text(let value): self = Data(value.utf8)
        default: return nil
        }
    }

    @inlinable
    public static func _readSQL(from column: borrowing Row._Column) throws -> Data {
        let bytes = try column.rawBytes(text: true, blob: true, as: "Data")
        guard let base = bytes.baseAddress else { return Data() }
        return Data(bytes: base, count: bytes.count)
    }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Data? {
        guard let bytes = column.fastBytes(text: true, blob: true) else { return nil }
        guard let base = bytes.baseAddress else { return Data() }
        return Data(bytes: base, count: bytes.count)
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        #if os(Linux) && compiler(>=6.2)
        // Two exclusivity checks, where Foundation's withUnsafeBytes makes three.
        bytes.withUnsafeBytes { parameter.bindBlob($0) == SQLITE_OK }
        #else
        withUnsafeBytes { parameter.bindBlob($0) == SQLITE_OK }
        #endif
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try withBytes { bytes in try parameter.bind(bytes: bytes) }
    }
}

/// Stored as BLOB, and faster than `Data`. Read from a BLOB, or from TEXT as its UTF-8 bytes.
extension Array: SQLValueConvertible where Element == UInt8 {
    public var sqlValue: SQLValue { .blob(Data(self)) }

    public init?(sqlValue: SQLValue) {
        guard let data = Data(sqlValue: sqlValue) else { return nil }
        self.init(data)
    }

    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> [UInt8] {
        [UInt8](try column.rawBytes(text: true, blob: true, as: "[UInt8]"))
    }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> [UInt8]? {
        column.fastBytes(text: true, blob: true).map { [UInt8]($0) }
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        withUnsafeBytes { parameter.bindBlob($0) == SQLITE_OK }
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try withBytes { bytes in try parameter.bind(bytes: bytes) }
    }
}
