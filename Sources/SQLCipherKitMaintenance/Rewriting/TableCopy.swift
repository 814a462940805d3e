import SQLCipherKitCore

extension Schema {
    /// How tables are copied from one database of a connection to another.
    public struct CopyOptions: Hashable, Sendable {
        /// How to treat a row with a key that already exists in the target (<https://sqlite.org/lang_conflict.html>).
        public enum Conflict: String, Hashable, Sendable, CaseIterable {
            /// The copy fails with an error, and nothing is changed.
            case fail = "ABORT"
            /// The target's row is kept.
            case keep = "IGNORE"
            /// The source's row replaces it.
            case replace = "REPLACE"
        }

        /// How to treat a row with a key that already exists in the target. Default: the copy fails.
        public var conflict = Conflict.fail
        /// Whether to first delete the existing rows of a table in the target. Default: false.
        public var emptiesTarget = false
        /// Whether a table that is new in the target gets its indexes. Default: true.
        public var includesIndexes = true
        /// Whether a table that is new in the target gets its triggers, after the rows are copied. They run in the target from then
        /// on, so leave them out if the source is untrusted. Default: true.
        public var includesTriggers = true

        /// The defaults.
        public init() {}
    }
}
