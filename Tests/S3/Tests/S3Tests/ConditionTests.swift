import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing

/// Servers that do not check conditions cannot keep two writers apart, and are refused.
@Suite(.enabled(if: TestServer.endpoint != nil), .timeLimit(.minutes(60))) struct ConditionTests {
    private static func isUnsupported(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.reason == .storeUnsupported
    }

    private func requireRefusal(_ store: S3Store) async throws {
        await #expect { try await store.put("head", [1], if: .isAbsent) } throws: { Self.isUnsupported($0) }
        await #expect { try await store.put("head", [1], if: .isVersion("\"0\"")) } throws: { Self.isUnsupported($0) }
        #expect(try await store.get("head") == nil)
        #expect(try await store.list(prefix: "").isEmpty)
        // A replica ends, and says why.
        let folder = NSTemporaryDirectory() + "s3-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let pool = try DatabasePool(.file(folder + "/a.db"), key: .raw([UInt8](repeating: 1, count: 32)))
        let replica = try await Replicator(of: pool, in: store)
        await #expect { try await replica.waitUntilStored(timeout: .seconds(60)) } throws: { Self.isUnsupported($0) }
        #expect(await replica.currentStatus.isEnded)
        #expect(try await store.list(prefix: "").isEmpty)
        // Unless it is said that there is no other writer.
        var alone = store
        alone.conditions = .client
        let second = try await Replicator(of: pool, in: alone)
        try await second.waitUntilStored(timeout: .seconds(60))
        await second.stop()
    }

    /// The server does not see the headers, so it acts like a server that does not know them.
    @Test(.enabled(if: TestServer.hasConditions), arguments: [["if-match"], ["if-none-match"], ["if-match", "if-none-match"]])
    func serverThatIgnoresConditionsIsRefused(headers: [String]) async throws {
        let proxy = try FaultyProxy { _ in .without(headers) }
        defer { proxy.stop() }
        try await requireRefusal(try proxy.store("ignored-\(headers.joined())/"))
    }

    @Test(.enabled(if: !TestServer.hasConditions)) func serverThatRefusesConditionsIsRefused() async throws {
        var store = try TestServer.store("refused/")
        store.conditions = .server
        try await requireRefusal(store)
    }

    /// An answer that is lost is no proof of anything.
    @Test(.enabled(if: TestServer.hasConditions)) func lostAnswerIsNotTakenForMissingConditions() async throws {
        let seen = Seen()
        let proxy = try FaultyProxy { seen.isFirst($0.method + $0.target + ($0.header("if-match") ?? "")) ? .loseAnswer : .pass }
        defer { proxy.stop() }
        let store = try proxy.store("bad-line/")
        // The answer to the first attempt is lost, so the second attempt finds the object there.
        #expect(try await store.put("head", [1], if: .isAbsent) == nil)
        let object = try #require(try await store.get("head"))
        #expect(object.bytes == [1])
        #expect(try await store.put("head", [2], if: .isVersion(object.version)) == nil)
        #expect(try await store.get("head")?.bytes == [2])
    }

    /// The proof is asked for once.
    @Test(.enabled(if: TestServer.hasConditions)) func conditionCheckRunsOncePerStore() async throws {
        let proxy = try FaultyProxy { _ in .pass }
        defer { proxy.stop() }
        let store = try proxy.store("once/")
        try await store.put("a", [1], if: .isAbsent)
        try await store.put("b", [1], if: .isAbsent)
        #expect(proxy.count { $0.hasSuffix("/conditions") } == 3)
        let other = try proxy.store("once/")
        try await other.put("c", [1], if: .isAbsent)
        #expect(proxy.count { $0.hasSuffix("/conditions") } == 5)
    }
}
