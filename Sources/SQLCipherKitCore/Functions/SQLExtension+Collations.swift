import CSQLCipher
import Foundation

/// Orders of texts, for `COLLATE`, `ORDER BY`, indexes and comparisons (<https://sqlite.org/datatype3.html#collation>).
///
/// An index on a column is sorted by the column's collation. So as long as an index uses a collation, it must order all texts, and
/// always in the same way. If the order changes, run `REINDEX`.
extension SQLExtension {
    /// Creates an extension for a collation (<https://sqlite.org/c3ref/create_collation.html>).
    /// ```swift
    /// try db.register(.collation("BY_LENGTH") { a, b in
    ///     a.count < b.count ? .orderedAscending : a.count > b.count ? .orderedDescending : .orderedSame
    /// })
    /// ```
    /// Bytes that are not UTF-8 are compared as U+FFFD. Registering throws ``DatabaseError`` for a name with a NUL character, and
    /// while a statement that uses a collation with that name is running.
    /// - Parameters:
    ///   - name: the name of the collation in SQL.
    ///   - compare: compares two texts. It must not use the connection, and cannot throw, because SQLite cannot report its error.
    public static func collation(_ name: String, _ compare: @escaping (String, String) -> ComparisonResult) -> SQLExtension {
        SQLExtension { connection in try connection.install(name, compare) }
    }

    /// `UNICODE`: Unicode's canonical order, in which a letter with an accent equals the same letter with a combining accent.
    public static var unicodeCollation: SQLExtension {
        collation("UNICODE") { a, b in a == b ? .orderedSame : a < b ? .orderedAscending : .orderedDescending }
    }

    /// `UNICODE_NOCASE`: the same order, but case-insensitive in all scripts. SQLite's `NOCASE` folds only A to Z.
    /// ```swift
    /// try db.register(.unicodeCollationIgnoringCase)
    /// try db.execute("CREATE TABLE person(name TEXT COLLATE UNICODE_NOCASE)")
    /// ```
    public static var unicodeCollationIgnoringCase: SQLExtension {
        collation("UNICODE_NOCASE") { a, b in
            let a = a.lowercased(), b = b.lowercased()
            return a == b ? .orderedSame : a < b ? .orderedAscending : .orderedDescending
        }
    }

    /// The order of a language: case and accents matter only if texts are otherwise equal, and `file 9` comes before `file 10`.
    ///
    /// The order may change with the version of the system: do not use it in an index of a file that you move between systems.
    /// - Parameters:
    ///   - name: the name of the collation in SQL. Default: `LOCALIZED`.
    ///   - locale: the locale with the language. Default: the locale of the process.
    public static func localizedCollation(_ name: String = "LOCALIZED", locale: Locale = .current) -> SQLExtension {
        collation(name) { a, b in
            a.compare(b, options: [.numeric, .caseInsensitive, .widthInsensitive], range: nil, locale: locale).or {
                a.compare(b, options: [.numeric, .forcedOrdering], range: nil, locale: locale)
            }
        }
    }
}

extension SQLExtension {
    /// The collations that GRDB adds to each connection: `swiftCompare`, `swiftCaseInsensitiveCompare`, `swiftLocalizedCompare`,
    /// `swiftLocalizedCaseInsensitiveCompare` and `swiftLocalizedStandardCompare`, for tables and indexes that name them.
    /// ```swift
    /// try db.register(.grdbCollations)
    /// let notes = try db.fetchAll(Note.self, "SELECT * FROM note ORDER BY title COLLATE swiftLocalizedStandardCompare")
    /// ```
    /// They call the same functions of the standard library and of Foundation as GRDB does. The localized collations follow the
    /// process's locale and the system's version: run `REINDEX` on a file that comes from elsewhere.
    public static var grdbCollations: SQLExtension {
        SQLExtension { connection in
            try connection.install("swiftCompare") { a, b in
                a < b ? .orderedAscending : a == b ? .orderedSame : .orderedDescending
            }
            try connection.install("swiftCaseInsensitiveCompare") { a, b in a.caseInsensitiveCompare(b) }
            try connection.install("swiftLocalizedCompare") { a, b in a.localizedCompare(b) }
            try connection.install("swiftLocalizedCaseInsensitiveCompare") { a, b in a.localizedCaseInsensitiveCompare(b) }
            try connection.install("swiftLocalizedStandardCompare") { a, b in a.localizedStandardCompare(b) }
        }
    }
}

extension ComparisonResult {
    fileprivate func or(_ other: () -> ComparisonResult) -> ComparisonResult { self == .orderedSame ? other() : self }
}

/// A collation as SQLite stores it.
private final class CollationBox {
    let compare: (String, String) -> ComparisonResult
    // SQLite compares only in calls on the connection, which keep it alive.
    unowned(unsafe) let connection: Connection

    init(_ compare: @escaping (String, String) -> ComparisonResult, _ connection: Connection) {
        (self.compare, self.connection) = (compare, connection)
    }

    func compare(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int32 {
        // Equal bytes are equal in every order.
        if a.count == b.count, a.elementsEqual(b) { return 0 }
        return connection.inHook {
            switch compare(String(decoding: a, as: UTF8.self), String(decoding: b, as: UTF8.self)) {
            case .orderedAscending: -1
            case .orderedSame: 0
            case .orderedDescending: 1
            }
        }
    }
}

extension Connection {
    fileprivate func install(
        _ name: String, _ compare: @escaping (String, String) -> ComparisonResult
    ) throws {
        let name = try name.cName("the name of a collation")
        let handle = try liveOutsideHooks()
        let box = Unmanaged.passRetained(CollationBox(compare, self))
        let rc = sqlite3_create_collation_v2(
            handle, name, SQLITE_UTF8, box.toOpaque(),
            { context, countA, a, countB, b in
                guard let context else { return 0 }
                return Unmanaged<CollationBox>.fromOpaque(context).takeUnretainedValue().compare(
                    UnsafeBufferPointer(start: a?.assumingMemoryBound(to: UInt8.self), count: Int(countA)),
                    UnsafeBufferPointer(start: b?.assumingMemoryBound(to: UInt8.self), count: Int(countB)))
            },
            { pointer in if let pointer { Unmanaged<CollationBox>.fromOpaque(pointer).release() } })
        // Unlike a function's box, a collation's is not released by SQLite if the call fails.
        if rc != SQLITE_OK { box.release() }
        try check(rc)
    }
}
