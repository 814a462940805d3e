import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// The log belongs to the process, so these tests run one after another, and hear of other tests' errors.
@Suite(.serialized) struct LoggingTests {
    private final class Messages: Sendable {
        private let list = Lock<[LogMessage]>([])
        var all: [LogMessage] { list.withLock { $0 } }
        func add(_ message: LogMessage) { list.withLock { $0.append(message) } }
    }

    @Test func loggerReceivesSQLiteAndSQLCipherMessages() throws {
        let folder = try TemporaryFolder()
        let messages = Messages()
        try SQLCipherEngine.setLogger(minimumLevel: .debug) { messages.add($0) }
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("right").quick)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT * FROM table_for_the_log") }
        #expect(throws: DatabaseError.self) {
            try Connection(.file(folder.path("a.db")), key: .passphrase("wrong").quick)
        }
        try SQLCipherEngine.setLogger(nil)
        let all = messages.all
        #expect(all.contains { $0.code != nil && $0.level == .error && $0.code == .error && $0.text.contains("table_for_the_log") })
        #expect(all.contains { $0.code == nil && $0.level == .error })
        #expect(all.contains { $0.code == nil && $0.level == .debug })
        #expect(throws: DatabaseError.self) { try db.execute("SELECT * FROM table_behind_the_log") }
        #expect(!messages.all.contains { $0.text.contains("table_behind_the_log") })
    }

    @Test func loggerReceivesOnlyMessagesAtMinimumLevelOrAbove() throws {
        let messages = Messages()
        try SQLCipherEngine.setLogger(minimumLevel: .error) { messages.add($0) }
        let db = try Connection(.memory, key: .passphrase("k").quick)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT no_such_thing") }
        try SQLCipherEngine.setLogger(nil)
        #expect(!messages.all.isEmpty)
        #expect(messages.all.allSatisfy { $0.level == .error })
    }

    @Test func logMessagesContainNoKey() throws {
        let folder = try TemporaryFolder()
        let messages = Messages()
        try SQLCipherEngine.setLogger(minimumLevel: .trace) { messages.add($0) }
        let db = try Connection(.memory)
        for sql in [
            "PRAGMA key = x'70617373_hunter2", "PRAGMA key = 'hunter2' 'hunter2'", "PRAGMA hexkey = 'hunter2'", "PRAGMA key = hunter2",
            "ATTACH '/no/such/folder/hunt.db' AS a KEY 'hunter2'", "ATTACH 'x' AS a KEY hunter2", "ATTACH 'x' AS a KEY 'hunter2",
            "ATTACH 'file:/no/such/x.db?key=hunter2' AS a", "PRAGMA cipher_add_random = \"hunter2\"",
        ] {
            let error = #expect(throws: (any Error).self, performing: {
                try db.execute(SQL(raw: sql))
                throw CancellationError()
            })
            #expect(error.map { !"\($0)".contains("hunter2") } == true)
        }
        _ = try Connection(.file(folder.path("a.db")), key: .passphrase("hunter2").quick)
        try SQLCipherEngine.setLogger(nil)
        #expect(!messages.all.isEmpty)
        #expect(!messages.all.contains { $0.text.contains("hunter2") })
    }
}
