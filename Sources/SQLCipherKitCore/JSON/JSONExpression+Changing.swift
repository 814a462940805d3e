/// Changing a document: each function returns the changed document as another expression.
///
/// ``JSONFormat`` sets the form of the result, whatever the form of the document. To change stored documents and keep the form of
/// each, see ``Schema/updateJSON(_:in:where:_:)``.
///
/// A value is any `Codable` value, and is bound as JSON: `true` as true and not as 1, an array as an array. It is coded with the
/// options of its own type if that is ``JSONCodingCustomizable``, or else with those of the document's type: set these with
/// ``coded(like:)``. For JSON's null write ``JSONValue/null``. For a value that SQL computes write `toSQL:`; text is then a string,
/// unless it comes from a JSON function.
extension JSONExpression {
    /// `json_set`: replaces the value at a path, or adds it if there is none (<https://sqlite.org/json1.html#jset>).
    public func setting(
        _ path: some JSONPathComponent, to value: some Codable & Sendable, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("set", path, bound(value), format)
    }

    /// `json_set` with another document as the value.
    public func setting(_ path: some JSONPathComponent, to value: JSONExpression, as format: JSONFormat = .text) -> JSONExpression {
        call("set", path, value.asJSONB.sql, format)
    }

    /// `json_set` with a value that SQL computes.
    public func setting(_ path: some JSONPathComponent, toSQL value: SQL, as format: JSONFormat = .text) -> JSONExpression {
        call("set", path, value, format)
    }

    /// `json_insert`: adds a value if there is none yet (<https://sqlite.org/json1.html#jins>).
    public func inserting(
        _ value: some Codable & Sendable, at path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("insert", path, bound(value), format)
    }

    /// `json_insert` with a value that SQL computes.
    public func inserting(sql value: SQL, at path: some JSONPathComponent, as format: JSONFormat = .text) -> JSONExpression {
        call("insert", path, value, format)
    }

    /// `json_replace`: replaces a value if there is one (<https://sqlite.org/json1.html#jrepl>).
    public func replacing(
        _ path: some JSONPathComponent, with value: some Codable & Sendable, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("replace", path, bound(value), format)
    }

    /// `json_replace` with a value that SQL computes.
    public func replacing(_ path: some JSONPathComponent, withSQL value: SQL, as format: JSONFormat = .text) -> JSONExpression {
        call("replace", path, value, format)
    }

    /// Adds a value after the last element of the array at a path. If nothing is there, creates an array with only that value.
    public func appending(
        _ value: some Codable & Sendable, toArrayAt path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("insert", JSONPath(path).end, bound(value), format)
    }

    /// `json_array_insert`: inserts a value before the element at a path that ends in an index
    /// (<https://sqlite.org/json1.html#jains>).
    public func insertingElement(
        _ value: some Codable & Sendable, before path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("array_insert", path, bound(value), format)
    }

    /// `json_remove`: removes the values at the paths, one after the other, so an index counts what is left at that point
    /// (<https://sqlite.org/json1.html#jrm>).
    public func removing(_ paths: JSONPath..., as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_remove(\(checked)\(literals: paths))")
    }

    /// `json_patch`: applies a merge patch (RFC 7396): its members replace those of the document, and null removes them
    /// (<https://sqlite.org/json1.html#jpatch>).
    public func patching(_ patch: some Codable & Sendable, as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_patch(\(checked), \(bound(patch)))")
    }

    /// `json_patch` with another document.
    public func patching(_ patch: JSONExpression, as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_patch(\(checked), \(patch))")
    }

    private func call(_ function: String, _ path: some JSONPathComponent, _ value: SQL, _ format: JSONFormat) -> JSONExpression {
        changed("\(raw: format.prefix)_\(raw: function)(\(checked), \(literal: JSONPath(path)), \(value))")
    }

    private func bound(_ value: some Encodable & Sendable) -> SQL { "\(JSONDocument(value, options))" }

    /// Returns the changed document, which keeps the coding options.
    private func changed(_ sql: SQL) -> JSONExpression {
        var copy = JSONExpression(sql)
        copy.options = options
        copy.isChecked = true
        return copy
    }

    /// The document, unless it has a key for which SQLite would take another one: then the statement throws.
    private var checked: SQL { isChecked ? sql : "\(raw: StoredConversion.function)(\(sql), \(JSONKeys.check))" }
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
