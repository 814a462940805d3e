import CSQLCipher

/// A row as stored on a page: the types of its values, then their bytes (<https://sqlite.org/fileformat2.html#record_format>).
struct StoredRecord {
    private let bytes: [UInt8]
    private var values: [(type: UInt64, range: Range<Int>)] = []

    /// The number of values. A row written before a column was added has fewer values than its table has columns.
    var count: Int { values.count }

    /// Nil for bytes that are not a record.
    /// - Parameter mayBeCut: whether the end of the last values may be missing. Those that are not reached are NULL.
    init?(_ bytes: [UInt8], mayBeCut: Bool = false) {
        self.bytes = bytes
        guard let (headerSize, first) = bytes.variableLength(at: 0), headerSize <= UInt64(bytes.count) else { return nil }
        var at = first, start = Int(headerSize)
        while at < Int(headerSize) {
            guard let (type, end) = bytes.variableLength(at: at), end <= Int(headerSize), let size = Self.size(of: type),
                mayBeCut || size <= bytes.count - start
            else { return nil }
            at = end
            values.append((type, start..<start + min(size, bytes.count - start)))
            start = values[values.count - 1].range.upperBound
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
        index < count && values[index].type >= 12 ? bytes[values[index].range] : nil
    }

    func isNull(_ index: Int) -> Bool { values[index].type == 0 }

    /// Returns whether the end of a value, or all of it, is missing.
    func isCut(_ index: Int) -> Bool { Self.size(of: values[index].type) != values[index].range.count }

    /// Returns whether a value is text, and not a blob.
    func isText(_ index: Int) -> Bool { values[index].type >= 13 && values[index].type % 2 == 1 }

    /// A number as a floating-point one.
    func real(_ index: Int) -> Double? {
        guard values[index].type == 7 else { return integer(index).map(Double.init) }
        return bytes.bigEndian(at: values[index].range.lowerBound, as: UInt64.self).map { Double(bitPattern: $0) }
    }

    func integer(_ index: Int) -> Int64? {
        let (type, range) = values[index]
        switch type {
        case 8: return 0
        case 9: return 1
        case 1...6 where !isCut(index):
            let unused = 64 - 8 * range.count
            return bytes.bigEndian(at: range.lowerBound, bytes: range.count, as: Int64.self).map { ($0 << unused) >> unused }
        default: return nil
        }
    }

    /// The text, in the database's encoding.
    func text(_ index: Int, _ encoding: Encoding) -> String? {
        guard isText(index), let part = bytes(index) else { return nil }
        if encoding == .utf8 { return String(decoding: part, as: UTF8.self) }
        let units = stride(from: 0, to: part.count - 1, by: 2).compactMap { part.bigEndian(at: $0, as: UInt16.self) }
        return String(decoding: encoding == .utf16LittleEndian ? units.map(\.byteSwapped) : units, as: UTF16.self)
    }

    /// The encoding of a database's text, by the number in its header.
    enum Encoding: Int {
        case utf8 = 1, utf16LittleEndian, utf16BigEndian

        static let names = [utf8: "UTF-8", utf16LittleEndian: "UTF-16le", utf16BigEndian: "UTF-16be"]

        fileprivate var code: UInt8 {
            switch self {
            case .utf8: UInt8(SQLITE_UTF8)
            case .utf16LittleEndian: UInt8(SQLITE_UTF16LE)
            case .utf16BigEndian: UInt8(SQLITE_UTF16BE)
            }
        }

        /// Where the last whole character of a cut text ends.
        fileprivate func wholeCharacters(of text: ArraySlice<UInt8>) -> Range<Int> {
            var end = text.endIndex
            if self != .utf8 {
                end -= text.count % 2
                let high = self == .utf16LittleEndian ? end - 1 : end - 2
                if end > text.startIndex, text[high] & 0xfc == 0xd8 { end -= 2 }
            } else if let first = text.suffix(3).lastIndex(where: { $0 >= 0xc0 }) {
                if end - first < (~text[first]).leadingZeroBitCount { end = first }
            }
            return text.startIndex..<end
        }
    }

    /// Binds a value to a parameter, counted from 1, byte for byte. Returns an SQLite result code.
    func bind(_ index: Int, to statement: OpaquePointer, at parameter: Int32, _ encoding: Encoding) -> Int32 {
        if let integer = integer(index) { return sqlite3_bind_int64(statement, parameter, integer) }
        if let real = real(index) { return sqlite3_bind_double(statement, parameter, real) }
        guard let value = bytes(index), !value.isEmpty || !isCut(index) else { return sqlite3_bind_null(statement, parameter) }
        let range = isCut(index) && isText(index) ? encoding.wholeCharacters(of: value) : value.startIndex..<value.endIndex
        return bytes.withUnsafeBytes { all in
            let part = UnsafeRawBufferPointer(rebasing: all[range])
            if part.isEmpty, !isText(index) { return sqlite3_bind_zeroblob(statement, parameter, 0) }
            let first = part.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let count = UInt64(part.count), copied = sqlcipherkit_transient()
            guard isText(index) else { return sqlite3_bind_blob64(statement, parameter, first, count, copied) }
            let text = first?.assumingMemoryBound(to: CChar.self)
            return sqlite3_bind_text64(statement, parameter, text, count, copied, encoding.code)
        }
    }
}
