import CSQLCipher
import Foundation

/// All keys, or those with a prefix, in the order of their UTF-8 bytes.
extension KeyValueStore {
    /// The keys that begin with a text.
    /// - Parameter prefix: how the keys begin. Default: all keys.
    public func keys(prefix: String = "") throws(DatabaseError) -> [String] {
        guard try exists() else { return [] }
        return try connection.fetchAll(String.self, selection("key", prefix, order: " ORDER BY key"), arguments(prefix))
    }

    /// The number of keys that begin with a text.
    /// - Parameter prefix: how the keys begin. Default: all keys.
    public func count(prefix: String = "") throws(DatabaseError) -> Int {
        guard try exists() else { return 0 }
        return try connection.fetchOne(Int.self, selection("count(*)", prefix), arguments(prefix)) ?? 0
    }

    /// Reads each key that begins with a text, with its value, in order, one at a time.
    /// ```swift
    /// try settings.forEach(prefix: "window.") { entry in
    ///     frames[entry.key] = try entry.value(as: Frame.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - prefix: how the keys begin. Default: all keys.
    ///   - body: must not keep the entry. It may write to the store: whether keys that it adds are visited is undefined.
    public func forEach(prefix: String = "", _ body: (borrowing KeyValueEntry) throws -> Void) throws {
        guard try exists() else { return }
        let statement = try connection.cached(selection("key, value, json", prefix, order: " ORDER BY key"))
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments(prefix), handle)
        var last: String?
        while try statement.advance(handle) {
            let entry = try KeyValueEntry(handle)
            // A row that was written meanwhile is visited again where its new version comes after the old one.
            if let last, last.utf8.elementsEqual(entry.key.utf8) { continue }
            last = entry.key
            try body(entry)
        }
    }

    /// The keys that begin with a text, with their values, in order.
    /// - Throws: as `get(_:as:)`, for the first value that is of no such type.
    public func all<T: SQLValueConvertible>(as type: T.Type = T.self, prefix: String = "") throws -> [(key: String, value: T)] {
        var result: [(key: String, value: T)] = []
        try forEach(prefix: prefix) { entry in result.append((entry.key, try entry.value(as: type))) }
        return result
    }

    /// The keys that begin with a text, with their values, decoded, in order.
    @_disfavoredOverload
    public func all<T: Decodable>(as type: T.Type = T.self, prefix: String = "") throws -> [(key: String, value: T)] {
        var result: [(key: String, value: T)] = []
        try forEach(prefix: prefix) { entry in result.append((entry.key, try entry.value(as: type))) }
        return result
    }

    private func selection(_ columns: String, _ prefix: String, order: String = "") -> SQL {
        let range = prefix.isEmpty ? "" : " AND key >= ?2 AND key < ?3"
        return SQL(raw: "SELECT \(columns) FROM \(table.table) WHERE \(KeyValueTable.isAlive)\(range)\(order)")
    }

    private func arguments(_ prefix: String) -> StatementArguments {
        let now = StatementArguments([KeyValueEntry.now()])
        return prefix.isEmpty ? now : StatementArguments([KeyValueEntry.now()] + prefix.keyBounds)
    }
}

extension String {
    /// The text itself, and a bound above every text that begins with it: no text in UTF-8 has such a byte.
    fileprivate var keyBounds: [any SQLValueConvertible] { [self, KeyBound(prefix: self)] }

    var keyRange: StatementArguments { StatementArguments(keyBounds) }
}

/// A text and a byte of 255.
private struct KeyBound: SQLValueConvertible {
    let prefix: String

    init(prefix: String) { self.prefix = prefix }

    init?(sqlValue: SQLValue) { nil }

    var sqlValue: SQLValue { .text(prefix) }

    func bindSQL(to parameter: borrowing Statement.Parameter) throws(DatabaseError) {
        try ContiguousArray(Array(prefix.utf8) + [255]).withUnsafeBufferPointer { bytes throws(DatabaseError) in
            try parameter.bind(utf8: bytes)
        }
    }
}
