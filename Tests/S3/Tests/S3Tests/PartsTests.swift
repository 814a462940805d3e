import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import Testing

/// Objects that are stored in parts, over lines that fail.
@Suite(.enabled(if: TestServer.endpoint != nil), .timeLimit(.minutes(60))) struct PartsTests {
    private let bytes = (0..<(11 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 8 ^ $0 &* 31) }

    private static func isPart(_ request: String) -> Bool { request.hasPrefix("PUT") && request.contains("partNumber=") }
    private static func isCompletion(_ request: String) -> Bool { request.hasPrefix("POST") && request.contains("uploadId=") }
    private static func isRemoval(_ request: String) -> Bool { request.hasPrefix("DELETE") && request.contains("uploadId=") }
    private static func isUnavailable(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.reason == .storeUnavailable
    }

    @Test func largeObjectsAreStoredInParts() async throws {
        let proxy = try FaultyProxy { _ in .pass }, store = try proxy.store("parts-1/")
        defer { proxy.stop() }
        let version = try await store.put("a", bytes, if: .always)
        let object = try await store.get("a")
        #expect(object?.bytes == bytes && object?.version == version)
        #expect(try await store.list(prefix: "") == [StoredObject.Info(name: "a", size: bytes.count)])
        #expect(proxy.count(Self.isPart) == 3)
        // An object stored in parts replaces another, and is replaced.
        try await store.put("a", Array(bytes.reversed()), if: .always)
        #expect(try await store.get("a")?.bytes == bytes.reversed())
        try await store.put("a", [1], if: .always)
        #expect(try await store.get("a")?.bytes == [1])
        try await store.put("a", Array(bytes[..<(5 << 20)]), if: .always)
        #expect(proxy.count(Self.isPart) == 6)
        try await store.delete("a")
        #expect(try await store.list(prefix: "").isEmpty)
    }

    /// Each request fails first: the connection ends, the answer is lost, or the server has an error.
    @Test(arguments: 0..<3) func failedPartRequestsAreRetried(kind: Int) async throws {
        let seen = Seen()
        let proxy = try FaultyProxy { request in
            guard seen.isFirst(request.method + request.target.replacingOccurrences(of: "uploadId=", with: "")) else { return .pass }
            return [.cut, .loseAnswer, .answer(503, "<Error><Code>SlowDown</Code></Error>")][kind]
        }
        defer { proxy.stop() }
        let store = try proxy.store("parts-2-\(kind)/")
        try await store.put("a", bytes, if: .always)
        #expect(try await store.get("a")?.bytes == bytes)
        #expect(proxy.count(Self.isPart) == 6)
    }

    @Test func uploadWithLostCompletionAnswerIsFound() async throws {
        let proxy = try FaultyProxy { Self.isCompletion($0.method + " " + $0.target) ? .loseAnswer : .pass }
        defer { proxy.stop() }
        var store = try proxy.store("parts-3/")
        store.attempts = 2
        let version = try await store.put("a", bytes, if: .always)
        let object = try await store.get("a")
        #expect(object?.bytes == bytes && object?.version == version)
        #expect(proxy.count(Self.isCompletion) == 2)
    }

    /// The head of the answer is sent before it is known whether the object can be completed.
    @Test func errorBodyWithStatus200IsAnError() async throws {
        let seen = Seen()
        let proxy = try FaultyProxy { request in
            guard Self.isCompletion(request.method + " " + request.target), seen.count("complete") < 2 else { return .pass }
            return .answer(200, "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>\"ETag\"</Message></Error>")
        }
        defer { proxy.stop() }
        var store = try proxy.store("parts-4/")
        store.attempts = 1
        await #expect { try await store.put("a", bytes, if: .always) } throws: { Self.isUnavailable($0) }
        #expect(try await store.get("a") == nil)
        store.attempts = 3
        try await store.put("a", bytes, if: .always)
        #expect(try await store.get("a")?.bytes == bytes)
    }

    /// An earlier object of the same size is not taken for the object to be stored.
    @Test func formerObjectIsNotTakenForTheNewOne() async throws {
        let fails = Atomic<Bool>(false)
        let proxy = try FaultyProxy {
            fails.load(ordering: .relaxed) && Self.isCompletion($0.method + " " + $0.target) ? .answer(500, "") : .pass
        }
        defer { proxy.stop() }
        var store = try proxy.store("parts-5/")
        store.attempts = 1
        try await store.put("a", bytes, if: .always)
        fails.store(true, ordering: .relaxed)
        await #expect { try await store.put("a", Array(bytes.reversed()), if: .always) } throws: { Self.isUnavailable($0) }
        #expect(try await store.get("a")?.bytes == bytes)
    }

    @Test func partsOfAFailedUploadAreRemoved() async throws {
        let proxy = try FaultyProxy { $0.target.contains("partNumber=2") ? .cut : .pass }
        defer { proxy.stop() }
        var store = try proxy.store("parts-6/")
        store.attempts = 2
        await #expect { try await store.put("a", bytes, if: .always) } throws: { Self.isUnavailable($0) }
        #expect(proxy.count(Self.isRemoval) == 1 && proxy.count(Self.isCompletion) == 0)
        #expect(try await store.get("a") == nil)
    }

    @Test func partsOfACancelledUploadAreRemoved() async throws {
        let cancelled = Seen(), began = DispatchSemaphore(value: 0)
        let proxy = try FaultyProxy { request in
            if request.target.contains("partNumber=2"), cancelled.isFirst("") { began.signal() }
            return .pass
        }
        defer { proxy.stop() }
        let store = try proxy.store("parts-7/"), bytes = bytes
        let put = Task { try await store.put("a", bytes, if: .always) }
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                began.wait()
                put.cancel()
                done.resume()
            }
        }
        await #expect(throws: (any Error).self) { try await put.value }
        #expect(proxy.count(Self.isRemoval) == 1)
        #expect(try await store.get("a") == nil)
    }
}

/// The number of each event.
final class Seen: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// The number of times before.
    func count(_ name: String) -> Int {
        counts.withLock { counts in
            counts[name, default: 0] += 1
            return counts[name, default: 0] - 1
        }
    }

    func isFirst(_ name: String) -> Bool { count(name) == 0 }
}
