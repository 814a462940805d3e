import Foundation
import Hummingbird
import HummingbirdTesting
@testable import SearchServerKit

/// Requests as a client of the server makes them.
struct NotesClient: Sendable {
    private let send: @Sendable (String, HTTPRequest.Method, ByteBuffer?) async throws -> (HTTPResponse, ByteBuffer)

    init(_ client: any TestClientProtocol) {
        send = { uri, method, body in try await client.execute(uri: uri, method: method, body: body) { ($0.head, $0.body) } }
    }

    init(_ client: TestClient) {
        send = { uri, method, body in
            let response = try await client.execute(.init(uri, method: method, body: body))
            return (response.head, response.body ?? ByteBuffer())
        }
    }

    struct UnexpectedStatus: Error {
        let status: Int
        let body: String
    }

    func status(_ uri: String, _ method: HTTPRequest.Method = .get, _ body: String? = nil) async throws -> (Int, String) {
        let (head, body) = try await send(uri, method, body.map { ByteBuffer(string: $0) })
        return (head.status.code, String(buffer: body))
    }

    func get<T: Decodable>(_ uri: String, as type: T.Type) async throws -> T {
        let (head, body) = try await send(uri, .get, nil)
        guard head.status == .ok else { throw UnexpectedStatus(status: head.status.code, body: String(buffer: body)) }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: body)
    }

    /// - Returns: the path of the note.
    @discardableResult
    func add(_ title: String, _ body: String, isStored: Bool = false) async throws -> String {
        let json = try JSONEncoder().encode(["title": title, "body": body])
        let (head, body) = try await send(isStored ? "/notes?stored=true" : "/notes", .post, ByteBuffer(bytes: json))
        guard head.status == .created else { throw UnexpectedStatus(status: head.status.code, body: String(buffer: body)) }
        return head.headerFields[.location] ?? ""
    }

    /// The titles of the notes found, with marks.
    func titles(_ words: String) async throws -> [String] {
        let text = words.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try await get("/search?q=\(text)&limit=100", as: SearchResult.self).hits.map(\.title)
    }
}
