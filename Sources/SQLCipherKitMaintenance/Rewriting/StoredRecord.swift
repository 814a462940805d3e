import CSQLCipher

/// A row as stored on a page: the types of its values, then their bytes (<https://sqlite.org/fileformat2.html#record_format>).
struct StoredRecord {
    private let bytes: [UInt8]
    private var values: [(type: UInt64, start: Int)] = []

    /// The number of values. A row written before a column was added has fewer values than its table has columns.
    var count: Int { values.count }

    /// Nil for bytes that are not a record.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard let (headerSize, first) = bytes.variableLength(at: 0), headerSize <= UInt64(bytes.count) else { return nil }
        var at = first, start = Int(headerSize)
        while at < Int(headerSize) {
            guard let (type, end) = bytes.variableLength(at: at), end <= Int(headerSize), let size = Self.size(of: type),
                start + size <= bytes.count
            else { return nil }
            values.append((type, start))
            at = end
            start += size
        }
    }

    private static func size(of type: UInt64) -> Int? {
        switch type {
        case 0, 8, 9: 0
        case 1...4: Int(type)
        case 5: 6
        case 6, 7: 8
        case 10, 11: nil
        default: Int(exactly: (type - 12) / 2)
        }
    }

    /// The bytes of a text or a blob.
    func bytes(_ index: Int) -> ArraySlice<UInt8>? {
        guard index < count, values[index].type >= 12, let size = Self.size(of: values[index].type) else { return nil }
        return bytes[values[index].start..<values[index].start + size]
    }

    func isNull(_ index: Int) -> Bool { values[index].type == 0 }

    /// Whether a value is text, and not a blob.
    func isText(_ index: Int) -> Bool { values[index].type >= 13 && values[index].type % 2 == 1 }

    /// A number as a floating-point one.
    func real(_ index: Int) -> Double? {
        guard values[index].type == 7 else { return integer(index).map(Double.init) }
        return bytes.bigEndian(at: values[index].start, bytes: 8).map { Double(bitPattern: UInt64(bitPattern: Int64($0))) }
    }

    func integer(_ index: Int) -> Int64? {
        let (type, start) = values[index]
        switch type {
        case 8: return 0
        case 9: return 1
        case 1...6:
            let size = Self.size(of: type) ?? 0
            let value = bytes[start..<start + size].reduce(bytes[start] & 0x80 == 0 ? 0 : -1 as Int64) { $0 << 8 | Int64($1) }
            return value
        default: return nil
        }
    }

    /// The text, in the database's encoding.
    func text(_ index: Int, _ encoding: Encoding) -> String? {
        let (type, start) = values[index]
        guard type >= 13, type % 2 == 1, let size = Self.size(of: type) else { return nil }
        let part = bytes[start..<start + size]
        if encoding == .utf8 { return String(decoding: part, as: UTF8.self) }
        let first = Array(part)
        let units = stride(from: 0, to: first.count - 1, by: 2).map { index in
            encoding == .utf16LittleEndian
                ? UInt16(first[index]) | UInt16(first[index + 1]) << 8 : UInt16(first[index]) << 8 | UInt16(first[index + 1])
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// How a database stores text, by the number in its header.
    enum Encoding: Int {
        case utf8 = 1, utf16LittleEndian, utf16BigEndian

        fileprivate var code: UInt8 {
            switch self {
            case .utf8: UInt8(SQLITE_UTF8)
            case .utf16LittleEndian: UInt8(SQLITE_UTF16LE)
            case .utf16BigEndian: UInt8(SQLITE_UTF16BE)
            }
        }
    }

    /// Binds a value to a parameter, counted from 1, byte for byte. Returns an SQLite result code.
    func bind(_ index: Int, to statement: OpaquePointer, at parameter: Int32, _ encoding: Encoding) -> Int32 {
        let (type, start) = values[index]
        if type == 0 { return sqlite3_bind_null(statement, parameter) }
        if let integer = integer(index) { return sqlite3_bind_int64(statement, parameter, integer) }
        if let real = real(index) { return sqlite3_bind_double(statement, parameter, real) }
        guard let size = Self.size(of: type) else { return SQLITE_CORRUPT }
        return bytes.withUnsafeBytes { all in
            let part = UnsafeRawBufferPointer(rebasing: all[start..<start + size])
            if part.isEmpty, type % 2 == 0 { return sqlite3_bind_zeroblob(statement, parameter, 0) }
            let first = part.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let count = UInt64(size), copied = sqlcipherkit_transient()
            guard type % 2 == 1 else { return sqlite3_bind_blob64(statement, parameter, first, count, copied) }
            let text = first?.assumingMemoryBound(to: CChar.self)
            return sqlite3_bind_text64(statement, parameter, text, count, copied, encoding.code)
        }
    }
}
