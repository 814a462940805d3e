import SQLCipherKit

/// The records of a CSV file. An empty field without quotes is NULL, and an empty field in quotes is empty text, as
/// `query --format csv` writes them.
final class CSVReader: RecordReader {
    private var scanner: CSVScanner
    private let bytes: ByteReader
    private let options: CSVOptions
    let dialect: CSVDialect
    private var names = ColumnList([])
    private var first: [CSVField]?
    /// The number of records that were left out because their number of fields differs.
    private(set) var skipped = 0
    var line: Int { scanner.line }
    var offset: Int { bytes.offset }
    var resumeLine: Int { scanner.nextLine }
    var columns: [String]? { names.names }
    let keepsNumbersApart = false
    var isCompressed: Bool { bytes.isCompressed }

    /// - Parameter usual: the delimiter that the file's name suggests.
    init(_ bytes: ByteReader, _ options: CSVOptions, usual: UInt8) throws {
        (self.bytes, self.options) = (bytes, options)
        let sample = bytes.sample.prefix(1 << 16)
        let isWhole = bytes.isAtEnd && sample.count == bytes.sample.count
        let dialect = CSVDialect(of: sample, isWhole: isWhole, options, usual: usual)
        self.dialect = dialect
        scanner = CSVScanner(bytes, dialect)
        guard let record = try scanner.record() else { return }
        if dialect.hasHeader {
            names = ColumnList(
                try record.enumerated().map { index, field in
                    let name = try bytes.text(field.bytes)
                    return name.isEmpty ? "column\(index + 1)" : name
                })
        } else {
            names = ColumnList(record.indices.map { "column\($0 + 1)" })
            first = record
        }
    }

    func resume(at offset: Int, line: Int) throws {
        try scanner.resume(at: offset, line: line)
        first = nil
    }

    func next() throws -> ImportRecord? {
        while true {
            guard let record = try first ?? scanner.record() else { return nil }
            first = nil
            if record.count == names.names.count { return ImportRecord(list: names, values: try record.map(value)) }
            switch options.ragged {
            case .skip: skipped += 1
            case .pad: return try padded(record)
            case .error:
                throw Failure(
                    "it has \(record.count.counted("field")), and the first line has \(names.names.count.grouped): "
                        + "use --ragged pad, --ragged skip or another --delimiter")
            }
        }
    }

    /// Missing fields are NULL, and surplus fields go into further columns.
    private func padded(_ record: [CSVField]) throws -> ImportRecord {
        let missing = Array(repeating: ImportValue.null, count: max(0, names.names.count - record.count))
        let values = try record.map(value) + missing
        guard record.count > names.names.count else { return ImportRecord(list: names, values: values) }
        let further = (names.names.count..<record.count).map { "column\($0 + 1)" }
        return ImportRecord(list: ColumnList(names.names + further), values: values)
    }

    private func value(_ field: CSVField) throws -> ImportValue {
        if field.bytes.isEmpty { return field.isQuoted ? .value(.text("")) : .null }
        let text = try bytes.text(field.bytes)
        return field.isQuoted || options.keepsText ? .value(.text(text)) : .field(text)
    }

    var description: String {
        let delimiter = switch dialect.delimiter {
        case 0x09: "tabs"
        case UInt8(ascii: ","): "commas"
        case UInt8(ascii: ";"): "semicolons"
        default: String(UnicodeScalar(dialect.delimiter))
        }
        let quote = dialect.quote.map { "quoted with " + String(UnicodeScalar($0)) } ?? "without quotes"
        let header = dialect.hasHeader ? "names in the first line" : "no line of names"
        return "CSV with \(delimiter), \(quote), \(header), \(bytes.encodingName)"
    }
}

extension ByteReader {
    /// The encoding of the input, for people.
    var encodingName: String {
        let name = switch encoding {
        case nil: "ASCII"
        case .utf8: "UTF-8"
        case .utf16LittleEndian, .utf16BigEndian: "UTF-16"
        case .windows1252: "Windows-1252"
        case .latin1: "Latin-1"
        }
        return name + (hasMark ? " with a byte order mark" : "") + (isCompressed ? ", compressed" : "")
    }
}
