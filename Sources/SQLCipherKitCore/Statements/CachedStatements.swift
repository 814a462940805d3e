import Foundation

/// The key of a statement that a connection keeps: its text, or a question about a type's values or about another subject.
package struct StatementKey: Hashable {
    /// The type of the kept object, so that only an object of this type is found.
    fileprivate let kind: ObjectIdentifier
    fileprivate let subject: ObjectIdentifier?
    fileprivate let code: UInt64
    fileprivate let text: ExactText
    fileprivate let place: ExactText
    /// Tells apart the statements for one question; see ``Connection/runKept(_:_:_:make:)``.
    fileprivate var variant: UInt8 = 0

    /// - Parameters:
    ///   - kind: the class of what is kept.
    ///   - subject: the type of the values, or an object that what is kept refers to.
    ///   - code: what is asked.
    ///   - text: a part of the question that is text, such as a table's name.
    ///   - place: the name of the database; empty for the first database that has the table.
    package init<Kept: AnyObject>(
        _ kind: Kept.Type, _ subject: ObjectIdentifier?, _ code: UInt64 = 0, text: String = "", place: String = ""
    ) {
        self.kind = ObjectIdentifier(kind)
        self.subject = subject
        self.code = code
        self.text = ExactText(text)
        self.place = ExactText(place)
    }

    @inline(__always)
    package static func == (a: Self, b: Self) -> Bool {
        a.code == b.code && a.subject == b.subject && a.kind == b.kind && a.variant == b.variant && a.text == b.text
            && a.place == b.place
    }

    /// Where to look first.
    @inline(__always)
    fileprivate var slot: Int {
        if let subject {
            return CachedStatements.slot(UInt(bitPattern: subject) >> 4 &+ UInt(bitPattern: kind) >> 3 &+ UInt(code) &* 5)
        }
        return CachedStatements.slot(UInt(bitPattern: text.text.utf8.count))
    }
}

/// The prepared statements of a connection, kept for the next time that the same is asked: the same text, byte for byte, or the
/// same ``StatementKey``.
///
/// A statement is lent to one call at a time; a nested call that asks the same gets another one. Beyond the capacity, the least
/// recently used statement is dropped.
@usableFromInline
package struct CachedStatements {
    /// A statement, and what is needed to run it: for a text, the statement itself.
    private final class Entry {
        let key: StatementKey
        var statement: Statement
        var kept: AnyObject
        var lastUse: UInt64 = 0

        init(_ key: StatementKey, _ statement: Statement, _ kept: AnyObject) {
            (self.key, self.statement, self.kept) = (key, statement, kept)
        }
    }

    private var entries: [StatementKey: Entry] = [:]
    private var turn: UInt64 = 0
    // Loops ask the same again and again: a look at one place is several times as fast as hashing a text or a type.
    private var recent = [Entry?](repeating: nil, count: 16)
    private(set) var hits = 0
    private(set) var misses = 0
    var capacity: Int {
        didSet { while entries.count > capacity { evict() } }
    }

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { entries.count }

    @inline(__always)
    fileprivate static func slot(_ number: UInt) -> Int { Int((number ^ number >> 4) & 15) }

    mutating func find(_ sql: SQL) -> Statement? {
        let count = sql.head.utf8.count + (sql.endsWithMark ? 1 : 0)
        if let entry = recent[Self.slot(UInt(bitPattern: count))], entry.statement.uses == 0, entry.key.isText(of: sql) {
            hits += 1
            return entry.statement
        }
        return look(.text(sql.text))?.statement
    }

    @inline(__always)
    mutating func find<Kept: AnyObject>(_ key: StatementKey, _ kind: Kept.Type) -> Kept? {
        if let entry = recent[key.slot], entry.statement.uses == 0, entry.key == key {
            hits += 1
            // The kind is a part of the key.
            return unsafeDowncast(entry.kept, to: Kept.self)
        }
        return look(key).map { unsafeDowncast($0.kept, to: Kept.self) }
    }

    @inline(never)
    private mutating func look(_ key: StatementKey) -> Entry? {
        guard let found = entries[key] else {
            misses += 1
            return nil
        }
        turn += 1
        found.lastUse = turn
        // In use by an outer call, which still needs its row.
        guard found.statement.uses == 0 else {
            misses += 1
            return nil
        }
        hits += 1
        recent[key.slot] = found
        return found
    }

    /// Keeps a statement for a question, unless there is one.
    mutating func insert(_ statement: Statement, _ kept: AnyObject, _ key: StatementKey) {
        guard capacity > 0, entries[key] == nil else { return }
        if entries.count >= capacity { evict() }
        turn += 1
        let entry = Entry(key, statement, kept)
        entry.lastUse = turn
        entries[key] = entry
        recent[key.slot] = entry
    }

    mutating func insert(_ statement: Statement, _ text: String) { insert(statement, statement, .text(text)) }

    /// Lets what is kept for two variants of a question change places.
    mutating func exchange(_ a: StatementKey, _ b: StatementKey) {
        guard let a = entries[a], let b = entries[b] else { return }
        (a.statement, b.statement) = (b.statement, a.statement)
        (a.kept, b.kept) = (b.kept, a.kept)
    }

    mutating func remove(_ key: StatementKey) {
        entries[key] = nil
        recent[key.slot] = nil
    }

    mutating func remove(_ statement: Statement) {
        if let key = entries.first(where: { $0.value.statement === statement })?.key { remove(key) }
    }

    package mutating func removeAll() { removeAll { _ in true } }

    /// Removes all that is not kept for a text alone. A text is compiled again when the schema changes, but what else was asked was
    /// answered with what the schema said.
    package mutating func removeAllAnswers() { removeAll { $0.subject != nil } }

    private mutating func removeAll(where isOld: (StatementKey) -> Bool) {
        for key in entries.keys where isOld(key) { remove(key) }
    }

    private mutating func evict() {
        if let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) { remove(oldest.key) }
    }
}

extension StatementKey {
    fileprivate static func text(_ text: String) -> StatementKey { StatementKey(Statement.self, nil, text: text) }

    /// Returns whether it is the key of a statement's text, without building that text.
    @inline(__always)
    fileprivate func isText(of sql: SQL) -> Bool { subject == nil && text.text.isText(of: sql) }
}

extension String {
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

extension Connection {
    /// Returns the object that is kept for a question; nil if there is none, or if its statement is in use.
    package func kept<Kept: AnyObject>(_ key: StatementKey, _ kind: Kept.Type = Kept.self) -> Kept? { cache.find(key, kind) }

    /// Keeps a statement for a question, with what is needed to run it.
    package func keep(_ statement: Statement, _ kept: AnyObject, _ key: StatementKey) { cache.insert(statement, kept, key) }

    package func forget(_ key: StatementKey) { cache.remove(key) }

    /// Forgets all that is not kept for a text alone.
    package func forgetAnswers() { cache.removeAllAnswers() }

    /// Runs one of the statements that are kept for a question: values of one type can leave out different columns, and then each
    /// set of columns needs its own. The one that ran last is tried first the next time.
    /// - Parameters:
    ///   - run: returns false, without having run anything, if the statement is for other columns.
    ///   - make: makes the statement for these columns.
    /// - Returns: false if the new statement is for other columns too.
    package func runKept<Kept: AnyObject>(
        _ key: StatementKey, _ kind: Kept.Type = Kept.self, _ run: (Kept) throws -> Bool, make: () throws -> (Statement, Kept)
    ) throws -> Bool {
        var other = key
        while other.variant < 8 {
            let known: Kept? = kept(other)
            if let known, try !run(known) {
                other.variant += 1
                continue
            }
            if known == nil {
                let (statement, made) = try make()
                keep(statement, made, other)
                if try !run(made) { return false }
            }
            if other.variant > 0 { cache.exchange(key, other) }
            return true
        }
        // There are too many: the one that was not needed for longest makes room.
        other.variant -= 1
        cache.remove(other)
        let (statement, made) = try make()
        keep(statement, made, other)
        if try !run(made) { return false }
        cache.exchange(key, other)
        return true
    }
}
