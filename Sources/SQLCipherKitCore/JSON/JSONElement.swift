/// A row of `json_each` or `json_tree` (<https://sqlite.org/json1.html#jeach>).
/// ```swift
/// let meta = JSONExpression(column: "meta")
/// let elements = try db.fetchAll(JSONElement.self, "SELECT e.* FROM note, \(meta.tree(as: "e")) WHERE e.atom = \("Roma")")
/// for element in elements { print(try element.fullKey, try element.value) }
/// ```
public struct JSONElement: SQLRowConvertible, Hashable, Sendable {
    /// The key of an object's member, or the index of an array's element; nil for the document itself.
    public let key: JSONPath.Component?
    /// The type.
    public let type: JSONType
    /// The value as SQL returns it: JSON text for an array or object.
    public let sqlValue: SQLValue
    /// A number that identifies the element within its document.
    public let id: Int
    /// The ``id`` of the container, if the row comes from `json_tree`; nil for the topmost element.
    public let parent: Int?
    private let fullKeyText: String
    private let pathText: String

    /// Reads the columns `key`, `value`, `type`, `id`, `parent`, `fullkey` and `path`.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` if the query does not select all of them, or
    ///   ``DatabaseError/Reason/typeMismatch`` for a text that is not UTF-8.
    public init(row: borrowing Row) throws {
        let key: SQLValue = try row["key"]
        self.key =
            switch key {
            case .text(let name): .key(name)
            case .integer(let index): .index(Int(clamping: index))
            default: nil
            }
        type = try row["type"]
        sqlValue = try row["value"]
        id = try row["id"]
        parent = try row["parent"]
        fullKeyText = try row["fullkey"]
        pathText = try row["path"]
    }

    /// The value.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` for an integer beyond `Int64`, which SQLite returns as a rounded number:
    ///   read it with ``JSONExpression/at(_:)`` as a ``JSONValue``.
    public var value: JSONValue {
        get throws {
            switch (type, sqlValue) {
            case (.null, _): .null
            case (.true, _): .bool(true)
            case (.false, _): .bool(false)
            case (.integer, .integer(let value)): .integer(value)
            case (.real, .real(let value)): .real(value)
            case (.text, .text(let value)): .string(value)
            case (.array, .text(let text)), (.object, .text(let text)): try JSONValue(text: text)
            case (.array, .blob(let data)), (.object, .blob(let data)): try JSONValue(jsonb: data)
            default:
                throw DatabaseError(
                    code: .mismatch, reason: .typeMismatch,
                    message: "SQLite returns the JSON \(type.rawValue) at \(fullKeyText) as \(sqlValue.storageClass.rawValue)")
            }
        }
    }

    /// The element's path.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if a key is stored in a form that SQLite cannot write as a path.
    public var fullKey: JSONPath { get throws { try JSONPath(parsing: fullKeyText) } }

    /// The path of the element's container.
    /// - Throws: the errors of ``fullKey``.
    public var path: JSONPath { get throws { try JSONPath(parsing: pathText) } }
}

extension JSONExpression {
    /// Returns the members of an object or the elements of an array, one level deep (<https://sqlite.org/json1.html#jeach>). A
    /// value of any other type is returned as the only element.
    /// ```swift
    /// let document = JSONExpression("(SELECT meta FROM note WHERE id = \(7))")
    /// let tags = try document.elements(at: "tags", in: db)
    /// while let tag = try tags.next() { print(try tag.value) }
    /// ```
    /// To read the documents of many rows, use ``each(_:as:)`` in a FROM clause.
    /// - Parameters:
    ///   - path: where to look; if nothing is there, there are no elements.
    ///   - db: the connection that computes the document, which is usually a subquery or a bound value.
    /// - Throws: SQLite's error for a document that does not compile as SQL, ``DatabaseError/Reason/invalidArgument`` for a path
    ///   with a NUL character in a key, or ``DatabaseError/Reason/closed``. If the document is not JSON, the cursor throws when it
    ///   reads it.
    public func elements(at path: any JSONPathComponent..., in db: Connection) throws -> RowCursor<JSONElement> {
        try db.cursor(JSONElement.self, "SELECT * FROM \(each(JSONPath(list: path)))")
    }

    /// Like ``elements(at:in:)``, but returns the element at a path and everything below it, each container before its contents
    /// (<https://sqlite.org/json1.html#jtree>).
    /// - Throws: the errors of ``elements(at:in:)``.
    public func descendants(at path: any JSONPathComponent..., in db: Connection) throws -> RowCursor<JSONElement> {
        try db.cursor(JSONElement.self, "SELECT * FROM \(tree(JSONPath(list: path)))")
    }
}
