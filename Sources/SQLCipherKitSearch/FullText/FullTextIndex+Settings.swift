import SQLCipherKitCore

extension FullTextIndex {
    /// A setting of a full-text index, which the database stores (<https://sqlite.org/fts5.html#special_insert_commands>).
    public struct Setting: Hashable, Sendable {
        let name: String
        let value: SQLValue

        /// The size of the index's blobs in bytes, from 32 to 65,536. FTS5's default: 4,050.
        public static func pageSize(_ bytes: Int) -> Setting { other("pgsz", bytes) }

        /// Whether the words of a deleted row are removed from the index at once. Otherwise they are marked as deleted and stay in
        /// the file until segments are merged. SQLite before 3.42 cannot read an index written with this setting. FTS5's default:
        /// no.
        public static func secureDelete(_ isOn: Bool) -> Setting { other("secure-delete", isOn ? 1 : 0) }

        /// The function that ranks hits if a search names none, with its arguments, such as `bm25(5.0, 1.0)`. FTS5's default:
        /// `bm25()`.
        public static func rank(_ function: String) -> Setting { Setting(name: "rank", value: .text(function)) }

        /// A setting by FTS5's name:
        /// - `automerge`: the number of segments on a level at which writes begin to merge them, from 2 to 16; 0 for never. FTS5's
        ///   default: 4.
        /// - `crisismerge`: the number of segments on a level at which each write merges more of them, about 256 blobs, from 2 to
        ///   1,000,000. FTS5's default: 16.
        /// - `usermerge`: the minimum number of segments on a level that ``FullTextIndex/merge(pages:everything:)`` merges, from 2
        ///   to
        ///   16. FTS5's default: 4.
        /// - `hashsize`: the bytes of new entries that are kept in memory before they are written, from 1 to 1,000,000,000. FTS5's
        ///   default: 1,048,576.
        /// - `deletemerge`: the percentage of deleted entries at which a segment of a contentless table with `contentless_delete`
        ///   is merged, from 0 to 100. FTS5's default: 10.
        public static func other(_ name: String, _ value: Int) -> Setting { Setting(name: name, value: .integer(Int64(value))) }

        /// Whether FTS5 would accept the value: it ignores what it does not.
        fileprivate var isInRange: Bool {
            guard case .integer(let number) = value else { return value != .text("") }
            return switch name {
            case "automerge": number == 0 || (2...16).contains(number)
            case "crisismerge": (2...1_000_000).contains(number)
            case "usermerge": (2...16).contains(number)
            case "pgsz": (32...65_536).contains(number)
            case "hashsize": (1...1_000_000_000).contains(number)
            case "deletemerge": (0...100).contains(number)
            default: true
            }
        }
    }

    /// Changes a setting of the index, for all connections and permanently.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value outside the documented range, which FTS5 would ignore, and
    ///   what SQLite reports.
    public func configure(_ setting: Setting) throws(DatabaseError) {
        guard setting.isInRange else { throw .invalidArgument("the setting \(setting.name) cannot be \(setting.value)") }
        try command(setting.name, setting.value)
    }

    /// The settings that were changed, by FTS5's names, and `version`, the format of the index.
    public var settings: [String: SQLValue] {
        get throws(DatabaseError) {
            let rows: [(String, SQLValue)] = try connection.fetchAll("SELECT k, v FROM \(raw: companion("_config"))")
            return Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
        }
    }
}
