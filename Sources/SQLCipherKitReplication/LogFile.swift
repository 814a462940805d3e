import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Reads frames of a write-ahead log, and checks them as SQLite does (<https://sqlite.org/fileformat2.html#wal_file_format>). They
/// are encrypted, and stay so.
///
/// The log may be opened separately, unlike the database: no lock is on this file.
final class LogFile {
    struct Changed: Error {}

    let pageSize: Int
    private let file: OwnFile
    private let isBigEndian: Bool
    private let salts: UInt64
    /// The position after the last frame that was read.
    private(set) var frame: UInt32
    private(set) var checksum: UInt64

    /// Opens the log of a database at a position in it.
    /// - Throws: ``Changed`` if the log has other salts or another checksum there.
    init(ofDatabaseAt path: String, at mark: LogMark, pageSize: Int) throws {
        guard let file = OwnFile.open(path + "-wal", for: .reading) else {
            if errno == ENOENT { throw Changed() }
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .cannotOpen, message: "the log of \(path) cannot be read: \(reason)")
        }
        (self.file, self.pageSize) = (file, pageSize)
        var header = [UInt8](repeating: 0, count: 32)
        let count = header.withUnsafeMutableBytes { file.read($0) }
        let values = header.withUnsafeBytes { header in
            (header.number(at: 0, as: UInt32.self), header.number(at: 16, as: UInt64.self), header.number(at: 24, as: UInt64.self))
        }
        isBigEndian = values.0 & 1 == 1
        (frame, checksum, salts) = (mark.frame, mark.checksum, mark.salts)
        guard count == 32, values.0 & ~1 == 0x377f_0682, values.1 == mark.salts else { throw Changed() }
        guard frame > 0 else {
            checksum = values.2
            return
        }
        // The checksum of the frame at the position is that of the whole log up to there.
        var last = [UInt8](repeating: 0, count: 24)
        let offset = 32 + (Int(frame) - 1) * (24 + pageSize)
        let size = last.withUnsafeMutableBytes { file.read($0, at: offset) }
        let (salts, sum) = last.withUnsafeBytes { ($0.number(at: 8, as: UInt64.self), $0.number(at: 16, as: UInt64.self)) }
        guard size == 24, salts == mark.salts, sum == mark.checksum else { throw Changed() }
    }

    /// Reads the next frames.
    /// - Parameter end: the position of the last frame to read.
    /// - Throws: ``Changed`` if they do not continue the log.
    func read(upTo count: Int, end: LogMark, _ body: (_ frame: ReplicaBlock.Frame, _ page: UnsafeRawBufferPointer) -> Void) throws {
        let count = min(count, Int(end.frame - frame)), size = 24 + pageSize
        var bytes = [UInt8](repeating: 0, count: count * size)
        let present = bytes.withUnsafeMutableBytes { file.read($0, at: 32 + Int(frame) * size) }
        guard present == bytes.count else { throw Changed() }
        try bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                let header = bytes.slice(index * size..<index * size + 24)
                let page = bytes.slice(index * size + 24..<(index + 1) * size)
                guard header.number(at: 8, as: UInt64.self) == end.salts else { throw Changed() }
                var sums = (UInt32(truncatingIfNeeded: checksum >> 32), UInt32(truncatingIfNeeded: checksum))
                add(header.slice(0..<8), to: &sums)
                add(page, to: &sums)
                checksum = UInt64(sums.0) << 32 | UInt64(sums.1)
                guard header.number(at: 16, as: UInt64.self) == checksum else { throw Changed() }
                frame += 1
                body(ReplicaBlock.Frame(page: header.number(at: 0), size: header.number(at: 4)), page)
            }
        }
        if frame == end.frame, checksum != end.checksum { throw Changed() }
    }

    private func add(_ bytes: UnsafeRawBufferPointer, to sums: inout (UInt32, UInt32)) {
        var (a, b) = sums
        for offset in stride(from: 0, to: bytes.count, by: 8) {
            let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let second = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            a = a &+ (isBigEndian ? UInt32(bigEndian: first) : UInt32(littleEndian: first)) &+ b
            b = b &+ (isBigEndian ? UInt32(bigEndian: second) : UInt32(littleEndian: second)) &+ a
        }
        sums = (a, b)
    }

    /// The number of frames up to `end` that end a commit. Reads only their headers, and checks only the salts of the log.
    func commitCount(upTo end: UInt32) throws -> Int {
        var header = [UInt8](repeating: 0, count: 8), commits = 0
        for frame in 0..<Int(end) {
            let offset = 32 + frame * (24 + pageSize)
            let count = header.withUnsafeMutableBytes { file.read($0, at: offset) }
            guard count == 8 else { throw Changed() }
            if header[4...].contains(where: { $0 != 0 }) { commits += 1 }
        }
        return commits
    }

    /// Copies one page.
    /// - Returns: false if the log has started from the beginning, and something else is there.
    func copy(_ page: UInt32, inFrame frame: UInt32, to bytes: UnsafeMutableRawBufferPointer) -> Bool {
        let offset = 32 + (Int(frame) - 1) * (24 + pageSize)
        guard file.read(bytes, at: offset + 24) == bytes.count else { return false }
        // Afterwards: a writer writes the header of a frame before its page.
        var header = [UInt8](repeating: 0, count: 16)
        guard header.withUnsafeMutableBytes({ file.read($0, at: offset) }) == 16 else { return false }
        return header.withUnsafeBytes { $0.number(at: 0, as: UInt32.self) == page && $0.number(at: 8, as: UInt64.self) == salts }
    }
}
