import SQLCipherKit

/// Comma-separated values with a header (RFC 4180, with the line ends of the system). NULL is an empty field, and empty
/// text is an empty field in quotes.
final class CSVWriter: RowWriter {
    private let delimiter: UInt8
    private let output = Output.current

    init(_ columns: [String], delimiter: UInt8 = UInt8(ascii: ","), hasHeader: Bool = true) {
        self.delimiter = delimiter
        if hasHeader { write(columns.map { .text($0) }) }
    }

    func write(_ row: [SQLValue]) {
        output.bytes { bytes in
            for (index, value) in row.enumerated() { add(value, isFirst: index == 0, to: &bytes) }
            bytes.append(0x0a)
        }
    }

    func write(_ row: borrowing Row) throws {
        let count = row.count
        for index in 0..<count {
            let value = try row.shownValue(index)
            output.bytes { add(value, isFirst: index == 0, to: &$0) }
        }
        output.bytes { $0.append(0x0a) }
    }

    func finish() {}

    private func add(_ value: SQLValue, isFirst: Bool, to output: inout [UInt8]) {
        if !isFirst { output.append(delimiter) }
        switch value {
        case .null: break
        case .text(var text): text.withUTF8 { add($0, to: &output) }
        case .integer(let value): Self.add(value, to: &output)
        case .real, .blob: output += value.plainText.utf8
        }
    }

    private func add(_ text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        var needsQuotes = text.isEmpty
        for byte in text where byte == delimiter || byte == 0x22 || byte == 0x0a || byte == 0x0d { needsQuotes = true }
        guard needsQuotes else {
            output += text
            return
        }
        output.append(0x22)
        for byte in text {
            if byte == 0x22 { output.append(0x22) }
            output.append(byte)
        }
        output.append(0x22)
    }

    private static func add(_ value: Int64, to output: inout [UInt8]) {
        guard value.magnitude >= 10 else {
            if value < 0 { output.append(UInt8(ascii: "-")) }
            output.append(0x30 + UInt8(value.magnitude))
            return
        }
        if value < 0 { output.append(UInt8(ascii: "-")) }
        let start = output.count
        var rest = value.magnitude
        while rest > 0 {
            output.append(0x30 + UInt8(rest % 10))
            rest /= 10
        }
        output[start...].reverse()
    }
}
