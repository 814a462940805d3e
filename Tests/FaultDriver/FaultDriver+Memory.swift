import CSQLCipher
import Foundation
import SQLCipherKit

/// Uses a secret in every way, closes the objects that have used it, and then searches the memory of this process for it. The
/// closed objects are kept alive until then, as closing them must be enough to drop the keys.
///
/// The text to search for is passed in masked, and is unmasked only in the secret itself, which is wiped after it is used.
extension FaultDriver {
    static let mask: UInt8 = 0x5a

    static func runMemory(_ action: String, _ path: String, _ arguments: [String]) throws {
        let secret = bytes(arguments[0])
        let needles = arguments.dropFirst().map { argument in
            let parts = argument.split(separator: "=")
            return (name: String(parts[0]), masked: bytes(String(parts[1])))
        }
        // The search itself must find a needle that is in memory.
        let control = UnsafeMutableRawBufferPointer.allocate(byteCount: 32, alignment: 1)
        for (index, byte) in (needles.first?.masked ?? []).prefix(32).enumerated() { control[index] = byte ^ mask }
        say("control: \(found(needles).count > 0 ? "found" : "not found")")
        for index in control.indices { control[index] = 0 }
        say("cleared: \(found(needles))")
        let closed = try use(action, path, secret)
        say("closed: \(found(needles))")
        withExtendedLifetime(closed) {}
        control.deallocate()
    }

    /// Runs `body` with the unmasked secret, in memory that is wiped afterwards, like the registers that unmasking used.
    static func withClear<R>(_ masked: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let clear = UnsafeMutableRawBufferPointer.allocate(byteCount: masked.count, alignment: 1)
        for index in masked.indices { clear[index] = masked[index] ^ mask }
        sqlcipherkit_wipe_traces()
        defer {
            for index in clear.indices { clear[index] = 0 }
            clear.deallocate()
        }
        return try body(UnsafeRawBufferPointer(clear))
    }

    /// - Returns: what was closed.
    @inline(never)
    private static func use(_ action: String, _ path: String, _ masked: [UInt8]) throws -> [Any] {
        let location = DatabaseLocation.file(path)
        func work(_ db: Connection) throws {
            try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: 5000)))")
            _ = try db.fetchAll(String.self, "SELECT x FROM t")
        }
        switch action {
        case "memory-passphrase":
            let db = try Connection(location, key: withClear(masked) { try .passphrase($0, cipher: quick) })
            try work(db)
            db.close()
            // A wrong key, a failed attach and a change of key as well.
            _ = try? Connection(.file(path + ".2"), key: withClear(masked) { try .passphrase($0, cipher: quick) })
            let again = try Connection(location, key: withClear(masked) { try .passphrase($0, cipher: quick) })
            try again.attach(.file(path + ".3"), as: "other", key: withClear(masked) { try .passphrase($0, cipher: quick) })
            try again.schema("other").detach()
            try again.changeKey(to: .raw([UInt8](repeating: 7, count: 32)))
            try again.changeKey(to: withClear(masked) { try .passphrase($0) })
            try work(again)
            again.close()
            return [db, again]
        case "memory-raw":
            let db = try Connection(location, key: withClear(masked) { try .raw($0) })
            try work(db)
            db.close()
            return [db]
        case "memory-slots":
            let secret = try withClear(masked) { try KeySlots.Secret.passphrase($0) }
            var slots = try KeySlots.unlock(secret, of: location)
            let db = try Connection(location, key: .slots(slots))
            try work(db)
            try slots.add(secret, label: "again", derivation: .quick)
            try slots.changePassphrase("again", from: secret, to: .passphrase([1, 2, 3]))
            _ = try slots.addRecoveryKey(label: "safe", derivation: .quick)
            _ = try? KeySlots.unlock(.recoveryKey(KeySlots.RecoveryKey()), of: location)
            try slots.rotateKey(of: db, keeping: ["first": secret], droppingOthers: true, mode: .inPlace)
            try slots.rotateKey(of: db, keeping: ["first": secret])
            let again = try Connection(location, key: .slots(slots))
            try work(again)
            again.close()
            return [db, again]
        case "memory-recovery":
            let db = try Connection(location, key: .slots(secret: .recoveryKey(withClear(masked) { try KeySlots.RecoveryKey(utf8: $0) })))
            try work(db)
            db.close()
            return [db]
        case "memory-file":
            let db = try Connection(location, key: .provided(by: .file(path + ".key"), cipher: quick))
            try work(db)
            db.close()
            return [db]
        case "memory-environment":
            let db = try Connection(location, key: .provided(by: .environment("SQLCIPHERKIT_TEST_KEY"), cipher: quick))
            try work(db)
            db.close()
            return [db]
        case "memory-store":
            let db = try Connection(location, key: withClear(masked) { try .passphrase($0, cipher: quick) })
            let store = try KeyValueStore("settings", in: db)
            try store.set("x", to: 1)
            db.close()
            return [db, store]
        case "memory-descriptor":
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw DatabaseError(message: "no pipe") }
            let written = withClear(masked) { write(ends[1], $0.baseAddress, $0.count) }
            close(ends[1])
            guard written == masked.count else { throw DatabaseError(message: "the pipe is full") }
            let source = KeySource.fileDescriptor(ends[0])
            let db = try Connection(location, key: .provided(by: source, cipher: quick))
            try work(db)
            db.close()
            return [db, source]
        case "memory-queue":
            return try useShared(try DatabaseQueue(location, key: withClear(masked) { try .passphrase($0, cipher: quick) }), masked)
        case "memory-pool":
            return try useShared(try DatabasePool(location, key: withClear(masked) { try .passphrase($0, cipher: quick) }), masked)
        case "memory-pool-slots":
            let secret = try withClear(masked) { try KeySlots.Secret.passphrase($0) }
            return try useShared(try DatabasePool(location, key: .slots(secret: secret)), nil)
        case _ where action.hasPrefix("memory-cancelled-"):
            return try useCancelled(String(action.dropFirst("memory-cancelled-".count)), path, masked)
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }

    /// The names of the needles that are in writable memory, with the region's name.
    private static func found(_ needles: [(name: String, masked: [UInt8])]) -> [String] {
        var found: [String] = []
        let memory = open("/proc/self/mem", O_RDONLY)
        defer { close(memory) }
        let maps = regions()
        if !maps.contains("[stack]") { found.append("no stack to search") }
        let size = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
        defer { buffer.deallocate() }
        guard let base = buffer.baseAddress else { return ["no buffer"] }
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let ends = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard fields[1].hasPrefix("rw"), ends.count == 2 else { continue }
            var at = ends[0]
            while at < ends[1] {
                let count = pread(memory, base, min(size, Int(ends[1] - at)), off_t(at))
                if count <= 0 { break }
                for needle in needles where search(base, count, needle.masked) {
                    found.append("\(needle.name) in \(fields.count > 5 ? String(fields[5]) : "anonymous memory")")
                }
                // Regions overlap by more than a needle.
                at += UInt(count == size && count > 64 ? count - 64 : count)
            }
        }
        return found
    }

    /// The list of the process's memory regions. Foundation would read only one block of it, as the file's size is 0.
    private static func regions() -> String {
        let file = open("/proc/self/maps", O_RDONLY)
        defer { close(file) }
        var text: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while case let count = read(file, &block, block.count), count > 0 { text += block[..<count] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Searches for a needle by one of its bytes, which is not a secret on its own, and compares the rest masked.
    private static func search(_ base: UnsafeMutableRawPointer, _ count: Int, _ masked: [UInt8]) -> Bool {
        // Not a byte value that is frequent in memory.
        let index = masked.firstIndex { $0 ^ mask > 8 && $0 ^ mask < 0xf8 } ?? 0
        var from = index
        while from + masked.count - index <= count, let hit = memchr(base + from, Int32(masked[index] ^ mask), count - from) {
            let start = hit - base - index
            if start + masked.count > count { return false }
            var matching = 0
            while matching < masked.count, base.load(fromByteOffset: start + matching, as: UInt8.self) ^ mask == masked[matching] {
                matching += 1
            }
            if matching == masked.count { return true }
            from = start + index + 1
        }
        return false
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap { $0.hexDigitValue.map { UInt8($0) } }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
