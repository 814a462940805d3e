import SQLCipherKit

/// Comma-separated values with a header (RFC 4180, with the line ends of the system). NULL is an empty field, and empty text is an
/// empty field in quotes. A text that looks like a number is in quotes, so that `import` reads a text again.
final class CSVWriter: RowWriter {
    private let delimiter: [UInt8]
    private let lineEnd: [UInt8]
    private let null: [UInt8]
    private let output = Output.current

    init(_ columns: [String], delimiter: String = ",", layout: Layout = Layout()) {
        self.delimiter = Array((layout.separator ?? delimiter).utf8)
        lineEnd = Array((layout.rowSeparator ?? "\n").utf8)
        null = Array((layout.null ?? "").utf8)
        if layout.hasHeader { write(columns.map { .text($0) }) }
    }

    func write(_ row: [SQLValue]) {
        output.bytes { bytes in
            for (index, value) in row.enumerated() {
                if index > 0 { bytes.append(short: delimiter) }
                switch value {
                case .null: bytes += null
                case .integer(let value): SQLLiterals.append(value, to: &bytes)
                case .real(let value): add(value, to: &bytes)
                case .text(var text): text.withUTF8 { add(UnsafeRawBufferPointer($0), to: &bytes) }
                case .blob(let blob): bytes += blob.sqlLiteral.utf8
                }
            }
            bytes.append(short: lineEnd)
        }
    }

    func write(_ row: borrowing Row) throws {
        let (handle, count) = (row.handle, Int32(row.count))
        try output.bytes { bytes in
            for index in 0..<count {
                if index > 0 { bytes.append(short: delimiter) }
                switch try LentValue(handle, index) {
                case .null: bytes += null
                case .integer(let value): SQLLiterals.append(value, to: &bytes)
                case .real(let value): add(value, to: &bytes)
                case .text(let text): if text.isUTF8 { add(text, to: &bytes) } else { SQLLiterals.append(blob: text, to: &bytes) }
                case .blob(let blob): SQLLiterals.append(blob: blob, to: &bytes)
                }
            }
            bytes.append(short: lineEnd)
        }
    }

    func finish() {}

    /// Conversions of text to numbers, SQLite's among them, understand `9e999`, and not `inf`.
    private func add(_ value: Double, to output: inout [UInt8]) {
        output += (value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : "\(value)").utf8
    }

    private func add(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        var needsQuotes = text.isEmpty
        // Most texts are printable ASCII.
        let special = text.firstUnprintable(or: 0x22, delimiter.first ?? 0x22)
        for byte in text[special...] where byte == delimiter.first || byte == 0x22 || byte == 0x0a || byte == 0x0d {
            needsQuotes = true
        }
        if !needsQuotes, let first = text.first, first == 0x2d || (0x30...0x39).contains(first) {
            needsQuotes = ValueForms.of(field: text) != .text
        }
        if !needsQuotes, !null.isEmpty { needsQuotes = text.elementsEqual(null) }
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
}

extension [UInt8] {
    /// Appends bytes that are mostly a single one.
    @inline(__always)
    fileprivate mutating func append(short bytes: [UInt8]) { if bytes.count == 1 { append(bytes[0]) } else { self += bytes } }
}
