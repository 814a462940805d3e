import CSQLCipher
import Foundation

/// Secret bytes, in separate memory that is kept out of swap and core dumps where the system allows, and wiped when it is released.
/// No print, dump or error shows them.
public struct SecureBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is only written in the initialiser, and freed by its single owner.
    private let memory: UnsafeMutableRawBufferPointer
    /// The number of bytes.
    public let count: Int
    /// Whether the system has locked the memory, so that it is never written to swap.
    public let isLocked: Bool

    /// Allocates `count` bytes, which `fill` writes.
    /// - Throws: ``DatabaseError`` with ``ResultCode/outOfMemory``, or any error that `fill` throws.
    public init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(DatabaseError) -> Void) throws(DatabaseError) {
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
        do throws(DatabaseError) { try fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<count])) } catch {
            Self.release(memory)
            throw error
        }
        self.memory = memory
        self.count = count
        self.isLocked = isLocked
    }

    /// Copies bytes. Wiping the original is up to the caller.
    public init(copying bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        try self.init(count: bytes.count) { memory throws(DatabaseError) in memory.copyMemory(from: bytes) }
    }

    deinit { Self.release(memory) }

    private static func release(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        sqlcipherkit_wipe(base, memory.count)
        munmap(base, memory.count)
    }

    /// Lends the bytes to `body`, which must not keep a copy.
    public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
}
