import Foundation
import SQLCipherKitReplication
import Synchronization

/// Stands between a store and the test server, and treats each request as a test wants.
final class FaultyProxy: Sendable {
    enum Action: Sendable {
        case pass
        /// The server does it, and the client gets no answer.
        case loseAnswer
        /// The connection ends, and the server does nothing.
        case cut
        /// The client gets this, and the server does nothing.
        case answer(Int, String)
        /// The server does not see these headers.
        case without([String])
    }

    private let server: LoopbackServer
    private let record: Requests

    /// The requests so far, as a method and a target each.
    private final class Requests: Sendable {
        let list = Mutex<[String]>([])
    }

    init(_ decide: @escaping @Sendable (LoopbackRequest) -> Action) throws {
        let record = Requests(), port = TestServer.port
        self.record = record
        server = try LoopbackServer { client in
            while var request = client.readRequest() {
                record.list.withLock { $0.append(request.method + " " + request.target) }
                let action = decide(request)
                switch action {
                case .cut: return
                case .answer(let status, let text):
                    let head = "HTTP/1.1 \(status) Injected\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
                    if !client.send(Array((head + text).utf8)) { return }
                    continue
                case .without(let names): for name in names { request.remove(name) }
                case .pass, .loseAnswer: break
                }
                request.remove("connection")
                request.lines.append("Connection: close")
                guard let upstream = LoopbackConnection.to(port) else { return }
                defer { close(upstream.descriptor) }
                guard upstream.send(request.bytes) else { return }
                var isOpen = true
                while case let bytes = upstream.receive(), !bytes.isEmpty {
                    if case .loseAnswer = action { continue }
                    isOpen = isOpen && client.send(bytes)
                }
                return
            }
        }
    }

    func stop() { server.stop() }

    func count(_ isMeant: (String) -> Bool) -> Int { record.list.withLock { $0.count(where: isMeant) } }

    /// A store that reaches the test server through the proxy.
    func store(_ prefix: String) throws -> S3Store {
        var store = try TestServer.store(prefix, at: "http://127.0.0.1:\(server.port)")
        store.timeout = .seconds(20)
        store.partSize = 5 << 20
        return store
    }
}
