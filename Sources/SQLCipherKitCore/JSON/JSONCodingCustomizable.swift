/// A type that defines how its values are coded as JSON wherever they appear: in a ``JSONColumn``, as a property of a row or a
/// record, in a key-value store, in a change of a document, and inside other values, optionals and collections.
/// ```swift
/// extension Meta: JSONCodingCustomizable {
///     static let jsonCodingOptions = {
///         var options = JSONCodingOptions()
///         options.dates = .millisecondsSince1970
///         return options
///     }()
/// }
/// ```
public protocol JSONCodingCustomizable {
    /// The options for the type and everything in it, except for types inside it that have their own.
    static var jsonCodingOptions: JSONCodingOptions { get }
}

extension JSONCodingOptions {
    /// The defaults, with each form of dates that a profile can have.
    private static let defaults = JSONDateStrategy.allCases.map { dates in
        var options = JSONCodingOptions()
        options.dates = dates.option
        return options
    }
    private static let typesWithDefaults = TypeMemo()

    /// Returns the options for a document of a type: the type's own, those of its elements for a list or an optional, or defaults.
    /// - Parameter dates: the form of dates where no type has its own.
    package static func of(_ type: any Any.Type, _ dates: JSONDateStrategy = .iso8601) -> JSONCodingOptions {
        own(type) ?? defaults[Int(dates.rawValue)]
    }

    /// The options of a type that has its own, or whose elements have.
    package static func own(_ type: any Any.Type) -> JSONCodingOptions? {
        if typesWithDefaults.contains(type) { return nil }
        var inner = type
        while true {
            if let own = inner as? any JSONCodingCustomizable.Type { return own.jsonCodingOptions }
            guard let outer = inner as? any JSONWrapping.Type else { break }
            inner = outer.jsonWrapped
        }
        typesWithDefaults.add(type)
        return nil
    }
}

/// A type that contains nothing but its elements.
private protocol JSONWrapping {
    static var jsonWrapped: any Any.Type { get }
}

extension Optional: JSONWrapping { fileprivate static var jsonWrapped: any Any.Type { Wrapped.self } }
extension Array: JSONWrapping { fileprivate static var jsonWrapped: any Any.Type { Element.self } }
extension Set: JSONWrapping { fileprivate static var jsonWrapped: any Any.Type { Element.self } }
extension JSONColumn: JSONWrapping { fileprivate static var jsonWrapped: any Any.Type { Value.self } }

/// The options in force in the parts of one document. A scope is a number: 0 stands for the coder's options, others for types that
/// have their own.
struct JSONScopes {
    private static let typesWithoutOptions = TypeMemo()

    let coder: JSONCodingOptions
    private var own: [(type: ObjectIdentifier, options: JSONCodingOptions)] = []

    init(_ coder: JSONCodingOptions) { self.coder = coder }

    /// The scope of a value that others, the outermost first, code in their own place.
    mutating func scope(of types: [any Any.Type]) -> Int { types.reduce(0) { scope(of: $1, in: $0) } }

    /// Returns the scope of a value of a type that appears in another scope.
    @inline(__always)
    mutating func scope(of type: any Any.Type, in scope: Int) -> Int {
        Self.typesWithoutOptions.contains(type) ? scope : find(type, scope)
    }

    @inline(never)
    private mutating func find(_ type: any Any.Type, _ scope: Int) -> Int {
        if let index = own.firstIndex(where: { $0.type == ObjectIdentifier(type) }) { return index + 1 }
        guard let customizable = type as? any JSONCodingCustomizable.Type else {
            Self.typesWithoutOptions.add(type)
            return scope
        }
        var options = customizable.jsonCodingOptions
        options.userInfo.merge(coder.userInfo) { own, _ in own }
        own.append((ObjectIdentifier(type), options))
        return own.count
    }

    func dates(_ scope: Int) -> JSONCodingOptions.Dates { scope == 0 ? coder.dates : own[scope - 1].options.dates }
    func data(_ scope: Int) -> JSONCodingOptions.Bytes { scope == 0 ? coder.data : own[scope - 1].options.data }
    func floats(_ scope: Int) -> JSONCodingOptions.NonConformingFloats {
        scope == 0 ? coder.nonConformingFloats : own[scope - 1].options.nonConformingFloats
    }
    func userInfo(_ scope: Int) -> [CodingUserInfoKey: Any] { scope == 0 ? coder.userInfo : own[scope - 1].options.userInfo }
}
