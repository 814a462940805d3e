#if S3
    import AsyncHTTPClient
    import Foundation

    /// A store in a bucket of Amazon S3, or of another object store with its protocol and conditional writes.
    ///
    /// ```swift
    /// let store = try S3Store(bucket: "backup", prefix: "notes/", region: "eu-central-1", credentials: .standard())
    /// ```
    /// It is there with the package trait `S3`, which brings async-http-client and swift-crypto. The server must support
    /// `If-Match` and `If-None-Match` for `PUT`
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>): without them, two writers are not kept
    /// apart. Objects are at most as large as ``ReplicaOptions/objectSize``, so each is stored by one request.
    public struct S3Store: ReplicaStore {
        /// How a bucket is named in a request.
        public enum Addressing: Hashable, Sendable {
            /// In the host's name, as Amazon wants it.
            case virtualHost
            /// In the path, as most other servers want it.
            case path
        }

        /// The number of times that a request is made before its error is thrown. The pause grows up to 25 seconds. Default: 4.
        public var attempts = 4
        /// How long a request may take, with the transfer of the object. Default: 60 seconds.
        public var timeout: Duration = .seconds(60)

        let bucket: String
        let prefix: String
        let endpoint: S3Endpoint
        let signature: S3Signature
        let client: HTTPClient

        /// - Parameters:
        ///   - bucket: the bucket's name. It must exist.
        ///   - prefix: what the names of all objects begin with, such as `notes/`. Default: nothing.
        ///   - region: the region that requests are signed for.
        ///   - endpoint: the server's URL, such as `http://localhost:9000`; nil, the default, for Amazon's.
        ///   - addressing: how the bucket is named. Default: nil, in the host's name for Amazon, and in the path for others.
        ///   - credentials: what signs the requests.
        ///   - client: the HTTP client. Default: the process's shared one.
        /// - Throws: ``ReplicaStoreError/unavailable(_:)`` if the endpoint is not the URL of a server.
        public init(
            bucket: String, prefix: String = "", region: String, endpoint: String? = nil, addressing: Addressing? = nil,
            credentials: S3Credentials, client: HTTPClient = .shared
        ) throws {
            (self.bucket, self.prefix, self.client) = (bucket, prefix, client)
            self.endpoint = try S3Endpoint(
                endpoint ?? "https://s3.\(region).amazonaws.com", bucket: bucket,
                addressing ?? (endpoint == nil ? .virtualHost : .path))
            signature = S3Signature(credentials, region: region)
        }

        /// A store by its URL, with everything else from where Amazon's tools look for it: the credentials as
        /// ``S3Credentials/standard(profile:environment:)``, the region from `AWS_REGION` or `AWS_DEFAULT_REGION`, or else
        /// `us-east-1`, and the server from `AWS_ENDPOINT_URL`, or else Amazon's.
        ///
        /// ```swift
        /// let store = try S3Store("s3://backup/notes")
        /// ```
        /// - Parameters:
        ///   - url: `s3://`, the bucket, and optionally the beginning of the objects' names, to which a slash is added.
        ///   - environment: the environment variables. Default: those of the process.
        ///   - client: the HTTP client. Default: the process's shared one.
        /// - Throws: ``ReplicaStoreError/unavailable(_:)`` if the URL names no bucket, if there are no credentials, or if
        ///   `AWS_ENDPOINT_URL` is not the URL of a server.
        public init(
            _ url: String, environment: [String: String] = ProcessInfo.processInfo.environment, client: HTTPClient = .shared
        ) throws {
            let parts = url.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard url.hasPrefix("s3://"), let bucket = parts.first, !bucket.isEmpty else {
                throw ReplicaStoreError.unavailable("\(url) names no bucket: s3://BUCKET/PREFIX does")
            }
            var prefix = parts.count > 1 ? String(parts[1]) : ""
            while prefix.hasSuffix("/") { prefix.removeLast() }
            try self.init(
                bucket: String(bucket), prefix: prefix.isEmpty ? "" : prefix + "/",
                region: environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1",
                endpoint: environment["AWS_ENDPOINT_URL"], credentials: .standard(environment: environment), client: client)
        }

        public func list(prefix: String) async throws -> [ReplicaObjectInfo] {
            var objects: [ReplicaObjectInfo] = [], token: String?, pages = 0
            repeat {
                var query = [("list-type", "2"), ("prefix", self.prefix + prefix)]
                if let token { query.append(("continuation-token", token)) }
                let response = try await send("GET", "", query)
                guard response.status == 200 else { throw response.error }
                let page = S3Listing(response.bytes)
                objects += page.objects.compactMap { object in
                    guard object.name.utf8.starts(with: self.prefix.utf8) else { return nil }
                    return ReplicaObjectInfo(name: String(object.name.dropFirst(self.prefix.count)), size: object.size)
                }
                token = page.continuation
                // A page has a thousand names, but for the last one and for servers that have reasons of their own.
                pages += 1
                guard objects.count <= ReplicaObject.largestCount, pages <= 2000 else {
                    throw ReplicaStoreError.unavailable("the store lists more objects than a replica stores")
                }
            } while token != nil
            return objects
        }

        public func get(_ name: String) async throws -> ReplicaObject? {
            let response = try await send("GET", name)
            if response.status == 404 { return nil }
            guard response.status == 200, let version = response.version else { throw response.error }
            return ReplicaObject(bytes: response.bytes, version: version)
        }

        @discardableResult
        public func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
            var headers: [String: String] = [:]
            switch condition {
            case .always: break
            case .isAbsent: headers["if-none-match"] = "*"
            case .isVersion(let version): headers["if-match"] = version
            }
            let response = try await send("PUT", name, [], headers, bytes)
            // 404: there is no object that could have the version.
            if response.status == 412 || response.status == 404 && condition != .always { throw ReplicaStoreError.conditionFailed }
            guard response.status == 200, let version = response.version else { throw response.error }
            return version
        }

        public func delete(_ name: String) async throws {
            let response = try await send("DELETE", name)
            guard [200, 204, 404].contains(response.status) else { throw response.error }
        }

        // MARK: Requests

        struct Response {
            let status: Int
            /// The version of the object, if the answer names one.
            let version: String?
            let bytes: [UInt8]

            /// The status and the code in the body, which is small for an error.
            var error: ReplicaStoreError {
                let text = String(decoding: bytes.prefix(2000), as: UTF8.self)
                return .unavailable("the store answered \(status) \(S3Listing.element("Code", in: text) ?? "")")
            }

            var isTemporary: Bool { status >= 500 || status == 429 || status == 408 || status == 409 }
        }

        private func send(
            _ method: String, _ name: String, _ query: [(String, String)] = [], _ headers: [String: String] = [:],
            _ body: [UInt8]? = nil
        ) async throws -> Response {
            var attempt = 1
            while true {
                do {
                    let response = try await sendOnce(method, name, query, headers, body)
                    if !response.isTemporary || attempt >= attempts { return response }
                } catch {
                    if error is CancellationError { throw error }
                    if attempt >= attempts { throw ReplicaStoreError.unavailable("the store cannot be reached: \(error)") }
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
                    throw ReplicaStoreError.unavailable("the answer has taken longer than \(seconds) seconds")
                }
                defer { group.cancelAll() }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        }

        private func answer(to request: HTTPClientRequest, isObject: Bool, _ seconds: Int64) async throws -> Response {
            let response = try await client.execute(request, timeout: .seconds(seconds))
            // A list has a thousand names of at most a kilobyte.
            let content = try await response.body.collect(upTo: isObject ? ReplicaObject.largestSize : 16 << 20)
            if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), request.method == .GET,
                length != content.readableBytes
            { throw ReplicaStoreError.unavailable("an object was cut off") }
            return Response(
                status: Int(response.status.code), version: response.headers.first(name: "etag"),
                bytes: Array(content.readableBytesView))
        }
    }
#endif
