import CSQLCipher
import Foundation

/// An order of texts, for `COLLATE`, `ORDER BY`, indexes and comparisons (<https://sqlite.org/datatype3.html#collation>).
///
/// An index on a column is sorted by its collation: a collation must order all texts, always in the same way, as long as there is
/// an index that uses it. After a change, `REINDEX`.
public struct Collation {
    /// The name that SQL knows it by.
    public let name: String
    /// How two texts compare.
    public let compare: (String, String) -> ComparisonResult

    /// A collation from a closure. It must not use the connection, and cannot throw, as SQLite has no way to tell of it.
    public init(_ name: String, _ compare: @escaping (String, String) -> ComparisonResult) {
        self.name = name
        self.compare = compare
    }

    /// `UNICODE`: by Unicode's canonical order, so that letters are the same whether their accents are apart or not.
    public static var unicode: Collation {
        Collation("UNICODE") { a, b in a == b ? .orderedSame : a < b ? .orderedAscending : .orderedDescending }
    }

    /// `UNICODE_NOCASE`: the same without regard to case, in all scripts, where SQLite's `NOCASE` knows A to Z only.
    public static var unicodeIgnoringCase: Collation {
        Collation("UNICODE_NOCASE") { a, b in
            let a = a.lowercased(), b = b.lowercased()
            return a == b ? .orderedSame : a < b ? .orderedAscending : .orderedDescending
        }
    }

    /// As a language sorts: case and accents decide only where nothing else does, and `file 9` comes before `file 10`.
    ///
    /// The order may change with the system's version: do not put it into an index of a file that moves about.
    /// - Parameters:
    ///   - name: the name that SQL knows it by. Default: `LOCALIZED`.
    ///   - locale: whose language. Default: that of the process.
    public static func localized(_ name: String = "LOCALIZED", locale: Locale = .current) -> Collation {
        Collation(name) { a, b in
            a.compare(b, options: [.numeric, .caseInsensitive, .widthInsensitive], range: nil, locale: locale).or {
                a.compare(b, options: [.numeric, .forcedOrdering], range: nil, locale: locale)
            }
        }
    }
}

extension ComparisonResult {
    fileprivate func or(_ other: () -> ComparisonResult) -> ComparisonResult { self == .orderedSame ? other() : self }
}

/// A collation as SQLite holds it.
private final class CollationBox {
    let compare: (String, String) -> ComparisonResult
    // SQLite compares in calls on the connection, which keep it alive.
    unowned(unsafe) let connection: Connection

    init(_ collation: Collation, _ connection: Connection) {
        compare = collation.compare
        self.connection = connection
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

extension SQLExtension {
    /// A collation (<https://sqlite.org/c3ref/create_collation.html>).
    /// ```swift
    /// try db.register(.collation(.unicodeIgnoringCase))
    /// try db.execute("CREATE TABLE person(name TEXT COLLATE UNICODE_NOCASE)")
    /// ```
    /// Bytes that are not UTF-8 are compared as U+FFFD. Registering throws ``DatabaseError`` for a name with a NUL
    /// character, and while a statement is running that uses one of that name.
    public static func collation(_ collation: Collation) -> SQLExtension {
        SQLExtension { connection throws(DatabaseError) in try connection.install(collation) }
    }

    /// A collation from a closure.
    /// ```swift
    /// try db.register(.collation("BY_LENGTH") { a, b in
    ///     a.count < b.count ? .orderedAscending : a.count > b.count ? .orderedDescending : .orderedSame
    /// })
    /// ```
    /// Registering throws ``DatabaseError`` for a name with a NUL character, and while a statement is running that uses one of that
    /// name.
    public static func collation(_ name: String, _ compare: @escaping (String, String) -> ComparisonResult) -> SQLExtension {
        collation(Collation(name, compare))
    }
}

extension Connection {
    fileprivate func install(_ collation: Collation) throws(DatabaseError) {
        let name = try collation.name.cName("the name of a collation")
        let handle = try liveOutsideHooks()
        let box = Unmanaged.passRetained(CollationBox(collation, self))
        let rc = sqlite3_create_collation_v2(
            handle, name, SQLITE_UTF8, box.toOpaque(),
            { context, countA, a, countB, b in
                guard let context else { return 0 }
                return Unmanaged<CollationBox>.fromOpaque(context).takeUnretainedValue().compare(
                    UnsafeBufferPointer(start: a?.assumingMemoryBound(to: UInt8.self), count: Int(countA)),
                    UnsafeBufferPointer(start: b?.assumingMemoryBound(to: UInt8.self), count: Int(countB)))
            },
            { pointer in if let pointer { Unmanaged<CollationBox>.fromOpaque(pointer).release() } })
        // Unlike a function's, a collation's box is not released by SQLite if the call fails.
        if rc != SQLITE_OK { box.release() }
        try check(rc)
    }
}
