import Foundation

/// Prepared statements by SQL text, kept for the next call with the same text, byte for byte.
///
/// A statement is lent to one call at a time; a nested call with the same text gets another one. Beyond the capacity, the least
/// recently used statement is dropped.
@usableFromInline
package struct CachedStatements {
    private var statements: [ExactText: Statement] = [:]
    private var turn: UInt64 = 0
    // Loops ask for the same text repeatedly: comparing it is several times as fast as hashing it.
    private var lastText = ""
    private var last: Statement?
    private(set) var hits = 0
    private(set) var misses = 0
    var capacity: Int {
        didSet { while statements.count > capacity { evict() } }
    }

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { statements.count }

    mutating func find(_ sql: SQL) -> Statement? {
        if let last, last.uses == 0, lastText.isText(of: sql) {
            hits += 1
            return last
        }
        let text = sql.text
        guard let found = statements[ExactText(text)] else {
            misses += 1
            return nil
        }
        turn += 1
        found.lastUse = turn
        // In use by an outer call, which still needs its row.
        guard found.uses == 0 else {
            misses += 1
            return nil
        }
        hits += 1
        lastText = text
        last = found
        return found
    }

    mutating func insert(_ statement: Statement, _ text: String) {
        let key = ExactText(text)
        guard capacity > 0, statements[key] == nil else { return }
        if statements.count >= capacity { evict() }
        turn += 1
        statement.lastUse = turn
        statements[key] = statement
        lastText = text
        last = statement
    }

    mutating func remove(_ statement: Statement) {
        guard let key = statements.first(where: { $0.value === statement })?.key else { return }
        if last === statement { (last, lastText) = (nil, "") }
        statements[key] = nil
    }

    package mutating func removeAll() {
        last = nil
        lastText = ""
        statements.removeAll()
    }

    private mutating func evict() {
        guard let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        if last === oldest.value { last = nil }
        statements[oldest.key] = nil
    }
}

extension String {
    /// Whether this is the text of `sql`, without building that text.
    @inline(__always)
    fileprivate func isText(of sql: SQL) -> Bool {
        if !sql.endsWithMark { return isSameText(as: sql.head) }
        let count = sql.head.utf8.count
        guard utf8.count == count + 1 else { return false }
        return withTextBytes { a in
            sql.head.withTextBytes { b in
                guard a[count] == UInt8(ascii: "?") else { return false }
                guard let a = a.baseAddress, let b = b.baseAddress else { return true }
                return memcmp(a, b, count) == 0
            }
        }
    }
}
