import Foundation

/// The two forms of a document: text and JSONB.
extension JSONValue {
    /// Creates a value from JSON text (RFC 8259).
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` with the position, if the text is malformed, is nested deeper than 1,000
    ///   levels, or contains a number that even `Decimal` cannot hold exactly.
    public init(text: String) throws {
        self = try text.withBytes { utf8 throws in try JSONValue(utf8: utf8) }
    }

    /// Creates a value from JSONB (<https://sqlite.org/jsonb.html>).
    /// - Throws: ``DatabaseError/Reason/typeMismatch``, as for text.
    public init(jsonb: Data) throws {
        self = try jsonb.withBytes { bytes throws in try JSONValue(jsonb: bytes) }
    }

    init(utf8: UnsafeRawBufferPointer) throws {
        let writer = JSONBWriter(capacity: utf8.count + 16)
        do throws(JSONBError) { try JSONTextParser.parse(utf8, into: writer) } catch { throw error.databaseError }
        self = try writer.withBytes { bytes throws in try JSONValue(jsonb: bytes) }
    }

    init(jsonb bytes: UnsafeRawBufferPointer) throws {
        do throws(JSONBError) {
            try JSONB.check(bytes, maximumDepth: JSONB.maximumDepth)
            guard let base = bytes.baseAddress, let root = JSONB.element(base, at: 0, limit: bytes.count) else {
                throw JSONBError(.malformed, at: 0)
            }
            try self.init(base, root, .ofThisThread())
        } catch { throw error.databaseError }
    }

    /// Reads the content of a column. As in SQLite, a blob that is not JSONB may hold the bytes of JSON text.
    fileprivate init(stored bytes: UnsafeRawBufferPointer, isText: Bool) throws {
        if isText {
            try self.init(utf8: bytes)
        } else {
            do { try self.init(jsonb: bytes) } catch {
                guard let value = try? JSONValue(utf8: bytes) else { throw error }
                self = value
            }
        }
    }

    init(_ base: UnsafeRawPointer, _ element: JSONB.Element, _ stack: StackLimit) throws(JSONBError) {
        if stack.isReached { throw JSONBError(.tooDeep, at: element.offset) }
        let payload = UnsafeRawBufferPointer(start: base + element.start, count: element.count)
        switch element.kind {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .integer, .hexInteger, .real, .real5: self = try Self.number(element, payload)
        case .text, .rawText, .escapedText, .escapedText5: self = .string(try JSONB.string(base, element))
        case .array:
            var elements: [JSONValue] = []
            var position = element.start
            while let next = JSONB.element(base, at: position, limit: element.end) {
                elements.append(try JSONValue(base, next, stack))
                position = next.end
            }
            self = .array(elements)
        case .object:
            var object = JSONObject()
            var position = element.start
            while let key = JSONB.element(base, at: position, limit: element.end),
                let next = JSONB.element(base, at: key.end, limit: element.end)
            {
                let name = try JSONB.string(base, key)
                let value = try JSONValue(base, next, stack)
                if object[name] == nil { object[name] = value }
                position = next.end
            }
            self = .object(object)
        }
    }

    private static func number(_ element: JSONB.Element, _ payload: UnsafeRawBufferPointer) throws(JSONBError) -> JSONValue {
        guard let number = JSONNumber(element.kind, payload) else { throw JSONBError(.malformed, at: element.offset) }
        if element.kind == .integer || element.kind == .hexInteger, let value = number.integer(Int64.self) {
            return .integer(value)
        }
        if number.isSQLiteInfinity { return .real(number.isNegative ? -.infinity : .infinity) }
        if let value = number.double(element.kind, payload) {
            // Up to 15 digits survive the conversion to a Double and back; more may.
            let isShort = number.significantDigits <= 15 && (value.isNormal || value == 0 && number.significantDigits == 0)
            if element.kind != .hexInteger, isShort || number.isWritten(as: value) { return .real(value) }
        }
        // A whole number, though written with an exponent or a fraction: an integer may be exact where no `Double` is.
        if let value = number.integer(Int64.self) { return .integer(value) }
        guard let decimal = number.decimal(element.kind, payload) else { throw JSONBError(.number, at: element.offset) }
        return .decimal(decimal)
    }

    /// Returns the value as JSON text without whitespace.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a number that is NaN.
    public func text() throws -> String { try encoded().withBytes { JSONB.text($0) } }

    /// Returns the value as JSONB.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a number that is NaN, or for a value nested deeper than 1,000 levels.
    public func jsonb() throws -> Data { try encoded().withBytes { Data($0) } }

    func encoded() throws -> JSONBWriter {
        let writer = JSONBWriter()
        try write(to: writer, depth: 0, stack: .ofThisThread())
        return writer
    }

    func write(to writer: JSONBWriter, depth: Int, stack: StackLimit) throws {
        if stack.isReached { throw DatabaseError.invalidArgument("the JSON is nested too deeply for the thread's stack") }
        switch self {
        case .null: writer.appendEmpty(.null)
        case .bool(let value): writer.append(value)
        case .integer(let value): writer.append(value)
        case .real(let value):
            if value.isNaN { throw DatabaseError.invalidArgument("JSON has no NaN") }
            writer.append(value)
        case .decimal(let value):
            guard value.isFinite else { throw DatabaseError.invalidArgument("JSON has no NaN") }
            writer.append(value)
        case .string(let value): writer.append(value)
        case .array(let elements):
            try Self.check(depth)
            let offset = writer.open()
            for element in elements { try element.write(to: writer, depth: depth + 1, stack: stack) }
            writer.close(.array, at: offset)
        case .object(let members):
            try Self.check(depth)
            let offset = writer.open()
            for (key, value) in members {
                try writer.append(key: key)
                try value.write(to: writer, depth: depth + 1, stack: stack)
            }
            writer.close(.object, at: offset)
        }
    }

    private static func check(_ depth: Int) throws {
        if depth >= JSONB.maximumDepth {
            throw DatabaseError.invalidArgument("the JSON is nested deeper than \(JSONB.maximumDepth) levels")
        }
    }
}

/// Bound as JSONB; read from JSONB or JSON text, like a ``JSONColumn``.
extension JSONValue: SQLValueConvertible {
    public static var _isJSONDocument: Bool { true }

    /// The document as JSONB.
    /// - Throws: the errors of ``jsonb()``.
    public var sqlValue: SQLValue { get throws { .blob(try jsonb()) } }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .blob(let data):
            guard let value = try? data.withUnsafeBytes({ try JSONValue(stored: $0, isText: false) }) else { return nil }
            self = value
        case .text(let text):
            guard let value = try? JSONValue(text: text) else { return nil }
            self = value
        default: return nil
        }
    }

    public static func _readSQL(from column: borrowing Row._Column) throws -> JSONValue {
        let isText = column.storageClass == .text
        let bytes = try column.rawBytes(text: true, blob: true, as: "JSONValue")
        do { return try JSONValue(stored: bytes, isText: isText) } catch { throw column.undecodable(JSONValue.self, error) }
    }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try encoded().withBytes { bytes throws in try parameter.bind(bytes: bytes) }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON text; NaN, which JSON does not have, as `NaN`.
    public var description: String { (try? text()) ?? "\(self.type)" }
}
