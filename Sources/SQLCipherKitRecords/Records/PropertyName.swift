import SQLCipherKitCore

/// Finds the names of stored properties from their key paths, and the columns from these: a property's coding key, once a row or a
/// record was coded, and its own name before. Nothing is coded to find out.
enum PropertyName {
    /// The names of the properties that were asked for; nil for a computed or observed property, and for a longer path.
    private static let known = Lock<[AnyProperty: String?]>([:])

    /// The column of a key path's stored property; nil if it is not known.
    static func of<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> String? {
        property(keyPath).flatMap { column(of: $0, in: Root.self) }
    }

    /// The column that a description gives a stored property unless it says another name.
    static func described<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> String? {
        guard let name = property(keyPath), hasOwnKey(name, in: Root.self) else { return nil }
        return columnNaming(of: Root.self)(name)
    }

    /// The column of a property; nil if its name is another property's coding key, or if it was coded under several keys.
    static func column(of property: String, in type: any Any.Type) -> String? {
        let coded = CodedNames.of(type).texts
        if let text = coded[property] { return text.map { columnNaming(of: type)($0) } }
        guard !coded.values.contains(where: { $0.isSameText(as: property) }), hasOwnKey(property, in: type) else { return nil }
        return columnNaming(of: type)(property)
    }

    /// The names of the stored properties of a longer key path; nil if one is not known, or has another name in JSON.
    static func path<Root>(of keyPath: PartialKeyPath<Root> & Sendable) -> [String]? {
        let (description, prefix) = (keyPath.debugDescription, "\\\(Root.self).")
        guard description.hasTextPrefix(prefix) else { return nil }
        let names = String(decoding: description.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            .split(separator: ".").map { String($0.replacing("?", with: "")) }
        var type: any Any.Type = Root.self
        for (index, name) in names.enumerated() {
            guard !name.isEmpty, !name.utf8.contains(where: { "<[(!".utf8.contains($0) }), hasOwnKey(name, in: type),
                var part = StoredProperty.all(of: type).first(where: { $0.name.isSameText(as: name) })?.type
            else { return nil }
            if index == names.count - 1 { return names }
            while let optional = part as? any SQLNullable.Type { part = optional.wrapped }
            type = part
        }
        return nil
    }

    /// Calls a closure that compiles a query. If a column is missing, the error names the part of the record that may be missing.
    static func explaining<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as DatabaseError where error.message.hasTextPrefix("no such column: ") {
            throw DatabaseError(
                code: error.code, reason: error.reason,
                message: error.message + """
                    ; if a property is stored under another name, describe it in the record's table with that: \
                    $0.property.named("…")
                    """,
                sql: error.sql, offset: error.offset, arguments: error.arguments, path: error.path)
        }
    }

    /// The error for a property for which ``of(_:)`` finds no name.
    static func refusal<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> DatabaseError {
        guard let name = property(keyPath) else {
            return .invalidArgument(
                """
                \(keyPath) names no column: \(Root.self) must describe it in its table, as the name of a computed or observed \
                property, or of one of several without a size, is unknown
                """)
        }
        return .invalidArgument(
            """
            \(keyPath) names no column: \(name) is not its coding key in \(Root.self). Describe the property \
            in the table with the name of its column: $0.\(name).named("…")
            """)
    }

    /// The name of a stored property.
    static func property<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> String? {
        let property = AnyProperty(keyPath)
        if let found = known.withLock({ $0[property] }) { return found }
        let name = read(keyPath.debugDescription, "\(Root.self)")
            .flatMap { StoredProperty.described($0, of: Swift.type(of: keyPath).valueType, in: Root.self) }
        known.withLock { $0[property] = .some(name) }
        return name
    }

    /// A key path describes itself as `\Note.title` (Swift Evolution SE-0369).
    private static func read(_ description: String, _ root: String) -> String? {
        let prefix = "\\\(root)."
        guard description.hasTextPrefix(prefix) else { return nil }
        let name = String(decoding: description.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return name.utf8.contains { ".<[?!(".utf8.contains($0) } ? nil : name
    }

    /// Returns whether a property is coded under its own name, as far as that can be known without coding: false if the type has
    /// coding keys, not private, without a case of this name and text.
    private static func hasOwnKey(_ property: String, in type: any Any.Type) -> Bool {
        let id = ObjectIdentifier(type)
        let keys = codingKeys.withLock { $0[id] } ?? {
            let keys = _mangledTypeName(type).flatMap { _typeByName($0 + "10CodingKeysO") } as? any CodingKey.Type
            codingKeys.withLock { $0[id] = .some(keys) }
            return keys
        }()
        func has<Key: CodingKey>(_ type: Key.Type) -> Bool {
            Key(stringValue: property).map { CodedNames.property(of: $0)?.isSameText(as: property) ?? true } ?? false
        }
        return keys.map { has($0) } ?? true
    }

    private static let codingKeys = Lock<[ObjectIdentifier: (any CodingKey.Type)?]>([:])
}
