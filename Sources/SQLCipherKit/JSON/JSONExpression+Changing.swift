/// Changing a document: each function gives the changed document as another expression.
///
/// ``JSONFormat`` says which form the result has, whatever the form of the document. To change stored documents and keep each in
/// the form that it is in, see ``Schema/updateJSON(_:in:where:_:)``.
///
/// A value is any `Codable` one, and bound as the JSON that it is: `true` as true and not as 1, an array as an array. It is coded
/// by its own type's options, if that is ``JSONCodingCustomizable``, or else by those of the document's type: say that with
/// ``coded(like:)``. For JSON's null write ``JSONValue/null``. For a value that SQL computes write `toSQL:`; text is a string
/// there, unless it comes from a JSON function.
extension JSONExpression {
    /// `json_set`: the value at a path is replaced, or added where there is none (<https://sqlite.org/json1.html#jset>).
    public func setting(
        _ path: some JSONPathComponent, to value: some Codable & Sendable, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("set", path, bound(value), format)
    }

    /// `json_set` to another document.
    public func setting(_ path: some JSONPathComponent, to value: JSONExpression, as format: JSONFormat = .text) -> JSONExpression {
        call("set", path, value.asJSONB.sql, format)
    }

    /// `json_set` to a value that SQL computes.
    public func setting(_ path: some JSONPathComponent, toSQL value: SQL, as format: JSONFormat = .text) -> JSONExpression {
        call("set", path, value, format)
    }

    /// `json_insert`: a value is added where there is none yet (<https://sqlite.org/json1.html#jins>).
    public func inserting(
        _ value: some Codable & Sendable, at path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("insert", path, bound(value), format)
    }

    /// `json_insert` of a value that SQL computes.
    public func inserting(sql value: SQL, at path: some JSONPathComponent, as format: JSONFormat = .text) -> JSONExpression {
        call("insert", path, value, format)
    }

    /// `json_replace`: a value is replaced where there is one already (<https://sqlite.org/json1.html#jrepl>).
    public func replacing(
        _ path: some JSONPathComponent, with value: some Codable & Sendable, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("replace", path, bound(value), format)
    }

    /// `json_replace` with a value that SQL computes.
    public func replacing(_ path: some JSONPathComponent, withSQL value: SQL, as format: JSONFormat = .text) -> JSONExpression {
        call("replace", path, value, format)
    }

    /// A value is added after the last element of the array at a path; where nothing is, it becomes an array of that value alone.
    public func appending(
        _ value: some Codable & Sendable, toArrayAt path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("insert", JSONPath(path).end, bound(value), format)
    }

    /// `json_array_insert`: a value is put before the element at a path, which ends in an index
    /// (<https://sqlite.org/json1.html#jains>).
    public func insertingElement(
        _ value: some Codable & Sendable, before path: some JSONPathComponent, as format: JSONFormat = .text
    ) -> JSONExpression {
        call("array_insert", path, bound(value), format)
    }

    /// `json_remove`: the values at the paths are taken out, one after the other: an index counts what is left then
    /// (<https://sqlite.org/json1.html#jrm>).
    public func removing(_ paths: JSONPath..., as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_remove(\(sql)\(literals: paths))")
    }

    /// `json_patch`: a merge patch (RFC 7396): its members replace those of the document, and null removes
    /// (<https://sqlite.org/json1.html#jpatch>).
    public func patching(_ patch: some Codable & Sendable, as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_patch(\(sql), \(bound(patch)))")
    }

    /// `json_patch` with another document.
    public func patching(_ patch: JSONExpression, as format: JSONFormat = .text) -> JSONExpression {
        changed("\(raw: format.prefix)_patch(\(sql), \(patch))")
    }

    private func call(_ function: String, _ path: some JSONPathComponent, _ value: SQL, _ format: JSONFormat) -> JSONExpression {
        changed("\(raw: format.prefix)_\(raw: function)(\(sql), \(literal: JSONPath(path)), \(value))")
    }

    private func bound(_ value: some Encodable & Sendable) -> SQL { "\(JSONDocument(value, options))" }

    /// The changed document, whose parts are coded as before.
    private func changed(_ sql: SQL) -> JSONExpression {
        var copy = JSONExpression(sql)
        copy.options = options
        return copy
    }
}
