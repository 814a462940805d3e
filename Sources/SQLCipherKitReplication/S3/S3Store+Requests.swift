#if S3
    import AsyncHTTPClient
    import Foundation
    import SQLCipherKitCore

    /// Sending signed requests, again where that may help.
    extension S3Store {
        struct Response {
            let status: Int
            /// The version of the object, if the answer names one.
            let version: String?
            /// The size of the object, and the sum that it was stored with; for `HEAD`.
            var size: Int?
            var sum: String?
            let bytes: [UInt8]

            /// The text of the first element of that name.
            func element(_ name: String) -> String? { S3Listing.element(name, in: String(decoding: bytes, as: UTF8.self)) }

            /// The status and the code in the body, as far as it is a word: what a server sends does not get into a log as it is.
            var error: DatabaseError {
                let text = String(decoding: bytes.prefix(2000), as: UTF8.self), code = S3Listing.element("Code", in: text) ?? ""
                let word = code.utf8.prefix(64).filter { (0x30...0x39).contains($0) || (0x41...0x5a).contains($0 & 0xdf) }
                let redirect = (300..<400).contains(status) ? "; it redirects, and a signed request is not sent elsewhere" : ""
                return .unavailableStore("the store answered \(status) \(String(decoding: word, as: UTF8.self))\(redirect)")
            }

            /// 501: the server does not know what was asked of it, and never will.
            var isTemporary: Bool { status >= 500 && status != 501 || status == 429 || status == 408 || status == 409 }
        }

        /// - Parameter isFinal: whether an answer is not asked for again.
        func send(
            _ method: String, _ name: String, _ query: [(String, String)] = [], _ headers: [String: String] = [:],
            _ body: [UInt8]? = nil, until isFinal: (Response) -> Bool = { !$0.isTemporary }
        ) async throws -> Response {
            var attempt = 1
            while true {
                do {
                    let response = try await sendOnce(method, name, query, headers, body)
                    if isFinal(response) || attempt >= attempts { return response }
                } catch {
                    if error is CancellationError { throw error }
                    if attempt >= attempts { throw DatabaseError.unavailableStore("the store cannot be reached: \(error)") }
                }
                // Full jitter, so that several clients do not come back at the same time.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...(100 << min(attempt, 8)))))
                attempt += 1
            }
        }

        private func sendOnce(
            _ method: String, _ name: String, _ query: [(String, String)], _ headers: [String: String], _ body: [UInt8]?
        ) async throws -> Response {
            let path = endpoint.path(name.isEmpty ? "" : prefix + name), bytes = body ?? []
            var signed = headers
            signed["host"] = endpoint.host
            signed = signature.headers(
                method, path: path, query: query, headers: signed, hash: S3Signature.hash(bytes), at: Date())
            let end = query.isEmpty ? "" : "?" + S3Signature.encoded(query)
            var request = HTTPClientRequest(url: endpoint.scheme + "://" + endpoint.host + path + end)
            request.method = .init(rawValue: method)
            for (name, value) in signed where name != "host" { request.headers.add(name: name, value: value) }
            request.headers.add(name: "host", value: endpoint.host)
            if body != nil { request.body = .bytes(bytes) }
            let seconds = max(1, timeout.bounded.components.seconds)
            // The client's own limit ends with the head of the answer.
            return try await withThrowingTaskGroup(of: Response.self) { [request] group in
                group.addTask { try await answer(to: request, isObject: !name.isEmpty, seconds) }
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    throw DatabaseError.unavailableStore("the answer has taken longer than \(seconds) seconds")
                }
                defer { group.cancelAll() }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        }

        private func answer(to request: HTTPClientRequest, isObject: Bool, _ seconds: Int64) async throws -> Response {
            let response = try await client.client.execute(request, timeout: .seconds(seconds))
            // A list has a thousand names of at most a kilobyte; other answers have a name or an error.
            let limit = request.method != .GET ? 1 << 20 : isObject ? ReplicaObject.largestSize : 16 << 20
            let content = try await response.body.collect(upTo: limit)
            if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), request.method == .GET,
                length != content.readableBytes
            { throw DatabaseError.unavailableStore("an object was cut off") }
            return Response(
                status: Int(response.status.code), version: response.headers.first(name: "etag"),
                size: response.headers.first(name: "content-length").flatMap { Int($0) },
                sum: response.headers.first(name: Self.sumHeader), bytes: Array(content.readableBytesView))
        }
    }
#endif
