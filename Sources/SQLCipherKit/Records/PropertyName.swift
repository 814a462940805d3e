import Synchronization

/// The names of stored properties, by their key paths.
enum PropertyName {
    private static let known = Mutex<[AnyProperty: String]>([:])

    /// The name of the stored property that a key path leads to; nil for a computed or observed one, or a longer path.
    static func of<Root, Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> String? {
        let property = AnyProperty(keyPath)
        let name: String
        if let found = known.withLock({ $0[property] }) { name = found } else {
            let read = read(keyPath.debugDescription, "\(Root.self)") ?? ""
            known.withLock { $0[property] = read }
            name = read
        }
        return name.isEmpty ? nil : name
    }

    /// A key path describes itself as `\Note.title` (Swift Evolution SE-0369).
    private static func read(_ description: String, _ root: String) -> String? {
        let prefix = "\\\(root)."
        guard description.hasPrefix(prefix) else { return nil }
        let name = description.dropFirst(prefix.count)
        return name.contains { ".<[?!(".contains($0) } ? nil : String(name)
    }
}

/// Stands for a column that no key path leads to: using it throws.
struct UnknownColumn: SQLValueConvertible {
    let message: String

    init<Root, Value>(_ keyPath: KeyPath<Root, Value>) {
        message = """
            \(keyPath) names no column: \(Root.self) has to describe it in its table, as a property that is computed or observed \
            tells no name
            """
    }

    var sqlValue: SQLValue { get throws(DatabaseError) { throw .invalidArgument(message) } }
    init?(sqlValue: SQLValue) { nil }
}
