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
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter answer: sends parts of an answer, as long as the client takes them; returns whether the connection goes on.
    init(_ answer: @escaping @Sendable (_ send: (String) -> Bool) -> Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in(), size = socklen_t(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let listener = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { Self.serve(client, answer) }
            }
        }
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private static func serve(_ client: Int32, _ answer: (_ send: (String) -> Bool) -> Bool) {
        defer { close(client) }
        var request: [UInt8] = [], bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(client, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            request += bytes[..<count]
            guard request.suffix(4) == Array("\r\n\r\n".utf8)[...] else { continue }
            request = []
            let goesOn = answer { text in
                var rest = Array(text.utf8)[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { Foundation.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    guard count > 0 else { return false }
                    rest = rest.dropFirst(count)
                }
                return true
            }
            guard goesOn else { return }
        }
    }
}
