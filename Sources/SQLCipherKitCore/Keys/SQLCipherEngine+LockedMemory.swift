import CSQLCipher
import Foundation

extension SQLCipherEngine {
    /// How many bytes of this process are locked into memory, nil where the system does not report it; and how many it may lock
    /// (`RLIMIT_MEMLOCK`), nil if there is no limit. A privileged process may lock more.
    ///
    /// SQLCipher reports its memory security as on even if the system refused to lock a single page
    /// (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_memory_security>); these numbers come from the system itself.
    /// ```swift
    /// var cipher = CipherConfiguration()
    /// cipher.usesMemorySecurity = true
    /// let db = try Connection(.file("notes.db"), key: key.with(cipher: cipher))
    /// let memory = SQLCipherEngine.lockedMemory
    /// if memory.bytes == 0 { print("nothing is locked; the limit is \(memory.limit ?? 0) bytes") }
    /// ```
    public static var lockedMemory: (bytes: Int?, limit: Int?) {
        let limit = sqlcipherkit_memory_lock_limit()
        return (locked(), limit < 0 ? nil : Int(clamping: limit))
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
