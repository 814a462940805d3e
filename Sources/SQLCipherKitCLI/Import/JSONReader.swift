import SQLCipherKit

/// JSON objects, one on each line (<https://jsonlines.org>), in one array, or one after the other. Objects and arrays inside them
/// become JSON text.
final class JSONReader: RecordReader {
    private enum Form { case lines, array, objects }

    /// The most bytes of an element: in memory, its values take up to thirty times the bytes of their text.
    private static let mostBytes = 64_000_000

    private static func requireFitting(_ count: Int) throws {
        guard count <= mostBytes else { throw Failure("it has more than \(mostBytes.grouped) bytes") }
    }

    private let bytes: InputReader
    private let form: Form
    private(set) var line = 0
    private var linesRead = 0
    private var isAfterArray = false
    /// The number of elements read.
    private var elements = 0
    var offset: Int { bytes.offset }
    var resumeLine: Int { form == .lines ? line : linesRead }
    let columns: [String]? = nil
    var isCompressed: Bool { bytes.isCompressed }
    let skipped = 0

    /// - Parameter hasLines: whether each line is an object, unless there is an array.
    init(_ bytes: InputReader, hasLines: Bool = true) throws {
        self.bytes = bytes
        form = Self.isArray(bytes.sample) ? .array : hasLines ? .lines : .objects
        guard form != .lines else { return }
        linesRead = 1
        // The opening bracket.
        if form == .array { _ = try token() }
    }

    /// Returns whether text has several objects, each on a line: the first line is one, and the next line begins another.
    static func hasLines(_ start: ArraySlice<UInt8>) -> Bool {
        let lines = start.split(separator: 0x0a, maxSplits: 8).map(Array.init).filter { !$0.allSatisfy(isBlank) }
        guard lines.count > 1, lines[1].first(where: { !isBlank($0) }) == UInt8(ascii: "{"),
            let text = String(validating: lines[0], as: UTF8.self), case .object? = try? JSONValue(text: text)
        else { return false }
        return true
    }

    /// Returns whether text begins with a bracket.
    static func isArray(_ start: some Sequence<UInt8>) -> Bool { start.first { !isBlank($0) } == UInt8(ascii: "[") }

    var description: String {
        let name = switch form {
        case .lines: "JSON lines"
        case .array: "an array of JSON objects"
        case .objects: "JSON objects"
        }
        return name + (bytes.isCompressed ? ", compressed" : "")
    }

    /// In a file of few lines, the line does not tell which element it is.
    var element: Int? { form == .lines ? nil : elements }

    func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        if form == .lines { self.line = line } else { linesRead = line }
    }

    func next() throws -> ImportRecord? {
        guard let text = try form == .lines ? nextLine() : nextElement() else { return nil }
        try Self.requireFitting(text.count)
        let value: JSONValue
        do { value = try JSONValue(text: try InputReader.text(text)) } catch let error as DatabaseError {
            throw Failure("it is not JSON: \(error.message)")
        }
        guard case .object(let object) = value else { throw Failure("it is not a JSON object, such as {\"name\": \"value\"}") }
        // A reader of JSON keeps one of several members with the same name, and no one knows which.
        guard Self.members(in: text) == Self.members(of: value) else {
            throw Failure("a name occurs twice in one of its objects, which would lose a value")
        }
        var columns: [String] = []
        var values: [ImportValue] = []
        for (name, value) in object {
            columns.append(name)
            values.append(try Self.value(value))
        }
        return ImportRecord(list: ColumnList(columns), values: values)
    }

    private func nextLine() throws -> [UInt8]? {
        while let text = try bytes.line(Self.requireFitting) {
            line += 1
            if !text.allSatisfy(Self.isBlank) { return text }
        }
        return nil
    }

    /// The number of colons outside of strings: one for each member of an object.
    private static func members(in text: [UInt8]) -> Int {
        var count = 0, isInString = false, isEscaped = false
        for byte in text {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if isInString {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ":") {
                count += 1
            }
        }
        return count
    }

    private static func members(of value: JSONValue) -> Int {
        switch value {
        case .object(let object): object.reduce(object.count) { $0 + members(of: $1.value) }
        case .array(let elements): elements.reduce(0) { $0 + members(of: $1) }
        default: 0
        }
    }

    // MARK: Arrays and objects

    /// The bytes of the next element; nil after the last.
    private func nextElement() throws -> [UInt8]? {
        guard !isAfterArray else { return nil }
        guard var byte = try token() else {
            if form == .objects { return nil }
            throw Failure("the array is not closed")
        }
        if form == .array, byte == UInt8(ascii: ",") {
            guard let next = try token() else { throw Failure("the array is not closed") }
            byte = next
        }
        if form == .array, byte == UInt8(ascii: "]") {
            isAfterArray = true
            line = linesRead
            if try token() != nil { throw Failure("there is text after the array") }
            return nil
        }
        line = linesRead
        elements += 1
        var element = [byte]
        guard byte == UInt8(ascii: "{") else { throw Failure("it is not a JSON object, such as {\"name\": \"value\"}") }
        var depth = 1
        var isInString = false
        while depth > 0 {
            guard let byte = try bytes.next() else { throw Failure("the object is not closed") }
            element.append(byte)
            if element.count & 0xffff == 0 { try Self.requireFitting(element.count) }
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
        while let next = try bytes.peek(), Self.isBlank(next) || form == .array && next == UInt8(ascii: ",") {
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
