import SQLCipherKitCore

extension FullTextIndex {
    /// A setting of a full-text index, which the database stores (<https://sqlite.org/fts5.html#special_insert_commands>).
    public enum Setting: Hashable, Sendable {
        /// The number of segments on a level at which writes begin to merge them, from 2 to 16; 0 for never. FTS5's default: 4.
        case automerge(Int)
        /// The number of segments on a level at which each write merges more of them, about 256 blobs, from 2 to 1,000,000. FTS5's
        /// default: 16.
        case crisismerge(Int)
        /// The minimum number of segments on a level that ``FullTextIndex/merge(pages:everything:)`` merges, from 2 to 16. FTS5's
        /// default: 4.
        case usermerge(Int)
        /// The size of the index's blobs in bytes, from 32 to 65,536. FTS5's default: 4,050.
        case pageSize(Int)
        /// The number of bytes of new entries that are kept in memory before they are written, from 1 to 1,000,000,000. FTS5's
        /// default: 1,048,576.
        case hashSize(Int)
        /// Whether the words of a deleted row are removed from the index at once. Otherwise they are marked as deleted and stay in
        /// the file until segments are merged. SQLite before 3.42 cannot read an index written with this setting. FTS5's default:
        /// no.
        case secureDelete(Bool)
        /// The percentage of deleted entries at which a segment of a contentless table with `contentless_delete` is merged, from 0
        /// to 100. FTS5's default: 10.
        case deleteMerge(Int)
        /// The function that ranks hits if a search names none, with its arguments, such as `bm25(5.0, 1.0)`. FTS5's default:
        /// `bm25()`.
        case rank(String)

        /// FTS5's name for the setting, its value, and whether FTS5 would accept that value.
        fileprivate var command: (name: String, value: SQLValue, isInRange: Bool) {
            switch self {
            case .automerge(let count): ("automerge", .integer(Int64(count)), count == 0 || (2...16).contains(count))
            case .crisismerge(let count): ("crisismerge", .integer(Int64(count)), (2...1_000_000).contains(count))
            case .usermerge(let count): ("usermerge", .integer(Int64(count)), (2...16).contains(count))
            case .pageSize(let bytes): ("pgsz", .integer(Int64(bytes)), (32...65_536).contains(bytes))
            case .hashSize(let bytes): ("hashsize", .integer(Int64(bytes)), (1...1_000_000_000).contains(bytes))
            case .secureDelete(let isOn): ("secure-delete", .integer(isOn ? 1 : 0), true)
            case .deleteMerge(let percentage): ("deletemerge", .integer(Int64(percentage)), (0...100).contains(percentage))
            case .rank(let function): ("rank", .text(function), !function.isEmpty)
            }
        }
    }

    /// Changes a setting of the index, for all connections and permanently.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value outside the documented range, which FTS5 would ignore, and
    ///   what SQLite reports.
    public func configure(_ setting: Setting) throws(DatabaseError) {
        let command = setting.command
        guard command.isInRange else { throw .invalidArgument("\(setting) is out of its range") }
        try self.command(command.name, command.value)
    }

    /// The settings that were changed, by FTS5's names, and `version`, the format of the index.
    public var settings: [String: SQLValue] {
        get throws(DatabaseError) {
            let rows: [(String, SQLValue)] = try connection.fetchAll("SELECT k, v FROM \(raw: companion("_config"))")
            return Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
        }
    }
}
