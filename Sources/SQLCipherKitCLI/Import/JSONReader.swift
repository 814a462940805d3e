import SQLCipherKit

/// JSON objects, one on each line (<https://jsonlines.org>) or in one array. Objects and arrays inside them become JSON text.
final class JSONReader: RecordReader {
    private enum Form { case lines, array }

    private let bytes: ByteReader
    private let form: Form
    private(set) var line = 0
    private var linesRead = 0
    private var isAfterArray = false
    var offset: Int { bytes.offset }
    var resumeLine: Int { form == .lines ? line : linesRead }
    let columns: [String]? = nil
    let keepsNumbersApart = true
    var isCompressed: Bool { bytes.isCompressed }
    let skipped = 0

    init(_ bytes: ByteReader) throws {
        self.bytes = bytes
        form = Self.isArray(bytes.sample) ? .array : .lines
        guard form == .array else { return }
        linesRead = 1
        // The opening bracket.
        _ = try token()
    }

    /// Whether text begins with a bracket.
    static func isArray(_ start: some Sequence<UInt8>) -> Bool { start.first { !isBlank($0) } == UInt8(ascii: "[") }

    var description: String { (form == .array ? "an array of JSON objects, " : "JSON lines, ") + bytes.encodingName }

    func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        if form == .array { linesRead = line } else { self.line = line }
    }

    func next() throws -> ImportRecord? {
        guard let text = try form == .array ? element() : nextLine() else { return nil }
        let value: JSONValue
        do { value = try JSONValue(text: try bytes.text(text)) } catch let error as DatabaseError {
            throw Failure("it is not JSON: \(error.message)")
        }
        guard case .object(let object) = value else { throw Failure("it is not a JSON object, such as {\"name\": \"value\"}") }
        var columns: [String] = []
        var values: [ImportValue] = []
        for (name, value) in object {
            columns.append(name)
            values.append(try Self.value(value))
        }
        return ImportRecord(list: ColumnList(columns), values: values)
    }

    private func nextLine() throws -> [UInt8]? {
        while let text = try bytes.line() {
            line += 1
            if !text.allSatisfy(Self.isBlank) { return text }
        }
        return nil
    }

    // MARK: Arrays

    /// The bytes of the next element; nil after the last.
    private func element() throws -> [UInt8]? {
        guard !isAfterArray else { return nil }
        guard var byte = try token() else { throw Failure("the array is not closed") }
        if byte == UInt8(ascii: ",") {
            guard let next = try token() else { throw Failure("the array is not closed") }
            byte = next
        }
        if byte == UInt8(ascii: "]") {
            isAfterArray = true
            line = linesRead
            if try token() != nil { throw Failure("there is text after the array") }
            return nil
        }
        line = linesRead
        var element = [byte]
        guard byte == UInt8(ascii: "{") else { throw Failure("it is not a JSON object, such as {\"name\": \"value\"}") }
        var depth = 1
        var isInString = false
        while depth > 0 {
            guard let byte = try bytes.next() else { throw Failure("the object is not closed") }
            element.append(byte)
            switch byte {
            case UInt8(ascii: "\\") where isInString: if let next = try bytes.next() { element.append(next) }
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString: depth += 1
            case UInt8(ascii: "}") where !isInString: depth -= 1
            case 0x0a: linesRead += 1
            default: break
            }
        }
        // The blanks and the comma after the element are read with it, so that another run can begin with the next element.
        while let next = try bytes.peek(), Self.isBlank(next) || next == UInt8(ascii: ",") {
            _ = try bytes.next()
            if next == 0x0a { linesRead += 1 }
            if next == UInt8(ascii: ",") { break }
        }
        return element
    }

    /// The next byte that is not blank.
    private func token() throws -> UInt8? {
        while let byte = try bytes.next() {
            if byte == 0x0a { linesRead += 1 }
            if !Self.isBlank(byte) { return byte }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a }

    private static func value(_ value: JSONValue) throws -> ImportValue {
        switch value {
        case .null: .null
        case .bool(let value): .value(.integer(value ? 1 : 0))
        case .integer(let value): .value(.integer(value))
        case .real(let value): .value(.real(value))
        // A decimal has more digits than a number in SQLite holds.
        case .decimal, .array, .object: .value(.text(try value.text()))
        case .string(let value): .value(.text(value))
        }
    }
}
