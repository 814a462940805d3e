import Foundation
import SQLCipherKit

/// Pools in a process that is killed, or that forks.
extension FaultDriver {
    private static func writeShares(in database: some DatabaseWriter, _ arguments: [String]) throws {
        let pause = UInt32(arguments[3]) ?? 0, length = arguments.count > 4 ? UInt32(arguments[4]) ?? 0 : 0
        let clock = ContinuousClock()
        // Another connection may have the lock for writing.
        if try !database.read({ db in try db.main.hasTable("t") }) {
            try database.write { db in try db.execute("CREATE TABLE IF NOT EXISTS t(who, number, half, padding)") }
        }
        say("ready")
        let end = clock.now + .milliseconds(Int(arguments[2]) ?? 0)
        var waits: [Duration] = [], busy = 0
        while clock.now < end {
            let start = clock.now
            do {
                try database.write { db in
                    try db.execute("INSERT INTO t VALUES (\(arguments[1]), \(waits.count), 'a', zeroblob(100))")
                    if length > 0 { usleep(length) }
                }
            } catch let error as DatabaseError where error.reason == .busy {
                busy += 1
            }
            waits.append(clock.now - start)
            if pause > 0 { usleep(pause) }
        }
        waits.sort()
        let times = [waits[waits.count / 2], waits[waits.count * 99 / 100], waits.last ?? .zero].map { "\($0 / .milliseconds(1))" }
        say("\(waits.count - busy) \(busy) \(times.joined(separator: " "))")
    }

    static func runPool(_ action: String, _ path: String, _ arguments: [String]) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = action.hasPrefix("pool-shares") ? .seconds(5) : .seconds(20)
        // A small value, so that a kill often comes during a checkpoint.
        configuration.pool.checkpointSize = 40_000
        configuration.pool.maximumWALSize = 200_000
        if action == "pool-shares-by-queue" {
            // The same in the journal mode that the file has.
            let queue = try DatabaseQueue(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
            return try writeShares(in: queue, arguments)
        }
        let pool = try DatabasePool(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
        switch action {
        case "pool-append":
            // Prints each pair of numbers once it is committed, until the process is killed or its pipe is closed. Lets other
            // processes write in between.
            let parent = getppid()
            say("ready")
            for number in 0... {
                if getppid() != parent { return }
                usleep(1000)
                try pool.write { db in
                    for half in ["a", "b"] { try db.execute("INSERT INTO t VALUES (\(arguments[1]), \(number), \(half), zeroblob(3000))") }
                }
                say("\(number);")
            }
        case "pool-shares":
            // Writes rows for some milliseconds, with a pause in microseconds between two transactions, each of which takes some
            // microseconds longer, if the last argument says so. Prints how many, how many failed as busy, and of the calls' times
            // the median, the 99th percentile and the longest, in milliseconds.
            try writeShares(in: pool, arguments)
        case "pool-exit":
            // Exits normally after some microseconds, in the middle of another thread's commits.
            let begun = DispatchSemaphore(value: 0)
            let writer = Thread {
                for number in 0... {
                    try? pool.write { db in
                        for _ in 0..<20 { try db.execute("INSERT INTO t VALUES (\(arguments[1]), \(number), 'c', randomblob(3000))") }
                    }
                    if number == 3 { begun.signal() }
                }
            }
            writer.start()
            begun.wait()
            usleep(UInt32(arguments[1]) ?? 0)
            exit(0)
        case "pool-descriptors":
            try runWithoutDescriptors(pool)
        case "pool-fork":
            try runFork(pool, path, configuration)
        case "pool-rekey":
            try runRekey(pool, to: .passphrase(arguments[1], cipher: quick), vanishing: arguments.contains("vanish") ? path : nil)
        case "pool-short-reads":
            try runShortReads(pool)
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }

    /// Changes the key where that may fail, and prints the errors of callers and observers.
    /// - Parameter path: a file that is unlinked meanwhile.
    private static func runRekey(_ pool: DatabasePool, to key: DatabaseKey, vanishing path: String?) throws {
        let begun = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
        Task {
            do {
                for try await _ in pool.observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }) { begun.signal() }
                say("observation ended")
            } catch let error as DatabaseError { say("observation \(error.reason)") }
            ended.signal()
        }
        begun.wait()
        do { try pool.changeKey(to: key) { _ in if let path { rename(path, path + "-away") } } } catch let error as DatabaseError {
            say("changeKey \(error.reason) \(error.workingKey.map { "\($0)" } ?? "")")
            say("open \(pool.isOpen)")
            if !pool.isOpen { ended.wait() }
            for isWrite in [false, true] {
                do {
                    let body = { (db: Connection) in _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
                    try isWrite ? pool.write(body) : pool.read(body)
                    say("call went on")
                } catch let error as DatabaseError { say("call \(error.reason): \(error.message)") }
            }
        }
    }

    /// Prints how many of many short reads ran on the thread that called them.
    private static func runShortReads(_ pool: DatabasePool) throws {
        let ended = DispatchSemaphore(value: 0)
        Task {
            var count = 0
            for _ in 0..<2000 {
                let thread = currentThread()
                if try await pool.read({ _ in currentThread() == thread }) { count += 1 }
            }
            say("at once \(count)")
            ended.signal()
        }
        ended.wait()
    }

    private static func currentThread() -> UInt { UInt(pthread_self()) }

    /// Forks with everything open and in the middle of a transaction; the child uses all of it.
    private static func runFork(_ pool: DatabasePool, _ path: String, _ configuration: DatabaseConfiguration) throws {
        let queuePath = path + "-queue"
        var queue: DatabaseQueue? = try DatabaseQueue(.file(queuePath), key: .passphrase("q", cipher: quick), configuration: configuration)
        var lone: Connection? = try Connection(.file(path + "-lone"), key: .passphrase("l", cipher: quick), configuration: configuration)
        var owned: DatabasePool? = try DatabasePool(.file(path + "-owned"), key: .passphrase("o", cipher: quick), configuration: configuration)
        try owned?.write { db in try db.execute("CREATE TABLE t(x)") }
        try owned?.read { db in _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
        try queue?.write { db in try db.execute("CREATE TABLE t(x)") }
        try lone?.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)"))
        // A rollback journal that the child must not play back.
        try lone?.begin()
        try lone?.execute("PRAGMA cache_size = 1")
        for _ in 0..<50 { try lone?.execute("INSERT INTO t VALUES (zeroblob(3000))") }
        var statement = try lone?.prepare("SELECT x FROM t")
        try statement?.step()
        // The pool's writer is in a transaction, and all of its readers have been opened.
        try pool.write { db in
            try db.execute("INSERT INTO t VALUES ('fork', 1, 'a', NULL)")
            let child = forkNow()
            if child == 0 {
                var wrong = 0
                func expectForked(_ what: String, _ body: () throws -> Void) {
                    do {
                        try body()
                        wrong += 1
                        say("\(what): no error")
                    } catch let error as DatabaseError where error.reason == .usedAfterFork {} catch {
                        wrong += 1
                        say("\(what): \(error)")
                    }
                }
                expectForked("pool.read") { _ = try pool.read { db in db.isOpen } }
                expectForked("pool.write") { _ = try pool.write { db in db.isOpen } }
                expectForked("lent connection") { try db.execute("INSERT INTO t VALUES ('child', 1, 'a', NULL)") }
                expectForked("commit") { try db.commit() }
                expectForked("owned.read") { _ = try owned?.read { db in db.isOpen } }
                expectForked("queue") { _ = try queue?.write { db in db.isOpen } }
                expectForked("connection") { try lone?.execute("SELECT 1") }
                expectForked("rollback") { try lone?.rollback() }
                expectForked("statement") { _ = try statement?.step() }
                expectForked("interrupt") { _ = try lone?.interruptHandle }
                try? pool.close()
                try? queue?.close()
                lone?.close()
                (statement, lone, owned, queue) = (nil, nil, nil, nil)
                // The child's own connection sees that the parent writes, and does not wait forever.
                do {
                    var impatient = configuration
                    impatient.busyTimeout = .milliseconds(50)
                    let own = try Connection(.file(path), key: .passphrase("k", cipher: quick), configuration: impatient)
                    if try own.fetchOne(Int.self, "SELECT count(*) FROM t WHERE who IN ('fork', 'child')") != 0 { wrong += 1 }
                    do {
                        try own.execute("INSERT INTO t VALUES ('child', 1, 'a', NULL)")
                        wrong += 1
                        say("the child wrote during the parent's transaction")
                    } catch let error as DatabaseError where error.reason == .busy {}
                    own.close()
                } catch {
                    wrong += 1
                    say("own: \(error)")
                }
                _exit(wrong == 0 ? 0 : 1)
            }
            var status: Int32 = -1
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            say("child \(status)")
            try db.execute("INSERT INTO t VALUES ('fork', 1, 'b', NULL)")
        }
        // The parent continues with everything.
        while try statement?.step() == true {}
        try lone?.commit()
        try owned?.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        try queue?.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        let all: SQL = "SELECT count(*) FROM t"
        let pooled: Int? = try pool.read { db in try db.fetchOne("SELECT count(*) FROM t WHERE who = 'fork'") }
        let inOwned: Int? = try owned?.read { db in try db.fetchOne(all) }
        let inQueue: Int? = try queue?.read { db in try db.fetchOne(all) }
        let inLone: Int? = try lone?.fetchOne(all)
        for (what, count) in [("pool", pooled), ("owned", inOwned), ("queue", inQueue), ("lone", inLone)] {
            say("\(what) \(count ?? -1)")
        }
        try runForkWhileReading(path + "-queue", configuration)
    }

    /// A child's own reader of a file that the parent reads too: it must take its own lock, and not rely on the parent's.
    private static func runForkWhileReading(_ path: String, _ configuration: DatabaseConfiguration) throws {
        var impatient = configuration
        impatient.busyTimeout = .milliseconds(50)
        let parent = try Connection(.file(path), key: .passphrase("q", cipher: quick), configuration: impatient)
        let reading = try parent.prepare("SELECT x FROM t")
        try reading.step()
        var toChild: [Int32] = [0, 0], toParent: [Int32] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&toParent) == 0 else { throw DatabaseError(message: "no pipe") }
        let child = forkNow()
        if child == 0 {
            var byte: UInt8 = 0
            do {
                let own = try Connection(.file(path), key: .passphrase("q", cipher: quick), configuration: impatient)
                let statement = try own.prepare("SELECT x FROM t")
                try statement.step()
                write(toParent[1], &byte, 1)
                read(toChild[0], &byte, 1)
                try statement.reset()
                _exit(0)
            } catch { _exit(1) }
        }
        var byte: UInt8 = 0
        read(toParent[0], &byte, 1)
        try reading.reset()
        do {
            try parent.execute("INSERT INTO t VALUES (2)")
            say("wrote under the child's reading")
        } catch let error as DatabaseError {
            say("while the child reads: \(error.reason)")
        }
        write(toChild[1], &byte, 1)
        var status: Int32 = -1
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        try parent.execute("INSERT INTO t VALUES (2)")
        say("reader \(status)")
    }

    /// Calls `fork`, which Swift marks as unavailable, for good reasons.
    private static func forkNow() -> pid_t {
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork") else { return -1 }
        return unsafeBitCast(symbol, to: Fork.self)()
    }
}
