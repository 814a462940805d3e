import Foundation
import SQLCipherKit

/// A second process that writes and is killed, interruptions, changes of the key, close and reopen.
extension SoakSite {
    /// Runs them one after the other, as a key may only be changed where no other process has the database open.
    func disturb() async throws {
        let round = random(0..<1_000_000), who = "other\(round)"
        let writer = try Writer(path, key: keyNumber, who)
        try await writer.ready()
        try await Task.sleep(for: .milliseconds(100 + random(0..<300)))
        pool.interrupt()
        let said = try await writer.kill()
        let there = try await settled { pool in
            try await pool.read { db in
                try db.fetchAll(Int.self, "SELECT number FROM t WHERE who = \(who) GROUP BY number HAVING count(*) = 2")
            }
        }
        let lost = Set(said).subtracting(there)
        expect(lost.isEmpty, "\(lost.count) of \(said.count) pairs of a process that was killed are lost")
        try await settled { pool in try await pool.write { db in try db.execute("DELETE FROM t WHERE who = \(who)") } }
        if round % 2 == 0 {
            let key = (keyNumber + 1) % 1000
            try await pool.changeKey(to: Self.key(key), mode: round % 4 == 0 ? .newFile : .inPlace)
            set(pool, key: key)
        }
        if round % 3 == 0 {
            try await pool.close()
            set(try Self.open(path, keyNumber), key: keyNumber)
        }
    }

    /// The result of a call that is made again where a disturbance got in its way.
    private func settled<R: Sendable>(_ body: (DatabasePool) async throws -> R) async throws -> R {
        for _ in 0..<100 {
            do { return try await body(pool) } catch where Self.isExpected(error) { try await Task.sleep(for: .milliseconds(20)) }
        }
        return try await body(pool)
    }
}

/// The second process: this program, started again. Prints each number once its pair is committed.
final class Writer: @unchecked Sendable {
    // Sendable: one task uses it.
    private let process = Process(), output = Pipe()

    init(_ path: String, key: Int, _ who: String) throws {
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["writer", path, "\(key)", who]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        try? output.fileHandleForWriting.close()
    }

    struct Silent: Error {}

    /// Waits for its first line.
    func ready() async throws {
        let handle = output.fileHandleForReading
        let line = await withCheckedContinuation { done in
            Thread { done.resume(returning: (try? handle.read(upToCount: 6)) ?? nil) }.start()
        }
        guard line == Data("ready\n".utf8) else { throw Silent() }
    }

    /// Kills it, and returns the numbers that it printed.
    func kill() async throws -> [Int] {
        Foundation.kill(process.processIdentifier, SIGKILL)
        let handle = output.fileHandleForReading, process = Unmanaged.passRetained(self)
        let text = await withCheckedContinuation { done in
            Thread {
                let text = (try? handle.readToEnd()) ?? nil
                process.takeUnretainedValue().process.waitUntilExit()
                process.release()
                try? handle.close()
                done.resume(returning: text)
            }.start()
        }
        return String(decoding: text ?? Data(), as: UTF8.self).split(separator: "\n").filter { $0.hasSuffix(";") }
            .compactMap { Int($0.dropLast()) }
    }

    /// The work of the process.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 4, let key = Int(arguments[2]) else { throw SoakOptions.Problem(text: "writer PATH KEY NAME") }
        let parent = getppid(), pool = try SoakSite.open(arguments[1], key)
        say("ready")
        for number in 0... {
            // The program that started it may itself have been killed.
            if getppid() != parent { return }
            usleep(1000)
            try pool.write { db in
                for half in ["a", "b"] {
                    try db.execute("INSERT INTO t VALUES (\(arguments[3]), \(number), \(half), zeroblob(3000))")
                }
            }
            say("\(number);")
        }
    }
}
