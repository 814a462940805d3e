import Foundation
import SQLCipherKitReplication
import Testing

/// Servers whose answers have no end.
@Suite(.timeLimit(.minutes(2))) struct HostileServerTests {
    private func store(_ server: EndlessServer) throws -> S3Store {
        var store = try S3Store(
            bucket: "replicas", region: "us-east-1", endpoint: "http://127.0.0.1:\(server.port)",
            credentials: S3Credentials(accessKey: "test", secretKey: "secret"))
        (store.attempts, store.timeout) = (1, .seconds(2))
        return store
    }

    private func isUnavailable(_ error: any Error) -> Bool {
        if case .unavailable? = error as? ReplicaStoreError { true } else { false }
    }

    @Test func listsWithoutEndAreRefused() async throws {
        let page = "<List><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></List>"
        let server = try EndlessServer { send in send("HTTP/1.1 200 OK\r\nContent-Length: \(page.utf8.count)\r\n\r\n" + page) }
        defer { server.stop() }
        await #expect { try await store(server).list(prefix: "") } throws: { isUnavailable($0) && "\($0)".contains("more objects") }
    }

    @Test func answersThatDripEndInTime() async throws {
        let server = try EndlessServer { send in
            guard send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1000000\r\n\r\n") else { return false }
            while send("x") { usleep(100_000) }
            return false
        }
        defer { server.stop() }
        await #expect { try await store(server).get("manifest") } throws: { isUnavailable($0) && "\($0)".contains("longer than") }
    }

    @Test func listsOfAnySizeAreNotRead() async throws {
        let part = String(repeating: "<Contents>", count: 100_000)
        let server = try EndlessServer { send in
            guard send("HTTP/1.1 200 OK\r\n\r\n") else { return false }
            while send(part) {}
            return false
        }
        defer { server.stop() }
        await #expect { try await store(server).list(prefix: "") } throws: { isUnavailable($0) }
    }
}

/// Answers each request on the loopback with the same.
private final class EndlessServer: Sendable {
    let server: LoopbackServer
    var port: UInt16 { server.port }

    /// - Parameter answer: sends parts of an answer, as long as the client takes them; returns whether the connection goes on.
    init(_ answer: @escaping @Sendable (_ send: (String) -> Bool) -> Bool) throws {
        server = try LoopbackServer { client in
            while client.readRequest() != nil, answer({ client.send(Array($0.utf8)) }) {}
        }
    }

    func stop() { server.stop() }
}
