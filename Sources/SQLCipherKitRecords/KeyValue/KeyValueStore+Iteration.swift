import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Iteration over all keys, or those with a prefix, in the order of their UTF-8 bytes.
extension KeyValueStore {
    /// The keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    public func keys(prefix: String = "") throws(DatabaseError) -> [String] {
        guard try beginIteration() else { return [] }
        return try connection.fetchAll(String.self, selection("key", prefix, order: " ORDER BY key"), arguments(prefix))
    }

    /// The number of keys that begin with a prefix.
    /// - Parameter prefix: the prefix. Default: empty, for all keys.
    public func count(prefix: String = "") throws(DatabaseError) -> Int {
        guard try beginIteration() else { return 0 }
        return try connection.fetchOne(Int.self, selection("count(*)", prefix), arguments(prefix)) ?? 0
    }

    /// Calls `body` for each key that begins with a prefix, in order, with the key and its value.
    /// ```swift
    /// try settings.forEach(prefix: "window.") { entry in
    ///     frames[entry.key] = try entry.value(as: Frame.self)
    /// }
    /// ```
    /// - Parameters:
    ///   - prefix: the prefix. Default: empty, for all keys.
    ///   - body: receives each entry, and must not keep it. It may write to the store; whether it then visits the keys it adds is
    ///     undefined.
    public func forEach(prefix: String = "", _ body: (borrowing KeyValueEntry) throws -> Void) throws {
        guard try beginIteration() else { return }
        let statement = try connection.cached(selection("key, value, json", prefix, order: " ORDER BY key"))
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(arguments(prefix), handle)
        var last: String?
        while try statement.advance(handle) {
            let entry = try KeyValueEntry(handle)
            // SQLite visits a row twice if `body` rewrites it and the new version is placed after the old one.
            if let last, last.utf8.elementsEqual(entry.key.utf8) { continue }
            last = entry.key
            try body(entry)
        }
    }

    /// The keys that begin with a prefix and their values, in order.
    /// - Throws: the same errors as `get(_:as:)`, for the first value that cannot be read as `type`.
    public func all<T: SQLValueConvertible>(
        as type: T.Type = T.self, prefix: String = ""
    ) throws(DatabaseError) -> [(key: String, value: T)] {
        try list(prefix) { entry throws(DatabaseError) in try entry.value(as: type) }
    }

    /// The keys that begin with a prefix and their decoded values, in order.
    @_disfavoredOverload
    public func all<T: Decodable>(
        as type: T.Type = T.self, prefix: String = ""
    ) throws(DatabaseError) -> [(key: String, value: T)] {
        try list(prefix) { entry throws(DatabaseError) in try entry.value(as: type) }
    }

    private func list<T>(
        _ prefix: String, _ value: (borrowing KeyValueEntry) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> [(key: String, value: T)] {
        var result: [(key: String, value: T)] = []
        try DatabaseError.only("a key-value store") {
            try forEach(prefix: prefix) { entry in result.append((entry.key, try value(entry))) }
        }
        return result
    }

    /// Whether there is a table. An observation reads again when the next entry expires.
    private func beginIteration() throws(DatabaseError) -> Bool {
        guard try exists() else { return false }
        guard connection.isRecordingReads else { return true }
        let next = SQL(raw: "SELECT min(expires) FROM \(table.table) WHERE expires > ?1", [KeyValueEntry.now()])
        if let next = try connection.fetchOne(Int64?.self, next) { connection.recordExpiry(next) }
        return true
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
    /// The prefix itself, and an upper bound of all texts that begin with it.
    fileprivate var keyBounds: [any SQLValueConvertible] { [self, KeyBound(prefix: self)] }

    var keyRange: StatementArguments { StatementArguments(keyBounds) }
}

/// A prefix followed by a byte of 255, which no UTF-8 text contains.
private struct KeyBound: SQLValueConvertible {
    let prefix: String

    init(prefix: String) { self.prefix = prefix }

    init?(sqlValue: SQLValue) { nil }

    var sqlValue: SQLValue { .text(prefix) }

    func _bindSQL(to parameter: borrowing Statement._Parameter) throws(DatabaseError) {
        try ContiguousArray(Array(prefix.utf8) + [255]).withUnsafeBufferPointer { bytes throws(DatabaseError) in
            try parameter.bind(utf8: bytes)
        }
    }
}
