/// How tables are copied from one database of a connection to another.
public struct TableCopyOptions: Hashable, Sendable {
    /// What happens to a row whose key is taken in the target (<https://sqlite.org/lang_conflict.html>).
    public enum Conflict: String, Hashable, Sendable, CaseIterable {
        /// The copy ends with an error, and nothing has changed.
        case fail = "ABORT"
        /// The target's row stays.
        case keep = "IGNORE"
        /// The source's row takes its place.
        case replace = "REPLACE"
    }

    /// What happens to a row whose key is taken. Default: the copy fails.
    public var conflict = Conflict.fail
    /// Whether the rows that a table has in the target go first. Default: no.
    public var emptiesTarget = false
    /// Whether a table that is new in the target gets its indexes. Default: yes.
    public var includesIndexes = true
    /// Whether a table that is new in the target gets its triggers, once the rows are there. Default: yes.
    public var includesTriggers = true

    /// The defaults.
    public init() {}
}

/// How far the copy of tables is.
public struct TableCopyProgress: Hashable, Sendable {
    /// The table that is being copied.
    public let table: String
    /// The rows that are copied, of all tables.
    public let rowsDone: Int
    /// The rows to copy, of all tables.
    public let rowsTotal: Int

    /// What is done, from 0 to 1.
    public var fraction: Double { rowsTotal == 0 ? 1 : Double(rowsDone) / Double(rowsTotal) }
}

/// The text of a `CREATE` statement as SQLite keeps it: the keywords, the object's name, and the rest.
struct SchemaText {
    /// `CREATE TABLE` and the like.
    let keywords: String
    let rest: String

    /// Nil for a text that SQLite would not have written.
    init?(_ sql: String) {
        let known = ["CREATE TABLE ", "CREATE UNIQUE INDEX ", "CREATE INDEX ", "CREATE TRIGGER "]
        guard let prefix = known.first(where: { sql.hasPrefix($0) }) else { return nil }
        let tail = sql.utf8.dropFirst(prefix.utf8.count)
        guard let first = tail.first else { return nil }
        var index = tail.startIndex
        if let closing = Self.closing(first) {
            repeat {
                index = tail.index(after: index)
                guard let end = tail[index...].firstIndex(of: closing) else { return nil }
                index = tail.index(after: end)
                // A doubled quote is one within the name; brackets know no doubling.
            } while closing != UInt8(ascii: "]") && index < tail.endIndex && tail[index] == closing
        } else {
            index = tail.firstIndex { !Self.isWord($0) } ?? tail.endIndex
        }
        keywords = prefix
        rest = String(decoding: tail[index...], as: UTF8.self)
    }

    /// The statement for an object of this name in another database.
    func sql(_ name: String, in schema: Schema) -> SQL { SQL(raw: "\(keywords)\(schema.qualified(name))\(rest)") }

    private static func closing(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): byte
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...0xff:
            true
        default: false
        }
    }
}
