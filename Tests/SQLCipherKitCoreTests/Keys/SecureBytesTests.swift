import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct SecureBytesTests {
    private func bytes(_ array: [UInt8]) throws -> SecureBytes {
        try SecureBytes(count: array.count) { $0.copyBytes(from: array) }
    }

    @Test(arguments: [0, 1, 32, 4095, 4096, 4097, 100_000]) func secureBytesReturnTheirBytes(count: Int) throws {
        let array = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let secret = try bytes(array)
        #expect(secret.count == count)
        let read = secret.withUnsafeBytes { Array($0) }
        #expect(read == array)
    }

    /// Each call draws other bytes, as many as asked for, of all values.
    @Test func secureRandomBytesDifferOnEachCall() throws {
        func draw(_ count: Int) throws -> [UInt8] {
            let random = try SecureBytes.random(count: count)
            return random.withUnsafeBytes { Array($0) }
        }
        #expect(try [0, 1, 32, 5000].map { try draw($0).count } == [0, 1, 32, 5000])
        let usual = try SecureBytes.random()
        let count = usual.count
        #expect(count == 32)
        #expect(try Set((0..<100).map { _ in try draw(16) }).count == 100)
        #expect(try Set(draw(20_000)).count == 256)
        for count in [-1, Int.max] {
            let error = #expect(throws: DatabaseError.self) { _ = try draw(count) }
            #expect(error?.reason == .invalidArgument)
        }
    }

    @Test func secureBytesCompareByContent() throws {
        let a = try bytes([1, 2, 3]), same = try bytes([1, 2, 3]), longer = try bytes([1, 2, 3, 4]), other = try bytes([1, 2, 4])
        let empty = try bytes([]), alsoEmpty = try bytes([])
        let results = [
            a.isEqual(to: same), a.isEqual(to: longer), longer.isEqual(to: a), a.isEqual(to: other), empty.isEqual(to: alsoEmpty),
            a.isEqual(to: empty), [UInt8]([1, 2, 3]).withUnsafeBytes { a.isEqual(to: $0) },
        ]
        #expect(results == [true, false, false, false, true, false, true])
    }

    @Test func secureBytesInitializerErrorReachesTheCaller() throws {
        let error = #expect(throws: DatabaseError.self) {
            _ = try SecureBytes(count: 10) { _ in throw DatabaseError(message: "no") }
        }
        #expect(error?.message == "no")
    }

    #if os(Linux)
        /// The kernel's account of the memory (proc(5), smaps): locked, and not in core dumps.
        @Test func secureBytesAreLockedAndExcludedFromCoreDumps() throws {
            let secret = try bytes([UInt8](repeating: 1, count: 5000))
            let address = secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            let flags = try #require(try flags(at: address))
            #expect(flags.contains("dd"))
            let isLocked = secret.isLocked
            #expect(isLocked == flags.contains("lo"))
            // Far under the limit, locking must have worked.
            let limit = Int(try Command.run("sh", ["-c", "ulimit -l"]).output.trimmingCharacters(in: .newlines)) ?? Int.max
            if limit >= 1024 { #expect(isLocked) }
            // Other memory of the process is neither.
            let array = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 22, alignment: 4096)
            defer { array.deallocate() }
            let others = try #require(try self.flags(at: UInt(bitPattern: array.baseAddress)))
            #expect(!others.contains("dd") && !others.contains("lo"))
        }

        private func flags(at address: UInt) throws -> [Substring]? {
            var isHere = false
            let smaps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps")).readToEnd() ?? Data()
            for line in String(decoding: smaps, as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ", omittingEmptySubsequences: true)
                let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                if ends.count == 2 { isHere = (ends[0]..<ends[1]).contains(address) }
                if isHere, fields[0] == "VmFlags:" { return Array(fields.dropFirst()) }
            }
            return nil
        }
    #endif
}
