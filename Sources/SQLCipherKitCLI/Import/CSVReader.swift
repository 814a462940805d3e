import SQLCipherKit

/// The records of a CSV file. An empty field without quotes is NULL, and an empty field in quotes is empty text, as
/// `query --format csv` writes them.
final class CSVReader: RecordReader {
    private var scanner: CSVScanner
    private let bytes: InputReader
    private let options: CSVOptions
    let dialect: CSVDialect
    private var names = ColumnList([])
    private var record = CSVRecord()
    /// True if the current record was read to find the columns, and is a row.
    private var hasFirst = false
    /// The number of records that were left out because their number of fields differs.
    private(set) var skipped = 0
    var line: Int { scanner.line }
    var offset: Int { bytes.offset }
    var resumeLine: Int { scanner.nextLine }
    var columns: [String]? { names.names }
    var isCompressed: Bool { bytes.isCompressed }

    /// - Parameter usual: the delimiter that the file's name suggests.
    init(_ bytes: InputReader, _ options: CSVOptions, usual: UInt8) throws {
        (self.bytes, self.options) = (bytes, options)
        let sample = bytes.sample.prefix(1 << 16)
        let isWhole = bytes.isAtEnd && sample.count == bytes.sample.count
        let dialect = try CSVDialect(of: sample, isWhole: isWhole, options, usual: usual)
        self.dialect = dialect
        scanner = CSVScanner(bytes, dialect)
        try scanner.skipLines(options.skip)
        guard try scanner.next(&record) else { return }
        if dialect.hasHeader {
            var names = try record.fields.indices.map { try InputReader.text(record.field($0)) }
            names = names.enumerated().map { $1.isEmpty ? "column\($0 + 1)" : $1 }
            if names.contains(where: { $0.utf8.contains(0) }) {
                throw Failure("its first line has NUL characters: it is not CSV in UTF-8")
            }
            self.names = ColumnList(names)
        } else {
            names = ColumnList(record.fields.indices.map { "column\($0 + 1)" })
            hasFirst = true
        }
        scanner.keepsEmptyLines = names.names.count == 1
    }

    /// - Throws: if the first line has another number of fields.
    func takeNames(_ names: [String]) throws {
        guard !dialect.hasHeader, !self.names.names.isEmpty else { return }
        let count = self.names.names.count
        guard count == names.count || options.ragged == .pad else {
            throw Failure(
                "its first line has \(count.counted("field")), and the table has \(names.count.counted("column")), which a file "
                    + "without names fills in order: use --ragged pad, or --header if the first line has names")
        }
        self.names = ColumnList(names)
    }

    func resume(at offset: Int, line: Int) throws {
        try scanner.resume(at: offset, line: line)
        hasFirst = false
    }

    func next() throws -> ImportRecord? {
        while true {
            if !hasFirst, try !scanner.next(&record) { return nil }
            hasFirst = false
            if !record.bytes.withUnsafeBytes(\.isASCII) {
                for index in record.fields.indices { _ = try InputReader.text(record.field(index)) }
            }
            if record.count == names.names.count { return ImportRecord(list: names, values: values(), bytes: record.bytes) }
            switch options.ragged {
            case .skip: skipped += 1
            case .pad: return padded()
            case .error:
                throw Failure(
                    "it has \(record.count.counted("field")), not \(names.names.count.grouped): "
                        + "use --ragged pad, --ragged skip or another --delimiter"
                        + (options.skip == 0 && line < 30 ? ", or --skip if the file begins with other lines" : ""))
            }
        }
    }

    /// Missing fields are NULL, and surplus fields go into further columns.
    private func padded() -> ImportRecord {
        let missing = Array(repeating: ImportValue.null, count: max(0, names.names.count - record.count))
        let values = values() + missing
        guard record.count > names.names.count else { return ImportRecord(list: names, values: values, bytes: record.bytes) }
        let further = (names.names.count..<record.count).map { "column\($0 + 1)" }
        return ImportRecord(list: ColumnList(names.names + further), values: values, bytes: record.bytes)
    }

    private func values() -> [ImportValue] {
        var values: [ImportValue] = []
        values.reserveCapacity(record.count)
        for index in record.fields.indices {
            let field = record.fields[index], place = record.place(index)
            if place.isEmpty && !field.isQuoted {
                values.append(.null)
            } else if !field.isQuoted, options.nulls.contains(where: { record.bytes[place].elementsEqual($0) }) {
                values.append(.null)
            } else {
                values.append(field.isQuoted || options.keepsText ? .text(place) : .field(place))
            }
        }
        return values
    }

    var description: String {
        let quote = dialect.quote.map { "quoted with " + String(UnicodeScalar($0)) } ?? "without quotes"
        let header = dialect.hasHeader ? "names in the first line" : "no line of names"
        let columns = names.names.count == 1 ? "one column" : dialect.delimiter.nameOfDelimiter
        let left = options.skip == 0 ? "" : ", \(options.skip.counted("line")) left out before it"
        return "CSV with \(columns), \(quote), \(header)\(left)\(bytes.isCompressed ? ", compressed" : "")"
    }
}

extension UInt8 {
    /// A delimiter, for people.
    var nameOfDelimiter: String {
        switch self {
        case 0x09: "tabs"
        case UInt8(ascii: ","): "commas"
        case UInt8(ascii: ";"): "semicolons"
        default: String(UnicodeScalar(self))
        }
    }
}
