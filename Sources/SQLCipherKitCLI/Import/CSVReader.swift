import SQLCipherKit

/// Comma-separated values (RFC 4180), read byte by byte: a file may be larger than memory, and an import must know at which byte
/// to go on. What is unquoted and empty is NULL, and what is quoted and empty is empty text, as `query --format csv` writes them.
final class CSVReader: RecordReader {
    /// How fields are read.
    struct Options {
        var delimiter = UInt8(ascii: ",")
        var hasHeader = true
        /// Whether a field that is a number becomes one.
        var readsNumbers = true
    }

    private let bytes: ByteReader
    private let options: Options
    private(set) var line = 0
    private var nextLine = 1
    private var names: [String] = []
    var offset: Int { bytes.offset }
    var resumeLine: Int { nextLine }
    var columns: [String]? { names }
    private var first: [(bytes: [UInt8], isQuoted: Bool)]?
    private var field: [UInt8] = []

    init(_ bytes: ByteReader, _ options: Options) throws {
        self.bytes = bytes
        self.options = options
        guard let row = try fields() else { return }
        if options.hasHeader {
            names = try row.enumerated().map { index, field in
                let name = try Self.text(field.bytes)
                return name.isEmpty ? "column\(index + 1)" : name
            }
        } else {
            names = row.indices.map { "column\($0 + 1)" }
            first = row
        }
    }

    func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        nextLine = line
        first = nil
    }

    func next() throws -> ImportRecord? {
        guard let row = try first ?? fields() else { return nil }
        first = nil
        guard row.count == names.count else {
            throw Failure("it has \(row.count.counted("field")), and the first line has \(names.count.grouped)")
        }
        return ImportRecord(columns: names, values: try row.map(value))
    }

    private func value(_ field: (bytes: [UInt8], isQuoted: Bool)) throws -> SQLValue {
        if field.isQuoted { return .text(try Self.text(field.bytes)) }
        if field.bytes.isEmpty { return .null }
        let text = try Self.text(field.bytes)
        return options.readsNumbers ? SQLValue(numberOrText: text) : .text(text)
    }

    private static func text(_ bytes: [UInt8]) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure("it is not UTF-8: iconv -t UTF-8 converts it") }
        return text
    }

    /// The fields of the next line that is not empty.
    private func fields() throws -> [(bytes: [UInt8], isQuoted: Bool)]? {
        var row: [(bytes: [UInt8], isQuoted: Bool)] = []
        field.removeAll(keepingCapacity: true)
        var isQuoted = false
        if bytes.offset == 0, try bytes.peek() == 0xef { try skipMark() }
        line = nextLine
        while true {
            let byte = try bytes.next()
            switch byte {
            case UInt8(ascii: "\""):
                guard field.isEmpty, !isQuoted else {
                    throw Failure("a quote stands in the middle of a field: the whole field has to be quoted, and quotes in it doubled")
                }
                isQuoted = true
                try readQuoted()
                if let next = try bytes.peek(), next != options.delimiter, next != 0x0a, next != 0x0d {
                    throw Failure("something stands between a closing quote and the next field")
                }
            case options.delimiter:
                row.append((field, isQuoted))
                (field, isQuoted) = ([], false)
            case 0x0d where try bytes.peek() == 0x0a: continue
            case nil, 0x0a:
                if byte != nil { nextLine += 1 }
                // A line without anything is no row of one empty field.
                if row.isEmpty && field.isEmpty && !isQuoted {
                    if byte == nil { return nil }
                    line = nextLine
                    continue
                }
                row.append((field, isQuoted))
                return row
            case .some(let other): field.append(other)
            }
        }
    }

    private func readQuoted() throws {
        while let byte = try bytes.next() {
            if byte == UInt8(ascii: "\"") {
                guard try bytes.peek() == UInt8(ascii: "\"") else { return }
                _ = try bytes.next()
            }
            if byte == 0x0a { nextLine += 1 }
            field.append(byte)
        }
        throw Failure("a quote is not closed")
    }

    private func skipMark() throws {
        for expected: UInt8 in [0xef, 0xbb, 0xbf] where try bytes.next() != expected { throw Failure("it is not UTF-8") }
    }
}

extension SQLValue {
    /// A number if the text is one that loses nothing by it: no leading zeros, no plus sign, at most 15 digits with a fraction.
    init(numberOrText text: String) {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        let hasLeadingZero = digits.count > 1 && digits.first == UInt8(ascii: "0") && digits.dropFirst().first != UInt8(ascii: ".")
        let isNumber =
            !digits.isEmpty && !hasLeadingZero && digits.first != UInt8(ascii: ".") && digits.last != UInt8(ascii: ".")
            && digits.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
            && digits.count { $0 == UInt8(ascii: ".") } <= 1
        if isNumber, let integer = Int64(text), integer != 0 || text == "0" {
            self = .integer(integer)
        } else if isNumber, digits.count <= 16, digits.contains(UInt8(ascii: ".")), let real = Double(text) {
            self = .real(real)
        } else {
            self = .text(text)
        }
    }
}
