/// A dictionary that remembers the last entry found, and is cleared when it is full.
///
/// Loops ask for the same entry again and again. For a record's type, comparing it with the last one takes 7 ns, hashing it and
/// looking it up 215 ns; where a table's name is part of the key, 111 and 457 ns.
@usableFromInline
package struct RecentCache<Key: Hashable, Value> {
    @usableFromInline var entries: [Key: Value] = [:]
    @usableFromInline var last: (key: Key, value: Value)?
    /// Limits the number of entries: there can be as many keys derived from data, such as patterns and names of temporary tables,
    /// as rows.
    @usableFromInline let limit = 64

    @inlinable package init() {}

    @inlinable
    package mutating func find(_ key: Key) -> Value? {
        if let last, last.key == key { return last.value }
        guard let found = entries[key] else { return nil }
        last = (key, found)
        return found
    }

    @inlinable
    package mutating func add(_ value: Value, _ key: Key) {
        if entries.count >= limit { entries.removeAll() }
        entries[key] = value
        last = (key, value)
    }

    @inlinable
    package mutating func removeAll() {
        entries.removeAll()
        last = nil
    }
}
