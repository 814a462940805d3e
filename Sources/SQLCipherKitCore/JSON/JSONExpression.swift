/// An SQL expression that is a JSON document, text or JSONB, and SQLite's JSON functions on it
/// (<https://sqlite.org/json1.html>).
///
/// Each function returns a piece of SQL to interpolate. Paths are written as literals, so that SQLite finds indexes on the same
/// path; values are bound.
/// ```swift
/// let meta = JSONExpression(column: "meta")
/// let cities: [(Int, String)] = try db.fetchAll(
///     "SELECT id, \(meta.value("city")) FROM note WHERE \(meta.value("stars")) > \(3)")
/// try db.execute("UPDATE note SET meta = \(meta.changed(by: .set("city", to: "Roma"), as: .jsonb)) WHERE id = \(id)")
/// ```
/// A path that leads nowhere gives NULL. If a document is not JSON, the statement fails.
public struct JSONExpression: Sendable {
    /// The expression's SQL.
    public let sql: SQL
    /// How values that are put into the document are coded; nil for the options of each value's own type.
    var options: JSONCodingOptions?
    /// Whether it is the result of a change, for which its keys were checked.
    var isChecked = false

    /// Creates a document from any SQL expression, such as `"note.meta"` or `"\(text)"`.
    public init(_ sql: SQL) { self.sql = sql }

    /// Creates a document from a column.
    /// - Parameters:
    ///   - column: the column's name.
    ///   - table: the table or its alias; nil if the column's name is unambiguous.
    public init(column: String, of table: String? = nil) {
        if let table { sql = "\(identifier: table).\(identifier: column)" } else { sql = "\(identifier: column)" }
    }

    /// Creates a document that is bound.
    public init(value: JSONValue) { sql = "\(value)" }

    /// Creates a document that is bound as JSON text, or as JSON5.
    public init(text: String) { sql = "\(text)" }

    /// Returns the same document, with values coded as in this type; a date, for instance, gets the form that the type uses.
    /// ```swift
    /// let meta = JSONExpression(column: "meta").coded(like: Meta.self)
    /// try db.execute("UPDATE note SET meta = \(meta.changed(by: .set("seen", to: Date()), as: .jsonb))")
    /// ```
    public func coded(like type: any JSONCodingCustomizable.Type) -> JSONExpression {
        var copy = self
        copy.options = type.jsonCodingOptions
        return copy
    }
}

/// The two forms in which SQLite stores a document.
public enum JSONFormat: Hashable, Sendable {
    /// JSON text (RFC 8259).
    case text
    /// SQLite's binary form (<https://sqlite.org/jsonb.html>): smaller, and not parsed again by each function.
    case jsonb

    var prefix: String { self == .text ? "json" : "jsonb" }
}

/// Reading values from a document.
extension JSONExpression {
    /// `->>`: the value at a path as an SQL value: text, a number, 1 and 0 for true and false, NULL, or JSON text for an array or
    /// object (<https://sqlite.org/json1.html#jptr>). A number beyond `Int64` becomes the nearest REAL; ``at(_:)`` returns it
    /// exactly.
    public func value(_ path: any JSONPathComponent...) -> SQL { "(\(sql) ->> \(literal: JSONPath(list: path)))" }

    /// `->`: the value at a path, as JSON text.
    public func at(_ path: any JSONPathComponent...) -> JSONExpression {
        JSONExpression("(\(sql) -> \(literal: JSONPath(list: path)))")
    }

    /// `json_extract` or `jsonb_extract`: the values at several paths as a JSON array, or for a single path the value itself
    /// (<https://sqlite.org/json1.html#jex>).
    public func extract(_ paths: JSONPath..., as format: JSONFormat = .text) -> SQL {
        "\(raw: format.prefix)_extract(\(sql)\(literals: paths))"
    }

    /// `json_type`: the type at a path, or NULL; see ``JSONType`` (<https://sqlite.org/json1.html#jtype>).
    public func type(_ path: any JSONPathComponent...) -> SQL { "json_type(\(sql), \(literal: JSONPath(list: path)))" }

    /// `json_array_length`: the number of elements of the array at a path; 0 if it is not an array
    /// (<https://sqlite.org/json1.html#jarraylen>).
    public func arrayLength(_ path: any JSONPathComponent...) -> SQL {
        "json_array_length(\(sql), \(literal: JSONPath(list: path)))"
    }

    /// `json_each`: the members or elements at a path as a table, for a FROM clause (<https://sqlite.org/json1.html#jeach>). Its
    /// rows can be read as ``JSONElement``s.
    /// ```swift
    /// let tags = meta.each("tags", as: "tag")
    /// try db.fetchAll(String.self, "SELECT DISTINCT tag.value FROM note, \(tags) ORDER BY 1")
    /// ```
    /// - Parameters:
    ///   - path: the place in the document.
    ///   - alias: the table's name in the statement.
    public func each(_ path: any JSONPathComponent..., as alias: String = "json_each") -> SQL {
        "json_each(\(sql), \(literal: JSONPath(list: path))) AS \(identifier: alias)"
    }

    /// `json_tree`: like ``each(_:as:)``, but for the value at a path and everything below it
    /// (<https://sqlite.org/json1.html#jtree>).
    public func tree(_ path: any JSONPathComponent..., as alias: String = "json_tree") -> SQL {
        "json_tree(\(sql), \(literal: JSONPath(list: path))) AS \(identifier: alias)"
    }
}

extension SQL.StringInterpolation {
    /// Interpolates a JSON expression.
    public mutating func appendInterpolation(_ json: JSONExpression) { appendInterpolation(json.sql) }

    /// Writes a path as a string literal; a path contains nothing that would end the literal.
    mutating func appendInterpolation(literal path: JSONPath) {
        if let refusal = path.refusal { appendInterpolation(RefusedValue(refusal)) } else {
            appendLiteral(path.description.quotedSQLLiteral)
        }
    }

    mutating func appendInterpolation(literals paths: [JSONPath]) {
        for path in paths {
            appendLiteral(", ")
            appendInterpolation(literal: path)
        }
    }
}
