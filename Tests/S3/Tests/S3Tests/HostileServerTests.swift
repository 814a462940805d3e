import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization
import Testing

/// Servers whose answers have no end.
@Suite(.timeLimit(.minutes(60))) struct HostileServerTests {
    private func store(_ server: EndlessServer) throws -> S3Store {
        var store = try S3Store(
            bucket: "replicas", region: "us-east-1", endpoint: "http://127.0.0.1:\(server.port)",
            credentials: S3Credentials(accessKey: "test", secretKey: "secret"))
        (store.attempts, store.timeout) = (1, .seconds(2))
        return store
    }

    private func isUnavailable(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.reason == .storeUnavailable
    }

    @Test func endlessObjectListIsRefused() async throws {
        let page = "<List><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></List>"
        let server = try EndlessServer { send in send("HTTP/1.1 200 OK\r\nContent-Length: \(page.utf8.count)\r\n\r\n" + page) }
        defer { server.stop() }
        await #expect { try await store(server).list(prefix: "") } throws: { isUnavailable($0) && "\($0)".contains("more objects") }
    }

    @Test func slowAnswerTimesOut() async throws {
        let server = try EndlessServer { send in
            guard send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1000000\r\n\r\n") else { return false }
            while send("x") { usleep(100_000) }
            return false
        }
        defer { server.stop() }
        await #expect { try await store(server).get("head") } throws: { isUnavailable($0) && "\($0)".contains("longer than") }
    }

    /// RP9: a signed request, with its token, goes to no other host.
    @Test(arguments: [301, 302, 303, 307, 308]) func redirectsAreNotFollowed(status: Int) async throws {
        let asked = Mutex(0)
        let other = try EndlessServer { send in
            asked.withLock { $0 += 1 }
            return send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1\r\n\r\nx")
        }
        let port = other.port
        let server = try EndlessServer { send in
            send("HTTP/1.1 \(status) Moved\r\nLocation: http://127.0.0.1:\(port)/x\r\nContent-Length: 0\r\n\r\n")
        }
        defer {
            server.stop()
            other.stop()
        }
        let store = try store(server)
        await #expect { try await store.get("head") } throws: { isUnavailable($0) && "\($0)".contains("\(status)") }
        await #expect { try await store.put("head", [1], if: .always) } throws: { isUnavailable($0) }
        await #expect { try await store.delete("head") } throws: { isUnavailable($0) }
        await #expect { try await store.list(prefix: "") } throws: { isUnavailable($0) }
        #expect(asked.withLock { $0 } == 0)
    }

    /// A server's answers get into logs and onto terminals.
    @Test func serverErrorCodeIsSanitized() async throws {
        let body = "<Code>Slow\u{1b}[31mDown\n" + String(repeating: "x", count: 1000) + "</Code>"
        let server = try EndlessServer { send in
            send("HTTP/1.1 403 Forbidden\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
        }
        defer { server.stop() }
        await #expect { try await store(server).get("head") } throws: { error in
            let text = "\(error)"
            return text.contains("403 Slow31mDown") && text.utf8.count < 200 && text.utf8.allSatisfy { $0 >= 0x20 }
        }
    }

    @Test func oversizedListPageIsRefused() async throws {
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
