import CSQLCipher
import Foundation

/// What the system grants of locked memory, and how much of it is in use.
///
/// SQLCipher says that its memory security is on even where the system refused to lock a single page
/// (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_memory_security>); these are the system's own numbers.
/// ```swift
/// var cipher = CipherConfiguration()
/// cipher.usesMemorySecurity = true
/// let db = try Connection(.file("notes.db"), key: key.with(cipher: cipher))
/// let report = MemorySecurity.report()
/// if report.lockedBytes == 0 { print("nothing is locked; the limit is \(report.limit ?? 0) bytes") }
/// ```
public struct MemorySecurity: Hashable, Sendable {
    /// The bytes of this process that are locked into memory; nil where the system does not tell.
    public let lockedBytes: Int?
    /// The bytes that the process may lock (`RLIMIT_MEMLOCK`); nil if there is no limit. A privileged process may lock more.
    public let limit: Int?

    /// Asks the system.
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
