/// The forms of a document, and documents made from SQL values.
extension JSONExpression {
    /// `json`: the document as JSON text without whitespace (<https://sqlite.org/json1.html#jmini>).
    public var asText: JSONExpression { JSONExpression("json(\(sql))") }

    /// `jsonb`: the document as JSONB (<https://sqlite.org/json1.html#jminib>).
    public var asJSONB: JSONExpression { JSONExpression("jsonb(\(sql))") }

    /// `json_pretty`: the document as indented text (<https://sqlite.org/json1.html#jpretty>).
    /// - Parameter indent: the indentation of each level. Default: four spaces.
    public func pretty(indent: String = "    ") -> SQL { "json_pretty(\(sql), \(indent))" }

    /// `json_valid`: 1 if the expression is JSON text (RFC 8259), or well-formed JSONB throughout, 0 if not, NULL for NULL
    /// (<https://sqlite.org/json1.html#jvalid>). It is the only one of these functions that does not fail if the expression is not
    /// JSON.
    public func isValid(_ format: JSONFormat = .text) -> SQL { "json_valid(\(sql), \(format == .text ? 1 : 8))" }

    /// `json_error_position`: 0 for JSON, JSON5 or JSONB, otherwise the position of the first error, counted from 1: in characters
    /// for text, in bytes for a blob (<https://sqlite.org/json1.html#jerr>).
    public var errorPosition: SQL { "json_error_position(\(sql))" }

    /// `json_quote`: an SQL value as JSON (<https://sqlite.org/json1.html#jquote>).
    public static func quote(_ value: SQL) -> JSONExpression { JSONExpression("json_quote(\(value))") }

    /// `json_array`: SQL values as a JSON array (<https://sqlite.org/json1.html#jarray>). Text is a string, unless it comes from a
    /// JSON function.
    /// ```swift
    /// JSONExpression.array("note.id", "\(title)", meta.at("tags").sql)
    /// ```
    public static func array(_ elements: SQL..., as format: JSONFormat = .text) -> JSONExpression {
        JSONExpression("\(raw: format.prefix)_array(\(list: elements))")
    }

    /// `json_object`: SQL values as the members of a JSON object (<https://sqlite.org/json1.html#jobj>).
    /// ```swift
    /// JSONExpression.object(["id": "note.id", "city": meta.value("city")])
    /// ```
    public static func object(_ members: KeyValuePairs<String, SQL>, as format: JSONFormat = .text) -> JSONExpression {
        JSONExpression("\(raw: format.prefix)_object(\(list: members.flatMap { [key($0.key), $0.value] }))")
    }

    private static func key(_ key: String) -> SQL { key.utf8.contains(0) ? "\(RefusedValue(.nullInKey))" : "\(key)" }

    /// `json_group_array`: the values of a group of rows as a JSON array (<https://sqlite.org/json1.html#jgrouparray>).
    /// - Parameters:
    ///   - value: computes each element.
    ///   - order: the expression to sort the elements by.
    ///   - format: text or JSONB. Default: text.
    public static func groupArray(_ value: SQL, orderedBy order: SQL? = nil, as format: JSONFormat = .text) -> JSONExpression {
        JSONExpression("\(raw: format.prefix)_group_array(\(value)\(order: order))")
    }

    /// `json_group_object`: like ``groupArray(_:orderedBy:as:)``, but as the members of a JSON object, with names from `key`
    /// (<https://sqlite.org/json1.html#jgroupobject>).
    public static func groupObject(
        key: SQL, value: SQL, orderedBy order: SQL? = nil, as format: JSONFormat = .text
    ) -> JSONExpression {
        JSONExpression("\(raw: format.prefix)_group_object(\(key), \(value)\(order: order))")
    }
}

extension SQL.StringInterpolation {
    package mutating func appendInterpolation(list: [SQL]) {
        for (index, sql) in list.enumerated() {
            if index > 0 { appendLiteral(", ") }
            appendInterpolation(sql)
        }
    }

    mutating func appendInterpolation(order: SQL?) {
        guard let order else { return }
        appendLiteral(" ORDER BY ")
        appendInterpolation(order)
    }
}
