import Faults
import Foundation
import SQLCipherKit
import SweepScenarios

/// A process that tests may kill, limit or starve of disk space. It does one thing to one database, and prints the result.
@main
struct FaultDriver {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            guard arguments.count >= 2 else { throw DatabaseError(message: "usage: FaultDriver ACTION FILE [ARGUMENT …]") }
            try run(arguments[0], arguments[1], Array(arguments.dropFirst(2)))
            print("done")
        } catch let error as DatabaseError {
            print("error \(error.reason) \(error.code.rawValue) \(error.message)")
            exit(1)
        } catch {
            print("error \(error)")
            exit(1)
        }
    }

    static let quick = SweepScenario.quick

    private static func run(_ action: String, _ path: String, _ arguments: [String]) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(200)
        switch action {
        case "rekey":
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            for mode in [DatabaseConfiguration.JournalMode.off, .memory] where arguments.contains("journal-\(mode.rawValue)") {
                try db.main.setJournalMode(mode)
            }
            ready()
            let mode = arguments.contains("newFile") ? Schema.KeyChangeMode.newFile : .inPlace
            let key = arguments.contains("salted")
                ? try DatabaseKey.raw([UInt8](repeating: 1, count: 32), salt: [UInt8](repeating: 2, count: 16))
                : try .passphrase(arguments[1])
            // With a small cache, pages are written early, so that the file is half rewritten when the process ends itself.
            if arguments.contains("die") {
                try db.execute("PRAGMA cache_size = 10")
                try db.changeKey(to: key, mode: mode) { if $0.fractionCompleted == 1 { kill(getpid(), SIGKILL) } }
            }
            do { try db.changeKey(to: key, mode: mode) } catch {
                // A caller that ignores the error would do this next.
                do { try db.execute("INSERT INTO t VALUES ('after')") } catch { say("write refused") }
                throw error
            }
        case "start":
            // The first opening of the process, whose n-th random bytes are refused, once or for good; then the next opening.
            for length in [Fault.Length.once, .forGood] where length.rawValue == arguments[1] {
                Fault.random.choose(Int(arguments[0]) ?? 1, length)
            }
            do { _ = try Connection(.file(path), key: .passphrase("k", cipher: quick)) } catch let error as DatabaseError {
                say("\(error.reason)")
            }
            Fault.none()
            let db = try Connection(.file(path), key: .passphrase("k", cipher: quick))
            try db.execute("CREATE TABLE IF NOT EXISTS t(x)")
        case "append":
            // Prints each number once it is committed, until the first error other than a lock.
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            say("ready")
            for number in 0... {
                do {
                    try db.execute("INSERT INTO t VALUES (\(number))")
                    say("\(number)")
                    // Time for others to get the lock.
                    usleep(3000)
                } catch let error as DatabaseError {
                    if error.reason != .busy { throw error }
                }
            }
        case "defaults", "saltmask":
            try runDefaults(action, path)
        case "memory", "securememory":
            var cipher = quick
            cipher.usesMemorySecurity = action == "securememory"
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: cipher), configuration: configuration)
            let report = SQLCipherEngine.lockedMemory
            print("on", try db.main.cipher?.settings.usesMemorySecurity == true ? 1 : 0)
            print("locked", report.bytes ?? -1)
            print("limit", report.limit ?? -1)
        case "convert":
            // The keys before and after; a dash is no key.
            func side(_ text: String) throws -> DatabaseKey {
                text == "-" ? .plaintext : try .passphrase(text, cipher: quick)
            }
            let source = try side(arguments[0]), target = try side(arguments[1])
            ready()
            try DatabaseConverter.convert(fileAt: path, from: source, to: target, configuration: configuration)
        case "hold":
            // Holds a lock until it is killed.
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            try db.execute(SQL(raw: arguments[1]))
            if arguments.count > 2 { try db.execute(SQL(raw: arguments[2])) }
            say("ready")
            while true { sleep(1) }
        case "create":
            configuration.onCreate = { db in
                try db.execute("CREATE TABLE t(x)")
                for number in 0..<500 { try db.execute("INSERT INTO t VALUES (\(number))") }
                say("half")
                if arguments.contains("wait") { while true { sleep(1) } }
                for number in 500..<1000 { try db.execute("INSERT INTO t VALUES (\(number))") }
            }
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            print(try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1)
        case "fill":
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            for number in 0... { try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: 1000) + "\(number)"))") }
        case "script":
            let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            try db.execute(SQLScript(arguments[1]))
        case _ where action.hasPrefix("slots-"):
            try runSlots(action, path, arguments)
        case _ where action.hasPrefix("records-"):
            try runRecords(action, path, arguments)
        case _ where action.hasPrefix("pool-"):
            try runPool(action, path, arguments)
        case "timed-calls", "sleeping-queues", "sleeping-pools":
            try runSleeping(action, path, arguments)
        case "paths": try runPaths(path)
        case "report":
            try runReport(path, arguments)
        case "blob":
            try runBlob(path, arguments[0], megabytes: Int(arguments[1]) ?? 1)
        case _ where action.hasPrefix("backup-"):
            try runBackup(action, path, arguments)
        case "faults":
            try runFaults(path, arguments)
        case "values":
            try runValues([arguments[0], path])
        case _ where action.hasPrefix("memory-"):
            try runMemory(action, path, arguments)
        case _ where action.hasPrefix("keys-"):
            try runKeys(action, path, arguments)
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }

    /// Announces that the work begins, and waits so that the test can kill the process before it does.
    static func ready() {
        say("ready")
        usleep(20_000)
    }

    static func say(_ text: String) {
        print(text)
        fflush(nil)
    }
}
