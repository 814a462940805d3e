/// One change of a document, for ``JSONExpression/changed(by:as:)`` and ``Schema/updateJSON(_:in:where:_:)``.
///
/// A value is any `Codable` value, and is bound as JSON: `true` as true and not as 1, an array as an array. It is coded with the
/// options of its own type if that is ``JSONCodingCustomizable``, or else with those of the document's type: set these with
/// ``JSONExpression/coded(like:)``. For JSON's null write ``JSONValue/null``. A value that SQL computes is a ``JSONExpression``, by
/// ``JSONExpression/quote(_:)`` if it is no document: then its text is a string.
public struct JSONChange: Sendable {
    /// Changes a document into one of a form.
    fileprivate let apply: @Sendable (JSONExpression, JSONFormat) -> JSONExpression

    /// `json_set`: replaces the value at a path, or adds it if there is none (<https://sqlite.org/json1.html#jset>).
    public static func set(_ path: some JSONPathComponent, to value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.call("set", path, $0.bound(value), $1) }
    }

    /// `json_set` with another document, or a value that SQL computes.
    public static func set(_ path: some JSONPathComponent, to value: JSONExpression) -> JSONChange {
        JSONChange { $0.call("set", path, value.asJSONB.sql, $1) }
    }

    /// `json_insert`: adds a value if there is none yet (<https://sqlite.org/json1.html#jins>).
    public static func insert(_ value: some Codable & Sendable, at path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.call("insert", path, $0.bound(value), $1) }
    }

    /// `json_replace`: replaces a value if there is one (<https://sqlite.org/json1.html#jrepl>).
    public static func replace(_ path: some JSONPathComponent, with value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.call("replace", path, $0.bound(value), $1) }
    }

    /// Adds a value after the last element of the array at a path. If nothing is there, creates an array with only that value.
    public static func append(_ value: some Codable & Sendable, toArrayAt path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.call("insert", JSONPath(path).end, $0.bound(value), $1) }
    }

    /// `json_array_insert`: inserts a value before the element at a path that ends in an index
    /// (<https://sqlite.org/json1.html#jains>).
    public static func insertElement(_ value: some Codable & Sendable, before path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.call("array_insert", path, $0.bound(value), $1) }
    }

    /// `json_remove`: removes the value at a path (<https://sqlite.org/json1.html#jrm>).
    public static func remove(_ path: some JSONPathComponent) -> JSONChange {
        JSONChange { $0.changed("\(raw: $1.prefix)_remove(\($0.checked), \(literal: JSONPath(path)))") }
    }

    /// `json_patch`: applies a merge patch (RFC 7396): its members replace those of the document, and null removes them
    /// (<https://sqlite.org/json1.html#jpatch>).
    public static func patch(_ patch: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.changed("\(raw: $1.prefix)_patch(\($0.checked), \($0.bound(patch)))") }
    }

    /// `json_patch` with another document.
    public static func patch(_ patch: JSONExpression) -> JSONChange {
        JSONChange { $0.changed("\(raw: $1.prefix)_patch(\($0.checked), \(patch))") }
    }
}

extension JSONExpression {
    /// The changed document as another expression. To change stored documents and keep the form of each, see
    /// ``Schema/updateJSON(_:in:where:_:)``.
    /// - Parameters:
    ///   - changes: made one after the other.
    ///   - format: the form of the result, whatever the form of the document. Default: text.
    public func changed(by changes: JSONChange..., as format: JSONFormat = .text) -> JSONExpression { changed(by: changes, format) }

    func changed(by changes: [JSONChange], _ format: JSONFormat) -> JSONExpression {
        changes.reduce(self) { $1.apply($0, format) }
    }

    fileprivate func call(
        _ function: String, _ path: some JSONPathComponent, _ value: SQL, _ format: JSONFormat
    ) -> JSONExpression {
        changed("\(raw: format.prefix)_\(raw: function)(\(checked), \(literal: JSONPath(path)), \(value))")
    }

    fileprivate func bound(_ value: some Encodable & Sendable) -> SQL { "\(JSONDocument(value, options))" }

    /// Returns the changed document, which keeps the coding options.
    fileprivate func changed(_ sql: SQL) -> JSONExpression {
        var copy = JSONExpression(sql)
        copy.options = options
        copy.isChecked = true
        return copy
    }

    /// The document, unless it has a key for which SQLite would take another one: then the statement throws.
    fileprivate var checked: SQL { isChecked ? sql : "\(raw: StoredConversion.function)(\(sql), \(JSONKeys.check))" }
}

/// The keys of documents that this package has not written.
enum JSONKeys {
    /// Refuses a document in which a key has the character U+0000: SQLite compares a key with escapes only up to it, and would
    /// change another member than the one that is meant.
    static let check = StoredConversion { document, _ throws(DatabaseError) in
        if hasNull(document) { throw .nullInKey }
        return document
    }

    static func hasNull(_ document: SQLValue) -> Bool {
        do {
            switch document {
            case .text(var text):
                guard mayHaveNull(text) else { return false }
                let writer = JSONBWriter()
                try text.withUTF8 { try JSONTextParser.parse(UnsafeRawBufferPointer($0), into: writer) }
            case .blob(let bytes):
                _ = try bytes.withUnsafeBytes { try JSONB.check($0, maximumDepth: JSONB.maximumDepth) }
            default: break
            }
            return false
        } catch {
            // Whether it is JSON at all, SQLite says itself.
            return (error as? JSONBError)?.problem == .nullInKey
        }
    }

    /// Whether an escape that begins as that of U+0000 does is in the text. Most documents have none, and are not parsed.
    private static func mayHaveNull(_ text: String) -> Bool {
        var isEscape = false
        for byte in text.utf8 {
            if isEscape, byte == UInt8(ascii: "u") || byte == UInt8(ascii: "x") || byte == UInt8(ascii: "0") { return true }
            isEscape = byte == UInt8(ascii: "\\") && !isEscape
        }
        return false
    }
}
