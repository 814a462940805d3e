#if S3
    import AsyncHTTPClient
    import Foundation
    import SQLCipherKitCore

    /// A store in a bucket of Amazon S3, or of another object store with its protocol and conditional writes.
    ///
    /// ```swift
    /// let store = try S3Store(bucket: "backup", prefix: "notes/", region: "eu-central-1", credentials: .standard())
    /// ```
    /// It requires the package trait `S3`, which brings async-http-client and swift-crypto. The server must support
    /// `If-Match` and `If-None-Match` for `PUT`
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>), or there must never be two writers: see
    /// ``conditions``. An object larger than ``partSize`` is stored in parts.
    public struct S3Store: ObjectStore {
        /// The place of the bucket's name in a request.
        public enum Addressing: Hashable, Sendable {
            /// In the host's name, as Amazon requires.
            case virtualHost
            /// In the path, as most other servers require.
            case path
        }

        /// The number of times that a request is made before its error is thrown. The pauses between the requests grow up to 25
        /// seconds. Default: 4.
        public var attempts = 4
        /// The maximum time of a request, including the transfer of the object or of its part. Default: 60 seconds.
        public var timeout: Duration = .seconds(60)
        /// The size in bytes of the parts of a larger object, at least 5 MiB
        /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>). If a part fails, only that part is sent again.
        /// Default: 16 MiB.
        public var partSize = 16 << 20
        /// The side that checks the condition under which an object is stored. Default: the server.
        public var conditions = Conditions.server

        let bucket: String
        let prefix: String
        let endpoint: S3Endpoint
        let signature: S3Signature
        let client: S3Client
        let proof = ConditionsProof()

        /// Creates a store in a bucket.
        /// - Parameters:
        ///   - bucket: the bucket's name. It must exist.
        ///   - prefix: the beginning of the names of all objects, such as `notes/`. Default: empty.
        ///   - region: the region that requests are signed for.
        ///   - endpoint: the server's URL, such as `http://localhost:9000`; nil, the default, for Amazon's.
        ///   - addressing: how the bucket is named. Default: nil, in the host's name for Amazon, and in the path for others.
        ///   - credentials: the keys that sign the requests.
        ///   - configuration: how the server is reached, such as a proxy. Default: nil, for one client that all stores share.
        ///     Redirects are never followed, because they would send the signature and the data to another server.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if the endpoint is not the URL of a server.
        public init(
            bucket: String, prefix: String = "", region: String, endpoint: String? = nil, addressing: Addressing? = nil,
            credentials: S3Credentials, configuration: HTTPClient.Configuration? = nil
        ) throws {
            (self.bucket, self.prefix, client) = (bucket, prefix, configuration.map { S3Client($0) } ?? .shared)
            self.endpoint = try S3Endpoint(
                endpoint ?? "https://s3.\(region).amazonaws.com", bucket: bucket,
                addressing ?? (endpoint == nil ? .virtualHost : .path))
            signature = S3Signature(credentials, region: region)
        }

        /// Opens the store at a URL. All other settings come from the places where Amazon's tools look: the credentials from
        /// ``S3Credentials/standard(profile:environment:)``, the region from `AWS_REGION` or `AWS_DEFAULT_REGION`, or else
        /// `us-east-1`, and the server from `AWS_ENDPOINT_URL`, or else Amazon's.
        ///
        /// ```swift
        /// let store = try S3Store("s3://backup/notes")
        /// ```
        /// - Parameters:
        ///   - url: `s3://`, the bucket, and optionally the beginning of the objects' names, to which a slash is added.
        ///   - environment: the environment variables. Default: the variables of the process.
        ///   - configuration: how the server is reached, as for
        ///     ``init(bucket:prefix:region:endpoint:addressing:credentials:configuration:)``.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if the URL names no bucket, if there are no credentials, or if
        ///   `AWS_ENDPOINT_URL` is not the URL of a server.
        public init(
            _ url: String, environment: [String: String] = ProcessInfo.processInfo.environment,
            configuration: HTTPClient.Configuration? = nil
        ) throws {
            let parts = url.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard url.hasPrefix("s3://"), let bucket = parts.first, !bucket.isEmpty else {
                throw DatabaseError.unavailableStore("\(url) names no bucket: use the form s3://BUCKET/PREFIX")
            }
            var prefix = parts.count > 1 ? String(parts[1]) : ""
            while prefix.hasSuffix("/") { prefix.removeLast() }
            try self.init(
                bucket: String(bucket), prefix: prefix.isEmpty ? "" : prefix + "/",
                region: environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1",
                endpoint: environment["AWS_ENDPOINT_URL"], credentials: .standard(environment: environment),
                configuration: configuration)
        }

        /// Lists the objects of the bucket below the store's prefix, up to a thousand for each request.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` with the server's status and code, if the server cannot be reached
        ///   in ``attempts`` attempts, or for more than 1,048,576 objects; `CancellationError` when the task is cancelled.
        public func list(prefix: String) async throws -> [StoredObject.Info] {
            var objects: [StoredObject.Info] = [], token: String?, pages = 0
            repeat {
                var query = [("list-type", "2"), ("prefix", self.prefix + prefix)]
                if let token { query.append(("continuation-token", token)) }
                let response = try await send("GET", "", query)
                guard response.status == 200 else { throw response.error }
                let page = S3Listing(response.bytes)
                objects += page.objects.compactMap { object in
                    guard object.name.utf8.starts(with: self.prefix.utf8) else { return nil }
                    let name = String(object.name.dropFirst(self.prefix.count))
                    return name == ConditionsProof.name ? nil : StoredObject.Info(name: name, size: object.size)
                }
                token = page.continuation
                // A page has a thousand names, except the last page, and pages of some servers.
                pages += 1
                guard objects.count <= StoredObject.largestCount, pages <= 2000 else {
                    throw DatabaseError.unavailableStore("the store lists more objects than a replica stores")
                }
            } while token != nil
            return objects
        }

        /// Reads an object; nil if the server answers 404.
        /// - Throws: the errors of ``list(prefix:)``.
        public func get(_ name: String) async throws -> StoredObject? {
            let response = try await send("GET", name)
            if response.status == 404 { return nil }
            guard response.status == 200, let version = response.version else { throw response.error }
            return StoredObject(bytes: response.bytes, version: version)
        }

        /// Stores an object. Without a condition, an object larger than ``partSize`` is stored in parts.
        /// - Throws: the errors of ``list(prefix:)``; ``DatabaseError/Reason/storeUnsupported`` if the server ignores a condition
        ///   (see ``conditions``).
        @discardableResult
        public func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
            guard condition == .always else { return try await putConditionally(name, bytes, condition) }
            if bytes.count > usedPartSize { return try await putParts(name, bytes) }
            return try await putWhole(name, bytes)
        }

        /// Stores an object by one request.
        func putWhole(_ name: String, _ bytes: [UInt8]) async throws -> String {
            let response = try await send("PUT", name, [], [:], bytes)
            guard response.status == 200, let version = response.version else { throw response.error }
            return version
        }

        /// Removes an object.
        /// - Throws: the errors of ``list(prefix:)``.
        public func delete(_ name: String) async throws {
            let response = try await send("DELETE", name)
            guard [200, 204, 404].contains(response.status) else { throw response.error }
        }
    }

    /// An HTTP client that follows no redirects: a signed request is for the server that it names, and for no other.
    final class S3Client: Sendable {
        static let shared = S3Client(HTTPClient.Configuration())
        let client: HTTPClient

        init(_ configuration: HTTPClient.Configuration) {
            var configuration = configuration
            configuration.redirectConfiguration = .disallow
            client = HTTPClient(configuration: configuration)
        }

        deinit { client.shutdown { _ in } }
    }
#endif

#if S3
    import SQLCipherKitCore
    import Synchronization

    extension S3Store {
        /// The side that checks the condition under which an object is stored. The check keeps two writers apart.
        public enum Conditions: Hashable, Sendable {
            /// The server checks the condition while it stores the object. Before the first object with a condition, the store
            /// tests the server with two requests that it must refuse. If the server accepts either, the call throws
            /// ``DatabaseError/Reason/storeUnsupported``, and your object is not stored.
            case server
            /// The store checks the condition: it asks for the current version before it stores the object. Use this case for
            /// servers without conditional writes, such as OpenStack Swift. A second writer is noticed, unless both writers store
            /// at the same time: then stored commits may be lost. Make sure that there is only one writer.
            case client
        }

        func putConditionally(_ name: String, _ bytes: [UInt8], _ condition: StoredObject.Condition) async throws -> String? {
            guard conditions == .server else {
                let present = try await send("HEAD", name)
                guard present.status == 200 || present.status == 404 else { throw present.error }
                let version = present.status == 200 ? present.version ?? "" : nil
                switch condition {
                case .always: break
                case .isAbsent: if version != nil { return nil }
                case .isVersion(let wanted): if version != wanted { return nil }
                }
                return try await putWhole(name, bytes)
            }
            try await proveConditions()
            let response = try await send("PUT", name, [], Self.headers(condition), bytes)
            // 404: there is no object that could have the version.
            if response.status == 412 || response.status == 404 && condition != .isAbsent { return nil }
            guard response.status == 200, let version = response.version else { throw response.error }
            return version
        }

        private static func headers(_ condition: StoredObject.Condition) -> [String: String] {
            switch condition {
            case .always: [:]
            case .isAbsent: ["if-none-match": "*"]
            case .isVersion(let version): ["if-match": version]
            }
        }

        /// Makes sure that the server checks conditions, once: some servers ignore unknown headers.
        private func proveConditions() async throws {
            if proof.isGiven { return }
            let text = Array("Not stored twice: the server checks conditions.\n".utf8), name = ConditionsProof.name
            func isStored(_ condition: StoredObject.Condition, _ header: String) async throws -> Bool {
                let response = try await send("PUT", name, [], Self.headers(condition), text)
                switch response.status {
                case 412: return false
                case 200: return true
                case 501:
                    throw DatabaseError.unsupportedStore(
                        "the server does not support conditional writes (\(header)), which two writers need")
                default: throw response.error
                }
            }
            // The first time, the object is not there yet.
            if try await isStored(.isAbsent, "If-None-Match"), try await isStored(.isAbsent, "If-None-Match") {
                throw DatabaseError.unsupportedStore("the server ignores If-None-Match, which two writers need")
            }
            if try await isStored(.isVersion("\"00000000000000000000000000000000\""), "If-Match") {
                throw DatabaseError.unsupportedStore("the server ignores If-Match, which two writers need")
            }
            proof.give()
        }
    }

    /// The proof that the server checks conditions.
    final class ConditionsProof: Sendable {
        /// The object that the server has to refuse. It stays, as two writers may be asking at the same time.
        static let name = "conditions"
        private let given = Atomic<Bool>(false)

        var isGiven: Bool { given.load(ordering: .relaxed) }

        func give() { given.store(true, ordering: .relaxed) }
    }
#endif

#if S3
    import Foundation

    /// Large objects (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html>).
    extension S3Store {
        /// The SHA-256 of an object that was stored in parts, by which it is found to be there when an answer was lost.
        static let sumHeader = "x-amz-meta-sha256"

        var usedPartSize: Int { max(5 << 20, min(partSize, 1 << 30)) }

        /// Stores an object in parts. It appears when all of them are there.
        func putParts(_ name: String, _ bytes: [UInt8]) async throws -> String {
            let sum = S3Signature.hash(bytes)
            let begun = try await send("POST", name, [("uploads", "")], [Self.sumHeader: sum], [])
            guard begun.status == 200, let upload = begun.element("UploadId"), (1...4096).contains(upload.utf8.count) else {
                throw begun.error
            }
            do {
                var list = ""
                for (index, start) in stride(from: 0, to: bytes.count, by: usedPartSize).enumerated() {
                    try Task.checkCancellation()
                    let part = Array(bytes[start..<min(start + usedPartSize, bytes.count)])
                    let sent = try await send("PUT", name, [("partNumber", "\(index + 1)"), ("uploadId", upload)], [:], part)
                    guard sent.status == 200, let tag = sent.version, tag.utf8.count <= 1024 else { throw sent.error }
                    let text = tag.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
                    list += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(text)</ETag></Part>"
                }
                return try await complete(name, upload, list, sum, bytes.count)
            } catch {
                await abandon(name, upload)
                throw error
            }
        }

        private func complete(_ name: String, _ upload: String, _ list: String, _ sum: String, _ size: Int) async throws -> String {
            let body = Array("<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>".utf8)
            func version(_ response: Response) -> String? {
                guard response.status == 200, response.element("Code") == nil else { return nil }
                return response.element("ETag").map { $0.hasPrefix("\"") ? $0 : "\"\($0)\"" }
            }
            let answer: Result<Response, any Error>
            do {
                // The head of the answer is sent before the parts are joined, so an error may come with the status 200.
                answer = .success(
                    try await send("POST", name, [("uploadId", upload)], [:], body) {
                        version($0) != nil || !$0.isTemporary && $0.status != 200
                    })
            } catch { answer = .failure(error) }
            if case .success(let response) = answer, let version = version(response) { return version }
            // An attempt whose answer was lost may have completed it.
            let present = try await send("HEAD", name)
            if present.status == 200, present.sum == sum, present.size == size, let version = present.version { return version }
            throw try answer.get().error
        }

        /// Lets the server remove the parts. If that fails, a rule of the bucket has to do it.
        private func abandon(_ name: String, _ upload: String) async {
            var store = self
            (store.attempts, store.timeout) = (1, min(timeout, .seconds(5)))
            // Not part of the task, which may have been cancelled.
            await Task { [store] in _ = try? await store.send("DELETE", name, [("uploadId", upload)]) }.value
        }
    }
#endif

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

            /// The status and the code in the body, if the code is a word: text of a server does not get into a log unchecked.
            var error: DatabaseError {
                let text = String(decoding: bytes.prefix(2000), as: UTF8.self), code = S3Listing.element("Code", in: text) ?? ""
                let word = code.utf8.prefix(64).filter { (0x30...0x39).contains($0) || (0x41...0x5a).contains($0 & 0xdf) }
                let redirect = (300..<400).contains(status) ? "; it redirects, and signed requests do not follow redirects" : ""
                return .unavailableStore("the store answered \(status) \(String(decoding: word, as: UTF8.self))\(redirect)")
            }

            /// 501: the server does not support the request, and never will.
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
                    throw DatabaseError.unavailableStore("the answer took longer than \(seconds) seconds")
                }
                defer { group.cancelAll() }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        }

        private func answer(to request: HTTPClientRequest, isObject: Bool, _ seconds: Int64) async throws -> Response {
            let response = try await client.client.execute(request, timeout: .seconds(seconds))
            // A list has a thousand names of at most a kilobyte; other answers have a name or an error.
            let limit = request.method != .GET ? 1 << 20 : isObject ? StoredObject.largestSize : 16 << 20
            let content = try await response.body.collect(upTo: limit)
            if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), request.method == .GET,
                length != content.readableBytes
            { throw DatabaseError.unavailableStore("an object was truncated") }
            return Response(
                status: Int(response.status.code), version: response.headers.first(name: "etag"),
                size: response.headers.first(name: "content-length").flatMap { Int($0) },
                sum: response.headers.first(name: Self.sumHeader), bytes: Array(content.readableBytesView))
        }
    }
#endif
