import Foundation
import SQLCipherKit

/// Writes and reads a large blob in pieces, and reports the memory that this took.
extension FaultDriver {
    static func runBlob(_ path: String, _ key: String, megabytes: Int) throws {
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { try $0.execute("CREATE TABLE t(x BLOB)") }
        let db = try Connection(.file(path), key: .passphrase(key, cipher: quick), configuration: configuration)
        try db.main.setCacheSize(-4096)
        let before = peak()
        let piece = Data((0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try db.transaction { db in
            try db.execute("INSERT INTO t VALUES (\(ZeroBlob(count: megabytes * 1_000_000)))")
            let blob = try db.main.openBlob(table: "t", column: "x", rowID: 1, forWriting: true)
            while blob.position < blob.count { try blob.write(piece.prefix(blob.count - blob.position)) }
            blob.close()
        }
        let blob = try db.main.openBlob(table: "t", column: "x", rowID: 1)
        var sum = 0
        while let chunk = try blob.read(upTo: 65_536) {
            guard chunk == piece.prefix(chunk.count) else { throw DatabaseError(message: "other bytes at \(sum)") }
            sum += chunk.count
        }
        print(sum, peak() - before, terminator: " ")
    }

    /// The peak memory of the process, in KiB.
    private static func peak() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }
}
