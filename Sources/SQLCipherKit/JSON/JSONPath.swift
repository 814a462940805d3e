/// A place in a JSON document, as SQLite's JSON functions take it (<https://sqlite.org/json1.html#path_arguments>).
///
/// It is built from components, so that a key of any characters means that key and nothing else:
/// ```swift
/// JSONPath("address", "city")     // $.address.city
/// JSONPath("a.b", 0)              // $."a.b"[0]
/// JSONPath("tags", -1)            // $.tags[#-1], the last element
/// JSONPath("tags").end            // $.tags[#], behind the last element
/// JSONPath()                      // $, the whole document
/// ```
/// A path is bound like any other value:
/// ```swift
/// let tags = try db.fetchAll(
///     String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
/// ```
/// An index on an expression (<https://sqlite.org/expridx.html>) is found only where the path stands in the SQL text itself:
/// ``JSONExpression`` writes it there.
public struct JSONPath: Hashable, Sendable {
    /// One step of a path.
    public enum Component: Hashable, Sendable {
        /// The member of an object with this key.
        case key(String)
        /// The element of an array, counted from 0; a negative number counts from the end, -1 being the last element.
        case index(Int)
        /// The place behind the last element of an array: where setting a value appends it.
        case end
    }

    /// The steps from the whole document to the place.
    public var components: [Component]

    /// A path from keys (`String`), indexes (`Int`), ``Component``s and other paths. Without any it is the whole document.
    public init(_ components: any JSONPathComponent...) { self.init(list: components) }

    /// A path from its components.
    public init(components: [Component]) { self.components = components }

    init(list: [any JSONPathComponent]) {
        components = []
        components.reserveCapacity(list.count)
        for component in list { components += component.jsonPathComponents }
    }

    /// The whole document.
    public static let root = JSONPath(components: [])

    /// Whether this is the whole document.
    public var isRoot: Bool { components.isEmpty }

    /// The place one step further in.
    public func appending(_ components: any JSONPathComponent...) -> JSONPath {
        JSONPath(components: self.components + JSONPath(list: components).components)
    }

    /// A member of the object at this path.
    public subscript(key: String) -> JSONPath { appending(key) }

    /// An element of the array at this path; a negative index counts from the end.
    public subscript(index: Int) -> JSONPath { appending(index) }

    /// The place behind the last element of the array at this path.
    public var end: JSONPath { JSONPath(components: components + [.end]) }

    /// The path one step further out; nil for the whole document.
    public var parent: JSONPath? { isRoot ? nil : JSONPath(components: Array(components.dropLast())) }
}

/// What a ``JSONPath`` can be built from: `String` for a key, `Int` for an index, a component, or another path.
public protocol JSONPathComponent: Sendable {
    /// The steps that the value stands for.
    var jsonPathComponents: [JSONPath.Component] { get }
}

extension String: JSONPathComponent {
    public var jsonPathComponents: [JSONPath.Component] { [.key(self)] }
}

extension Int: JSONPathComponent {
    public var jsonPathComponents: [JSONPath.Component] { [.index(self)] }
}

extension JSONPath.Component: JSONPathComponent {
    public var jsonPathComponents: [JSONPath.Component] { [self] }
}

extension JSONPath: JSONPathComponent {
    public var jsonPathComponents: [JSONPath.Component] { components }
}

/// Bound as its text, such as `$.tags[0]`, and read from text that is a well-formed path.
extension JSONPath: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(description) }

    public init?(sqlValue: SQLValue) {
        guard case .text(let text) = sqlValue, let path = try? JSONPath(parsing: text) else { return nil }
        self = path
    }
}
