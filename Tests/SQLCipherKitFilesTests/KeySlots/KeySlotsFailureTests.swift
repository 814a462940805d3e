import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// A call that should have made slots and threw leaves nothing, not even the lock file that later calls wait for.
@Suite struct KeySlotsFailureTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }

    init() throws { folder = try TemporaryFolder() }

    private static func quick(_ passphrase: String) throws -> DatabaseKey { try .passphrase(passphrase, cipher: .quick) }

    private func create(
        _ existingKey: DatabaseKey? = nil, label: String = "first", progress: DatabaseProgress.Handler? = nil
    ) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(10)
        _ = try KeySlots.create(
            .passphrase("one"), label: label, for: location, existingKey: existingKey, derivation: .quick,
            configuration: configuration, progress: progress)
    }

    private func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        return Dictionary(uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: folder.path($0)) ?? Data()) })
    }

    enum Way: CaseIterable {
        case wrongKey, noKey, keyOfNothing, emptyLabel, nonsense, lockedDatabase, lockedDatabaseWithAnotherKey, wrongKindOfKey,
            stoppedRewrite
    }

    @Test(arguments: Way.allCases) func failedKeySlotCreationLeavesNoFiles(way: Way) throws {
        let key = try Self.quick("old")
        if way != .keyOfNothing, way != .nonsense { try Connection(location, key: key).execute("CREATE TABLE t(x)") }
        var other: Connection?
        switch way {
        case .nonsense: try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: path))
        case .lockedDatabase, .lockedDatabaseWithAnotherKey:
            other = try Connection(location, key: key)
            try other?.begin(.exclusive)
        default: break
        }
        let before = try contents()
        #expect(throws: DatabaseError.self) {
            switch way {
            case .wrongKey, .lockedDatabaseWithAnotherKey: try create(Self.quick("wrong"))
            case .noKey: try create()
            case .keyOfNothing, .nonsense, .lockedDatabase: try create(key)
            case .emptyLabel: try create(key, label: "")
            case .stoppedRewrite: try create(key, progress: { _ in throw DatabaseError(message: "stopped") })
            case .wrongKindOfKey: try create(.raw([UInt8](repeating: 1, count: 32)))
            }
        }
        if way == .stoppedRewrite {
            // The mark of the slots was written, and removed again.
            #expect(try contents().keys == before.keys)
            #expect(try Connection(location, key: key).main.hasTable("t"))
        } else {
            #expect(try contents() == before)
        }
        try other?.rollback()
        other?.close()
        // The next call makes what it should.
        if way == .keyOfNothing || way == .nonsense { unlink(path) }
        try create(way == .keyOfNothing || way == .nonsense ? nil : key)
        #expect(FileManager.default.fileExists(atPath: path + ".keys.lock"))
    }

    /// The lock file that a failed call removes is no longer the one that others have opened in the meantime.
    @Test func failedKeySlotCreationKeepsTheLockOfOthers() throws {
        let key = try DatabaseKey.raw([UInt8](repeating: 3, count: 32), cipher: .quick)
        for _ in 0..<(LongTests.areOn ? 100 : 10) {
            let place = try TemporaryFolder(), location = DatabaseLocation.file(place.path("a.db"))
            try Connection(location, key: key).execute("CREATE TABLE t(x)")
            let made = Lock([String]())
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                let own = thread % 2 == 0 ? key : try? DatabaseKey.raw([UInt8](repeating: 4, count: 32), cipher: .quick)
                let slots = try? KeySlots.create(
                    .passphrase("one"), label: "\(thread)", for: location, existingKey: own, derivation: .quick)
                if slots != nil { made.withLock { $0.append("\(thread)") } }
            }
            let winners = made.withLock(\.self)
            #expect(winners.count == 1)
            #expect(try KeySlots.unlock(.passphrase("one"), of: location).slots().map(\.label) == winners)
        }
    }
}
