import CSQLCipher

/// A position in a write-ahead log, at the end of a commit (<https://sqlite.org/fileformat2.html#the_write_ahead_log>).
package struct LogMark: Hashable, Sendable {
    /// The two salts of the log, as in its header and in each frame; 0 if nothing was ever written to a log.
    package var salts: UInt64 = 0
    /// The number of frames up to the position; 0 for an empty log.
    package var frame: UInt32 = 0
    /// The log's running checksum after the last of them.
    package var checksum: UInt64 = 0
    /// The number of pages in the database.
    package var pages: UInt32 = 0
    /// A counter of commits, which goes on when the log starts from the beginning, and restarts when the log is recovered.
    package var commits: UInt32 = 0

    package init() {}

    /// Reads SQLite's header of the log's index, of which a snapshot is a copy.
    init(_ snapshot: UnsafePointer<sqlite3_snapshot>) {
        let bytes = UnsafeRawPointer(snapshot)
        commits = bytes.load(fromByteOffset: 8, as: UInt32.self)
        frame = bytes.load(fromByteOffset: 16, as: UInt32.self)
        pages = bytes.load(fromByteOffset: 20, as: UInt32.self)
        let sums = (bytes.load(fromByteOffset: 24, as: UInt32.self), bytes.load(fromByteOffset: 28, as: UInt32.self))
        checksum = UInt64(sums.0) << 32 | UInt64(sums.1)
        // The salts are kept as they are in the file.
        salts = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
    }
}
