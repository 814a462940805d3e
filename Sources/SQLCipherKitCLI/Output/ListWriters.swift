import SQLCipherKit

/// The values of each row, with a separator between them and nothing around them, as SQLite's shell writes them by default.
final class ListWriter: RowWriter {
    private let separator: String
    private let rowSeparator: String
    private let null: String
    private let output = Output.current

    init(_ columns: [String], layout: Layout) {
        separator = layout.separator ?? "|"
        rowSeparator = layout.rowSeparator ?? "\n"
        null = layout.null ?? ""
        if layout.hasHeader { write(columns.map { .text($0) }) }
    }

    func write(_ row: [SQLValue]) {
        output.bytes { bytes in
            for (index, value) in row.enumerated() {
                if index > 0 { bytes += separator.utf8 }
                bytes += (value.isNull ? null : value.plainText).utf8
            }
            bytes += rowSeparator.utf8
        }
    }

    func finish() {}
}

/// The rows of a table in HTML, without the element around them.
final class HTMLWriter: RowWriter {
    private let null: String
    private let output = Output.current

    init(_ columns: [String], layout: Layout) {
        null = layout.null ?? ""
        if layout.hasHeader { row(columns.map { .text($0) }, "TH") }
    }

    func write(_ row: [SQLValue]) { self.row(row, "TD") }

    private func row(_ values: [SQLValue], _ element: String) {
        output.bytes { bytes in
            bytes += "<TR>".utf8
            for value in values {
                bytes += "<\(element)>".utf8
                for byte in (value.isNull ? null : value.readableText).utf8 {
                    switch byte {
                    case UInt8(ascii: "&"): bytes += "&amp;".utf8
                    case UInt8(ascii: "<"): bytes += "&lt;".utf8
                    case UInt8(ascii: ">"): bytes += "&gt;".utf8
                    case UInt8(ascii: "\""): bytes += "&quot;".utf8
                    case UInt8(ascii: "'"): bytes += "&#39;".utf8
                    default: bytes.append(byte)
                    }
                }
                bytes += "</\(element)>".utf8
            }
            bytes += "</TR>\n".utf8
        }
    }

    func finish() {}
}
