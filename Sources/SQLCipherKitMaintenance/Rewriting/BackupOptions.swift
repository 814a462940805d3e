import SQLCipherKitCore

extension Schema {
    /// How a backup is written.
    public struct BackupOptions: Hashable, Sendable {
        /// The number of pages to copy in one step; other connections may write between two steps. Default: 1,024, which is 4 MB
        /// with SQLCipher's page size.
        public var pagesPerStep = 1024
        /// How long to pause between two steps, to leave the disk and the processor to other work. Default: zero.
        public var pause: Duration = .zero
        /// Whether a backup to a file may replace a file of the same name, which stays unchanged until the new one is complete. No
        /// connection may have that file open, as it would not notice the replacement. Default: false.
        public var replacesFile = false
        /// Whether to write the copy row by row: see ``compact``.
        package var isCompact = false

        /// Whether to write the recovery copy of the database that is backed up as well, beside it
        /// (``Schema/writeRecoveryCopy(toFileAt:)``). Default: false.
        public var writesRecoveryCopy = false

        /// The defaults.
        public init() {}

        /// The defaults, except that the copy is written row by row instead of page by page. It then has no free pages, the pages
        /// of each table are contiguous, and it is compared with the database row by row. Row ids are kept. The copy is made in one
        /// transaction, and the options for steps have no effect.
        ///
        /// Use this instead of SQLite's `VACUUM INTO`, which always uses the default cipher settings and writes a file that does
        /// not open if the database has others.
        public static var compact: BackupOptions {
            var options = BackupOptions()
            options.isCompact = true
            return options
        }
    }
}
