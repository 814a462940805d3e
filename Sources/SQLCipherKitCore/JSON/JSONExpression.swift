/// An SQL expression whose value is a JSON document, as text or as JSONB. SQLite's JSON functions are its properties and methods
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
    /// The options for values that are put into the document; nil for the options of each value's own type.
    var options: JSONCodingOptions?
    /// True if it is the result of a change, for which its keys were checked.
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

    /// Creates a document from a value, which is bound as a parameter.
    public init(value: JSONValue) { sql = "\(value)" }

    /// Creates a document that is bound as JSON text, or as JSON5.
    public init(text: String) { sql = "\(text)" }

    /// Returns the same document. Changes to the document encode their values, such as dates, with the options of this type.
    /// ```swift
    /// let meta = JSONExpression(column: "meta").withCodingOptions(of: Meta.self)
    /// try db.execute("UPDATE note SET meta = \(meta.changed(by: .set("seen", to: Date()), as: .jsonb))")
    /// ```
    public func withCodingOptions(of type: any JSONCodingCustomizable.Type) -> JSONExpression {
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
    /// - Parameters:
    ///   - paths: the places in the document, one or more.
    ///   - format: the form of the result. Default: text.
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
    /// - Parameters:
    ///   - path: the place in the document.
    ///   - alias: the table's name in the statement. Default: `json_tree`.
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

/// A change of a document, for ``JSONExpression/changed(by:as:)`` and ``Schema/updateJSON(_:in:where:_:)``.
///
/// A value is any `Codable` value, and is bound as JSON: `true` as true and not as 1, an array as an array. It is coded with the
/// options of its own type if that is ``JSONCodingCustomizable``, or else with the options of the document's type: set these with
/// ``JSONExpression/withCodingOptions(of:)``. For JSON's null write ``JSONValue/null``. For a value that SQL computes, pass a
/// ``JSONExpression``. If that value is not a document, make the expression with ``JSONExpression/quote(_:)``, so that text becomes
/// a JSON string.
public struct JSONChange: Sendable {
    /// Changes a document into one of a form.
    fileprivate let apply: @Sendable (JSONExpression, JSONFormat) -> JSONExpression

    /// `json_set`: replaces the value at a path, or adds it if there is none (<https://sqlite.org/json1.html#jset>).
    public static func set(_ path: some JSONPathComponent, to value: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.call("set", path, $0.bound(value), $1) }
    }

    /// `json_set` with an expression: replaces the value at a path by another document or by a value that SQL computes.
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

    /// `json_patch`: applies a merge patch (RFC 7396): its members replace the document's members, and null removes them
    /// (<https://sqlite.org/json1.html#jpatch>).
    public static func patch(_ patch: some Codable & Sendable) -> JSONChange {
        JSONChange { $0.changed("\(raw: $1.prefix)_patch(\($0.checked), \($0.bound(patch)))") }
    }

    /// `json_patch` with an expression: applies a merge patch that SQL computes.
    public static func patch(_ patch: JSONExpression) -> JSONChange {
        JSONChange { $0.changed("\(raw: $1.prefix)_patch(\($0.checked), \(patch))") }
    }
}

extension JSONExpression {
    /// The changed document as another expression. To change stored documents and keep the form of each, see
    /// ``Schema/updateJSON(_:in:where:_:)``.
    /// - Parameters:
    ///   - changes: the changes, made one after the other.
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
    static let check = StoredConversion { document, _ throws in
        if hasNull(document) { throw DatabaseError.nullInKey }
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
            // SQLite itself reports a text that is not JSON.
            return (error as? JSONBError)?.problem == .nullInKey
        }
    }

    /// Returns whether the text has an escape that begins like the escape of U+0000. Most documents have none, and are not parsed.
    private static func mayHaveNull(_ text: String) -> Bool {
        var isEscape = false
        for byte in text.utf8 {
            if isEscape, byte == UInt8(ascii: "u") || byte == UInt8(ascii: "x") || byte == UInt8(ascii: "0") { return true }
            isEscape = byte == UInt8(ascii: "\\") && !isEscape
        }
        return false
    }
}

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
    /// - Parameter format: the format to check for. Default: text.
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
    /// - Parameters:
    ///   - elements: the values, in order.
    ///   - format: the form of the result. Default: text.
    public static func array(_ elements: SQL..., as format: JSONFormat = .text) -> JSONExpression {
        JSONExpression("\(raw: format.prefix)_array(\(list: elements))")
    }

    /// `json_object`: SQL values as the members of a JSON object (<https://sqlite.org/json1.html#jobj>).
    /// ```swift
    /// JSONExpression.object(["id": "note.id", "city": meta.value("city")])
    /// ```
    /// - Parameters:
    ///   - members: the names and the values, in order.
    ///   - format: the form of the result. Default: text.
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
    /// - Parameters:
    ///   - key: computes the name of each member.
    ///   - value: computes the value of each member.
    ///   - order: the expression to sort the members by. Default: nil, in the order of the rows.
    ///   - format: the form of the result. Default: text.
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
