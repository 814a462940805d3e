import Foundation
import SQLCipherKit
import TestSupport

/// Promises 1, 5 and 6: every call in every situation that a caller can bring about from safe Swift.
extension Driver {
    func runSituations() {
        for item in cases {
            let all = Situation.all(for: item.handle).filter { !item.waits || !$0.isInside }
            let situations = LongTests.sample(4, of: all.enumerated().map { ($0.offset, $0.element) }, for: item.label)
            Isolated.run {
                Isolated.cover([1, 5, 6], item.family)
                for (_, situation) in situations {
                    for sharing in item.handle == .shared ? Subject.Sharing.allCases : [.queue] {
                        try enter(situation, item, sharing)
                    }
                }
            }
        }
    }

    private func enter(_ situation: Situation, _ item: ContractCase, _ sharing: Subject.Sharing) throws {
        Isolated.at("\(item.label) \(situation.name)\(item.handle == .shared ? ", \(sharing)" : "")")
        let trial = try self.trial(item, .passphrase, sharing)
        var calls = 0
        do {
            try situation.enter(trial) {
                calls += 1
                // A callback may come many times.
                guard calls <= 3 else { return }
                let result = Self.attempt(item, trial, observes: situation.isObservable, checks: false)
                if situation.mustThrow, !item.worksClosed, case .success(let value) = result {
                    Isolated.fail("it returned \("\(value)".prefix(100))")
                }
            }
        } catch {
            if let secret = Secrets.told(by: error) { Isolated.fail("an error tells \(secret): \(error)") }
        }
        if calls == 0 { Isolated.fail("the call was not made") }
        Self.checkUsable(trial)
    }
}

/// The acts of a caller, another thread or another process while the call is made.
struct Situation {
    let name: String
    /// True if the connection can be asked for its state right before and after the call.
    let isObservable: Bool
    let mustThrow: Bool
    /// True if a closure that holds the database makes the call.
    var isInside: Bool { name.hasPrefix("in a ") || name.hasPrefix("with the writer") }
    let enter: (_ trial: Trial, _ call: @escaping () -> Void) throws -> Void

    init(_ name: String, isObservable: Bool = true, mustThrow: Bool = false, _ enter: @escaping (Trial, @escaping () -> Void) throws -> Void) {
        (self.name, self.isObservable, self.mustThrow, self.enter) = (name, isObservable, mustThrow, enter)
    }

    static func all(for handle: ContractCase.Handle) -> [Situation] {
        switch handle {
        case .connection: connection + everywhere
        case .shared: shared + everywhere
        case .file: file + everywhere
        case .nothing: everywhere
        }
    }

    private final class Box<Value>: @unchecked Sendable {
        // Sendable: the thread that made it waits while another uses it.
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private static var everywhere: [Situation] {
        [
            Situation("twice") { _, call in call(); call() },
            Situation("in a cancelled task", isObservable: false) { _, call in
                let box = Box(call), done = DispatchSemaphore(value: 0)
                let task = Task.detached {
                    while !Task.isCancelled { await Task.yield() }
                    box.value()
                    done.signal()
                }
                task.cancel()
                done.wait()
            },
            Situation("in another thread") { _, call in
                let box = Box(call), done = DispatchSemaphore(value: 0)
                Thread { box.value(); done.signal() }.start()
                done.wait()
            },
        ]
    }

    private static var file: [Situation] {
        [
            Situation("without the file") { trial, call in
                try FileManager.default.moveItem(atPath: trial.path, toPath: trial.inFolder("away"))
                defer {
                    try? FileManager.default.removeItem(atPath: trial.path)
                    try? FileManager.default.moveItem(atPath: trial.inFolder("away"), toPath: trial.path)
                }
                call()
            },
            // SQLite leaves a file open as long as another connection of the process has a lock on it.
            Situation("while it is written", isObservable: false) { trial, call in
                let other = try trial.subject.other()
                try other.begin(.exclusive)
                call()
                try other.rollback()
            },
            Situation("while it is open") { trial, call in
                let other = try trial.subject.other()
                try other.execute("UPDATE probe SET x = x")
                call()
                other.close()
            },
            Situation("on a folder") { trial, call in
                try FileManager.default.moveItem(atPath: trial.path, toPath: trial.inFolder("away"))
                try FileManager.default.createDirectory(atPath: trial.path, withIntermediateDirectories: false)
                defer {
                    try? FileManager.default.removeItem(atPath: trial.path)
                    try? FileManager.default.moveItem(atPath: trial.inFolder("away"), toPath: trial.path)
                }
                call()
            },
            Situation("on a file of nonsense") { trial, call in
                try FileManager.default.moveItem(atPath: trial.path, toPath: trial.inFolder("away"))
                try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: trial.path))
                defer {
                    try? FileManager.default.removeItem(atPath: trial.path)
                    try? FileManager.default.moveItem(atPath: trial.inFolder("away"), toPath: trial.path)
                }
                call()
            },
        ]
    }

    private static var shared: [Situation] {
        [
            Situation("closed", isObservable: false, mustThrow: true) { trial, call in
                try trial.shared.close()
                call()
            },
            Situation("in a write", isObservable: false) { trial, call in try trial.shared.write { _ in call() } },
            Situation("in a read", isObservable: false) { trial, call in try trial.shared.read { _ in call() } },
            Situation("with the writer", isObservable: false) { trial, call in try trial.shared.writeWithoutTransaction { _ in call() } },
            Situation("in a barrier", isObservable: false) { trial, call in try trial.shared.barrierWriteWithoutTransaction { _ in call() } },
            Situation("in a row's closure", isObservable: false) { trial, call in
                try trial.shared.write { db in try db.forEach("SELECT id FROM probe") { _ in call() } }
            },
            Situation("while it is interrupted", isObservable: false) { trial, call in
                let shared = try trial.shared, stop = Box(false)
                let thread = Thread { while !stop.value { shared.interrupt(); usleep(50) } }
                thread.start()
                call()
                stop.value = true
                usleep(2000)
            },
            Situation("suspended", isObservable: false) { trial, call in
                try trial.shared.suspend()
                defer { try? trial.shared.resume() }
                let box = Box(call), done = DispatchSemaphore(value: 0)
                Thread { box.value(); done.signal() }.start()
                // Calls that wait for the end of the suspension go on then.
                if done.wait(timeout: .now() + .milliseconds(30)) == .timedOut {
                    try trial.shared.resume()
                    done.wait()
                }
            },
            Situation("while another process writes", isObservable: false) { trial, call in
                let other = try trial.subject.other()
                try other.begin(.immediate)
                call()
                try other.rollback()
            },
            Situation("in a commit hook", isObservable: false) { trial, call in
                let box = Box(call), token = try trial.shared.addCommitHook { box.value() }
                defer { token.remove() }
                try trial.shared.write { try $0.execute("UPDATE probe SET x = x") }
            },
        ]
    }

    private static var connection: [Situation] {
        [
            Situation("closed", isObservable: false, mustThrow: true) { trial, call in
                try trial.db.close()
                call()
            },
            Situation("in a transaction") { trial, call in
                try trial.db.transaction { db -> Void in
                    try db.execute("UPDATE probe SET x = x")
                    call()
                }
            },
            Situation("in a savepoint of a transaction") { trial, call in
                try trial.db.transaction { db -> Void in
                    try db.execute("UPDATE probe SET x = x")
                    try db.savepoint { _ -> Void in call() }
                }
            },
            Situation("in a transaction that only reads") { trial, call in
                try trial.db.transaction(.deferred) { db -> Void in
                    _ = try db.fetchOne(Int.self, "SELECT count(*) FROM probe")
                    call()
                }
            },
            Situation("after BEGIN") { trial, call in
                try trial.db.begin()
                defer { if (try? trial.db.isInTransaction) == true { try? trial.db.rollback() } }
                call()
            },
            Situation("in a row's closure", isObservable: false) { trial, call in
                try trial.db.forEach("SELECT id FROM probe") { _ in call() }
            },
            Situation("in a row's closure after closing", isObservable: false, mustThrow: true) { trial, call in
                let db = try trial.db
                try db.forEach("SELECT id FROM probe") { _ in
                    db.close()
                    call()
                }
            },
            Situation("in a function", isObservable: false) { trial, call in
                try trial.db.register(.function("contract_call") { () -> Int in
                    call()
                    return 1
                })
                _ = try trial.db.fetchOne(Int.self, "SELECT contract_call()")
            },
            Situation("in a collation", isObservable: false) { trial, call in
                try trial.db.register(.collation("contract_order") { a, b in
                    call()
                    return a < b ? .orderedAscending : a == b ? .orderedSame : .orderedDescending
                })
                _ = try trial.db.fetchAll(String.self, "SELECT title FROM note ORDER BY title || '' COLLATE contract_order")
            },
            Situation("in a commit hook", isObservable: false) { trial, call in
                let token = try trial.db.addCommitHook { call() }
                defer { token.remove() }
                try trial.db.execute("UPDATE probe SET x = x")
            },
            Situation("in a rollback hook", isObservable: false) { trial, call in
                let token = try trial.db.addRollbackHook { call() }
                defer { token.remove() }
                try trial.db.begin()
                try trial.db.execute("UPDATE probe SET x = x")
                try trial.db.rollback()
            },
            Situation("in an update hook", isObservable: false) { trial, call in
                let token = try trial.db.addUpdateHook { _ in call() }
                defer { token.remove() }
                try trial.db.execute("UPDATE probe SET x = x")
            },
            Situation("in a change hook", isObservable: false) { trial, call in
                let token = try trial.db.addChangeHook { _ in call() }
                defer { token.remove() }
                try trial.db.execute("UPDATE probe SET x = x")
            },
            Situation("in a trace hook", isObservable: false) { trial, call in
                let token = try trial.db.addTraceHook { _ in call() }
                defer { token.remove() }
                try trial.db.execute("UPDATE probe SET x = x")
            },
            Situation("in an authorizer", isObservable: false) { trial, call in
                try trial.db.settings.setAuthorizer { _ in
                    call()
                    return .allow
                }
                defer { try? trial.db.settings.setAuthorizer(nil) }
                _ = try trial.db.fetchOne(Int.self, "SELECT count(*) + 1 FROM probe")
            },
            Situation("in a progress handler", isObservable: false) { trial, call in
                try trial.db.settings.setProgressHandler(every: 1) {
                    call()
                    return true
                }
                defer { try? trial.db.settings.setProgressHandler(nil) }
                _ = try trial.db.fetchOne(Int.self, "SELECT count(*) FROM probe")
            },
            Situation("in a busy handler", isObservable: false) { trial, call in
                let other = try trial.subject.other()
                try other.begin(.exclusive)
                try trial.db.settings.setBusyHandler { count in
                    call()
                    return count < 1
                }
                try? trial.db.execute("UPDATE probe SET x = x")
                try trial.db.settings.setBusyHandler(nil)
                try other.rollback()
            },
            Situation("beside a cursor", isObservable: false) { trial, call in
                let cursor = try trial.db.cursor(Int.self, "SELECT id FROM probe")
                _ = try cursor.next()
                call()
                _ = try cursor.next()
                cursor.close()
            },
            Situation("beside a statement at a row", isObservable: false) { trial, call in
                let statement = try trial.db.prepare("SELECT id FROM note")
                try statement.step()
                call()
                try statement.reset()
            },
            Situation("beside an open blob", isObservable: false) { trial, call in
                let blob = try trial.schema.openBlob(table: "note", column: "title", rowID: 1)
                call()
                blob.close()
            },
            Situation("with only reading allowed", isObservable: false) { trial, call in try trial.db.withPermissions(.readOnly) { _ in call() } },
            Situation("with nothing allowed", isObservable: false) { trial, call in
                try trial.db.settings.setAuthorizer { _ in .deny }
                call()
                try trial.db.settings.setAuthorizer(nil)
            },
            Situation("after query_only") { trial, call in
                try trial.db.execute("PRAGMA query_only = ON")
                call()
            },
            Situation("while another process has locked the file", isObservable: false) { trial, call in
                let other = try trial.subject.other()
                try other.begin(.exclusive)
                call()
                try other.rollback()
            },
            Situation("while another process writes") { trial, call in
                let other = try trial.subject.other()
                try other.begin(.immediate)
                call()
                try other.rollback()
            },
            Situation("after another process has changed the schema") { trial, call in
                let other = try trial.subject.other()
                try other.execute("CREATE TABLE more(x)")
                other.close()
                call()
            },
            Situation("interrupted at its first step", isObservable: false) { trial, call in
                try trial.db.settings.setProgressHandler(every: 1) { false }
                call()
                if try trial.db.isOpen { try trial.db.settings.setProgressHandler(nil) }
            },
            Situation("with the file replaced", isObservable: false) { trial, call in
                try FileManager.default.copyItem(atPath: trial.path, toPath: trial.inFolder("copy"))
                guard rename(trial.inFolder("copy"), trial.path) == 0 else { return }
                call()
            },
        ] + Connection.Settings.Limit.allCases.flatMap { limit in
            // At the end of each of the connection's budgets, and before it.
            [0, 30].map { most in
                Situation("with \(limit) of at most \(most)", isObservable: false) { trial, call in
                    let before = try trial.db.settings.limit(limit)
                    try trial.db.settings.setLimit(limit, to: most)
                    call()
                    if try trial.db.isOpen { try trial.db.settings.setLimit(limit, to: before) }
                }
            }
        }
    }
}
