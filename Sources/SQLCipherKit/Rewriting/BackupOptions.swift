/// How a backup is written.
public struct BackupOptions: Hashable, Sendable {
    /// The number of pages that are copied in one step; other connections may write between two steps. Default: 1,024, which is
    /// 4 MB with SQLCipher's page size.
    public var pagesPerStep = 1024
    /// How long to pause between two steps, which leaves the disk and the processor to others. Default: zero.
    public var pause: Duration = .zero
    /// Whether a backup into a file may replace a file of the same name, which stays as it is until the new one is complete. No
    /// connection may have that file open: it would not notice. Default: no.
    public var replacesFile = false
    /// Whether the copy is written row by row instead of page by page: without free pages, with the pages of each table side by
    /// side, and compared with the database row by row. Row ids are kept. It is made in one transaction, and the options for
    /// steps have no effect. Default: no.
    ///
    /// SQLite's `VACUUM INTO` uses the cipher's default settings whatever the database's are, and then writes a file that does not
    /// open; this is its replacement.
    public var isCompact = false

    /// The defaults.
    public init() {}

    /// The defaults, but for a copy that ``isCompact``.
    public static var compact: BackupOptions {
        var options = BackupOptions()
        options.isCompact = true
        return options
    }
}
