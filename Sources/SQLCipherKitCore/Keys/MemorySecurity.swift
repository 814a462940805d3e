import CSQLCipher
import Foundation

/// How much memory the process may lock, and how much is locked.
///
/// SQLCipher reports its memory security as on even if the system refused to lock a single page
/// (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_memory_security>); these numbers come from the system itself.
/// ```swift
/// var cipher = CipherConfiguration()
/// cipher.usesMemorySecurity = true
/// let db = try Connection(.file("notes.db"), key: key.with(cipher: cipher))
/// let report = MemorySecurity.report()
/// if report.lockedBytes == 0 { print("nothing is locked; the limit is \(report.limit ?? 0) bytes") }
/// ```
public struct MemorySecurity: Hashable, Sendable {
    /// The number of bytes of this process that are locked into memory; nil where the system does not report it.
    public let lockedBytes: Int?
    /// The number of bytes that the process may lock (`RLIMIT_MEMLOCK`); nil if there is no limit. A privileged process may lock
    /// more.
    public let limit: Int?

    /// Queries the system.
    public static func report() -> MemorySecurity {
        let limit = sqlcipherkit_memory_lock_limit()
        return MemorySecurity(lockedBytes: locked(), limit: limit < 0 ? nil : Int(clamping: limit))
    }

    private static func locked() -> Int? {
        #if os(Linux)
            guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmLck:") }),
                let kilobytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
            else { return nil }
            return kilobytes * 1024
        #else
            return nil
        #endif
    }
}
