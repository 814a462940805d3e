import CSQLCipher
import SQLCipherKitCore

/// An array as the argument of `carray()` (<https://sqlite.org/carray.html>), copied when it is bound.
enum BoundArray: SQLValueConvertible, _HidesValues {
    case integers([Int64])
    case reals([Double])
    /// UTF-8 without a NUL.
    case texts([[UInt8]])
    case blobs([[UInt8]])

    init?(sqlValue: SQLValue) { nil }
    var sqlValue: SQLValue { .null }

    func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try parameter.check(bind(parameter.handle, parameter.index))
    }

    private func bind(_ handle: OpaquePointer, _ index: Int32) -> Int32 {
        switch self {
        case .integers(var values):
            return values.withUnsafeMutableBytes { Self.bind(handle, index, $0, $0.count / 8, SQLITE_CARRAY_INT64) }
        case .reals(var values):
            return values.withUnsafeMutableBytes { Self.bind(handle, index, $0, $0.count / 8, SQLITE_CARRAY_DOUBLE) }
        case .texts(let values):
            var bytes: [UInt8] = []
            bytes.reserveCapacity(values.reduce(0) { $0 + $1.count + 1 })
            for value in values {
                bytes += value
                bytes.append(0)
            }
            return bytes.withUnsafeMutableBytes { bytes in
                var place = 0
                var list = values.map { value in
                    defer { place += value.count + 1 }
                    return bytes.baseAddress.map { $0 + place }
                }
                return list.withUnsafeMutableBytes { Self.bind(handle, index, $0, values.count, SQLITE_CARRAY_TEXT) }
            }
        case .blobs(let values):
            // One more byte, so that no address is nil.
            var bytes: [UInt8] = []
            bytes.reserveCapacity(values.reduce(1) { $0 + $1.count })
            for value in values { bytes += value }
            bytes.append(0)
            return bytes.withUnsafeMutableBytes { bytes in
                var place = 0
                // Laid out as a `struct iovec`.
                var list: [(UnsafeMutableRawPointer?, Int)] = values.map { value in
                    defer { place += value.count }
                    return (bytes.baseAddress.map { $0 + place }, value.count)
                }
                return list.withUnsafeMutableBytes { Self.bind(handle, index, $0, values.count, SQLITE_CARRAY_BLOB) }
            }
        }
    }

    private static func bind(
        _ handle: OpaquePointer, _ index: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ count: Int, _ kind: Int32
    ) -> Int32 {
        // SQLite would take the empty copy for a failed allocation.
        if count == 0 { return sqlite3_carray_bind(handle, index, nil, 0, kind, nil) }
        guard let count = Int32(exactly: count) else { return SQLITE_TOOBIG }
        return sqlite3_carray_bind(handle, index, bytes.baseAddress, count, kind, sqlcipherkit_transient())
    }
}
