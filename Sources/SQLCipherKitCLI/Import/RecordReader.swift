import SQLCipherKit

/// A row to be.
struct ImportRecord {
    let columns: [String]
    let values: [SQLValue]
}

/// Reads the records of a file one after the other, and can go on where another run stopped.
protocol RecordReader: AnyObject {
    /// The line that the last record began in, counted from 1.
    var line: Int { get }
    /// The place behind the last record, in bytes and in lines, for ``resume(at:line:)``.
    var offset: Int { get }
    var resumeLine: Int { get }
    /// The columns that every record has, if that is known beforehand.
    var columns: [String]? { get }
    /// Goes on behind a record that an earlier run has read.
    func resume(at offset: Int, line: Int) throws
    /// - Throws: ``Failure`` that says what is wrong with the record, without the place.
    func next() throws -> ImportRecord?
}

/// An object in each line (<https://jsonlines.org>). Objects and arrays in it become JSON text.
final class JSONLinesReader: RecordReader {
    private let bytes: ByteReader
    private(set) var line = 0
    var offset: Int { bytes.offset }
    var resumeLine: Int { line }
    let columns: [String]? = nil

    init(_ bytes: ByteReader) { self.bytes = bytes }

    func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        self.line = line
    }

    func next() throws -> ImportRecord? {
        while var text = try bytes.line() {
            line += 1
            if line == 1, text.starts(with: [0xef, 0xbb, 0xbf]) { text.removeFirst(3) }
            if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
            guard let string = String(validating: text, as: UTF8.self) else { throw Failure("it is not UTF-8") }
            let value: JSONValue
            do { value = try JSONValue(text: string) } catch { throw Failure("it is no JSON: \(error.message)") }
            guard case .object(let object) = value else { throw Failure("it is no JSON object, such as {\"name\": \"value\"}") }
            var columns: [String] = []
            var values: [SQLValue] = []
            for (name, value) in object {
                columns.append(name)
                values.append(try Self.value(value))
            }
            return ImportRecord(columns: columns, values: values)
        }
        return nil
    }

    private static func value(_ value: JSONValue) throws -> SQLValue {
        switch value {
        case .null: .null
        case .bool(let value): .integer(value ? 1 : 0)
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        // More digits than a number of SQLite's holds.
        case .decimal, .array, .object: .text(try value.text())
        case .string(let value): .text(value)
        }
    }
}
