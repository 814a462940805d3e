import SQLCipherKitCore

/// Finds the names of stored properties from their key paths.
enum PropertyName {
    private enum Known {
        case name(String)
        /// A computed or observed property, or a longer path.
        case none
        /// The name of a property that is coded under another key.
        case otherKey(String)
    }

    private static let known = Lock<[AnyProperty: Known]>([:])

    /// The column of a key path's stored property, by its coding key; nil if it is not known.
    static func of<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> String? {
        if case .name(let name) = look(keyPath) { name } else { nil }
    }

    /// The coding keys of the stored properties of a longer key path; nil if one is not known.
    static func path<Root>(of keyPath: PartialKeyPath<Root> & Sendable) -> [String]? {
        if let name = of(keyPath) { return [name] }
        let (description, prefix) = (keyPath.debugDescription, "\\\(Root.self).")
        guard description.hasTextPrefix(prefix) else { return nil }
        let names = String(decoding: description.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            .split(separator: ".").map { String($0.replacing("?", with: "")) }
        var type: any Any.Type = Root.self, keys: [String] = []
        for (index, name) in names.enumerated() {
            guard !name.isEmpty, !name.utf8.contains(where: { "<[(!".utf8.contains($0) }), let key = key(of: name, in: type) else {
                return nil
            }
            keys.append(key)
            if index == names.count - 1 { return keys }
            guard let whole = type as? any Decodable.Type, var part = PropertyProbe.type(of: key, in: whole) else { return nil }
            while let optional = part as? any SQLNullable.Type { part = optional.wrapped }
            type = part
        }
        return nil
    }

    /// The error for a property for which ``of(_:)`` finds no name.
    static func refusal<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> DatabaseError {
        if case .otherKey(let name) = look(keyPath) {
            return .invalidArgument(
                """
                \(keyPath) names no column: \(name) is not its coding key in \(Root.self). Describe the property \
                in the table with the name of its column: $0.\(name).named("…")
                """)
        }
        return .invalidArgument(
            """
            \(keyPath) names no column: \(Root.self) must describe it in its table, as the name of a computed or observed \
            property, or of one of several without a size, is unknown
            """)
    }

    private static func key(of name: String, in type: any Any.Type) -> String? {
        if CodingKeyProbe.allows(name, type) { return name }
        return (type as? any Decodable.Type).flatMap { PropertyProbe.name(of: name, in: $0) }
    }

    private static func look<Root>(_ keyPath: PartialKeyPath<Root> & Sendable) -> Known {
        let property = AnyProperty(keyPath)
        if let found = known.withLock({ $0[property] }) { return found }
        let result: Known
        if let described = read(keyPath.debugDescription, "\(Root.self)"),
            let name = PropertyProbe.property(described, of: Swift.type(of: keyPath).valueType, in: Root.self)
        {
            let naming = columnNaming(of: Root.self)
            result = key(of: name, in: Root.self).map { .name(naming($0)) } ?? .otherKey(name)
        } else {
            result = .none
        }
        known.withLock { $0[property] = result }
        return result
    }

    /// A key path describes itself as `\Note.title` (Swift Evolution SE-0369).
    private static func read(_ description: String, _ root: String) -> String? {
        let prefix = "\\\(root)."
        guard description.hasTextPrefix(prefix) else { return nil }
        let name = String(decoding: description.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return name.utf8.contains { ".<[?!(".utf8.contains($0) } ? nil : name
    }
}
