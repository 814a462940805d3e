import CSQLCipher
import Foundation

/// Secret bytes, in separate memory that is kept out of swap and core dumps where the system allows, and wiped when it is released.
/// No print, dump or error shows them.
public struct SecureBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is only written in the initializer, and freed by its single owner.
    private let memory: UnsafeMutableRawBufferPointer
    /// The number of bytes.
    public let count: Int
    /// True if the system has locked the memory, so that it is never written to swap.
    public let isLocked: Bool

    /// Allocates `count` bytes, which `fill` writes.
    /// - Throws: ``DatabaseError`` with ``ResultCode/outOfMemory``, or any error that `fill` throws.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let mapped = max(1, (count + page - 1) / page) * page
        guard let base = mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), base != MAP_FAILED else {
            throw DatabaseError(code: .outOfMemory, message: "no memory for \(count) secret bytes")
        }
        let memory = UnsafeMutableRawBufferPointer(start: base, count: mapped)
        let isLocked = mlock(base, mapped) == 0
        #if os(Linux)
            madvise(base, mapped, MADV_DONTDUMP)
        #endif
        // Copying leaves bytes in registers, which the next call into a library may put on the stack.
        defer { sqlcipherkit_wipe_traces() }
        do { try fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<count])) } catch {
            Self.release(memory)
            throw error
        }
        self.memory = memory
        self.count = count
        self.isLocked = isLocked
    }

    /// Copies bytes. Wiping the original is up to the caller.
    /// - Throws: ``DatabaseError`` with ``ResultCode/outOfMemory`` if there is no memory for them.
    public init(copying bytes: UnsafeRawBufferPointer) throws {
        try self.init(count: bytes.count) { memory in memory.copyMemory(from: bytes) }
    }

    deinit { Self.release(memory) }

    private static func release(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        sqlcipherkit_wipe(base, memory.count)
        munmap(base, memory.count)
    }

    /// Lends the bytes to `body`, which must not keep a copy.
    /// - Throws: any error that `body` throws, and no other.
    public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
}

extension SecureBytes {
    /// Random bytes from the system's generator, for a key: 32 bytes are a raw key (``DatabaseKey``).
    /// - Parameter count: the number of bytes, from 0 on. Default: 32.
    /// - Throws: ``DatabaseError/Reason/noRandomBytes``, or ``DatabaseError/Reason/invalidArgument`` for a negative number.
    public static func random(count: Int = 32) throws -> SecureBytes {
        guard count >= 0, count <= Int(Int32.max) else {
            throw DatabaseError.invalidArgument("from 0 to \(Int32.max) random bytes are possible, not \(count)")
        }
        return try SecureBytes(count: count) { memory in
            let rc = sqlcipherkit_random(memory.baseAddress, Int32(count))
            if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        }
    }

    /// Returns whether the bytes equal others, compared in a time that depends only on their number.
    package borrowing func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count == 0 { return true }
        return withUnsafeBytes { bytes in sqlcipherkit_equal(bytes.baseAddress, other.baseAddress, bytes.count) == 1 }
    }

    /// Returns whether both hold the same bytes, compared in a time that depends only on their number.
    package borrowing func isEqual(to other: borrowing SecureBytes) -> Bool {
        // The closure of `other` does not escape, so both are lent at once.
        other.withUnsafeBytes { bytes in isEqual(to: bytes) }
    }

    /// Holds the bytes that `read` selects from a buffer of `capacity` bytes, in memory of just their size; the buffer is wiped.
    /// - Parameter read: writes into the buffer and returns the range of the bytes to keep.
    package init(
        upTo capacity: Int, _ read: (UnsafeMutableRawBufferPointer) throws -> Range<Int>
    ) throws {
        var range = 0..<0
        let whole = try SecureBytes(count: capacity) { memory in range = try read(memory) }
        self = try whole.withUnsafeBytes { bytes in
            try SecureBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<capacity)]))
        }
    }
}

extension SecureBytes {
    /// The first `count` bytes of HMAC-SHA-512.
    package init(mac bytes: [UInt8], under key: UnsafeRawBufferPointer, count: Int) throws {
        let mac = try SecureBytes(count: Int(SQLCIPHERKIT_MAC)) { mac in
            let rc = sqlcipherkit_mac(key.baseAddress, key.count, bytes, bytes.count, mac.baseAddress)
            if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "a key could not be derived") }
        }
        self = try mac.withUnsafeBytes { mac in
            try SecureBytes(copying: UnsafeRawBufferPointer(rebasing: mac[..<min(count, mac.count)]))
        }
    }
}

/// Secret bytes with several owners, wiped when the last one releases them.
package final class SharedSecureBytes: Sendable {
    private let bytes: SecureBytes

    package init(_ bytes: consuming SecureBytes) { self.bytes = bytes }

    var count: Int { bytes.count }

    package func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try bytes.withUnsafeBytes(body)
    }
}

/// Random bytes that are not secret, such as a salt.
package func randomBytes(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let rc = sqlcipherkit_random(&bytes, Int32(count))
    if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
    return bytes
}

extension SQLCipherEngine {
    /// The number of bytes that this process has locked, nil where the system does not report it; and the number that the process
    /// may lock (`RLIMIT_MEMLOCK`), nil if there is no limit. A privileged process may lock more.
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
