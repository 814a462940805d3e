#if S3
    import AsyncHTTPClient
    import Foundation
    import SQLCipherKitCore

    /// A store in a bucket of Amazon S3, or of another object store with its protocol and conditional writes.
    ///
    /// ```swift
    /// let store = try S3Store(bucket: "backup", prefix: "notes/", region: "eu-central-1", credentials: .standard())
    /// ```
    /// It is there with the package trait `S3`, which brings async-http-client and swift-crypto. The server must support
    /// `If-Match` and `If-None-Match` for `PUT`
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>), or there must never be two writers: see
    /// ``conditions``. An object larger than ``partSize`` is stored in parts.
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
        /// How long a request may take, with the transfer of the object or of its part. Default: 60 seconds.
        public var timeout: Duration = .seconds(60)
        /// The size in bytes of the parts of a larger object, at least 5 MiB
        /// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>). A part that fails is sent again alone. Default:
        /// 16 MiB.
        public var partSize = 16 << 20
        /// What checks the condition under which an object is stored. Default: the server.
        public var conditions = Conditions.server

        let bucket: String
        let prefix: String
        let endpoint: S3Endpoint
        let signature: S3Signature
        let client: S3Client
        let proof = ConditionsProof()

        /// - Parameters:
        ///   - bucket: the bucket's name. It must exist.
        ///   - prefix: what the names of all objects begin with, such as `notes/`. Default: nothing.
        ///   - region: the region that requests are signed for.
        ///   - endpoint: the server's URL, such as `http://localhost:9000`; nil, the default, for Amazon's.
        ///   - addressing: how the bucket is named. Default: nil, in the host's name for Amazon, and in the path for others.
        ///   - credentials: what signs the requests.
        ///   - configuration: how the server is reached, such as a proxy. Default: nil, one client for all stores. Redirects are
        ///     never followed: a server that answers with one would be sent the signature and the data elsewhere.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if the endpoint is not the URL of a server.
        public init(
            bucket: String, prefix: String = "", region: String, endpoint: String? = nil, addressing: Addressing? = nil,
            credentials: S3Credentials, configuration: HTTPClient.Configuration? = nil
        ) throws(DatabaseError) {
            (self.bucket, self.prefix, client) = (bucket, prefix, configuration.map { S3Client($0) } ?? .shared)
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
        ///   - configuration: how the server is reached, as for
        ///     ``init(bucket:prefix:region:endpoint:addressing:credentials:configuration:)``.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if the URL names no bucket, if there are no credentials, or if
        ///   `AWS_ENDPOINT_URL` is not the URL of a server.
        public init(
            _ url: String, environment: [String: String] = ProcessInfo.processInfo.environment,
            configuration: HTTPClient.Configuration? = nil
        ) throws(DatabaseError) {
            let parts = url.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard url.hasPrefix("s3://"), let bucket = parts.first, !bucket.isEmpty else {
                throw DatabaseError.unavailableStore("\(url) names no bucket: s3://BUCKET/PREFIX does")
            }
            var prefix = parts.count > 1 ? String(parts[1]) : ""
            while prefix.hasSuffix("/") { prefix.removeLast() }
            try self.init(
                bucket: String(bucket), prefix: prefix.isEmpty ? "" : prefix + "/",
                region: environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1",
                endpoint: environment["AWS_ENDPOINT_URL"], credentials: .standard(environment: environment),
                configuration: configuration)
        }

        public func list(prefix: String) async throws -> [ReplicaObject.Info] {
            var objects: [ReplicaObject.Info] = [], token: String?, pages = 0
            repeat {
                var query = [("list-type", "2"), ("prefix", self.prefix + prefix)]
                if let token { query.append(("continuation-token", token)) }
                let response = try await send("GET", "", query)
                guard response.status == 200 else { throw response.error }
                let page = S3Listing(response.bytes)
                objects += page.objects.compactMap { object in
                    guard object.name.utf8.starts(with: self.prefix.utf8) else { return nil }
                    let name = String(object.name.dropFirst(self.prefix.count))
                    return name == ConditionsProof.name ? nil : ReplicaObject.Info(name: name, size: object.size)
                }
                token = page.continuation
                // A page has a thousand names, but for the last one and for servers that have reasons of their own.
                pages += 1
                guard objects.count <= ReplicaObject.largestCount, pages <= 2000 else {
                    throw DatabaseError.unavailableStore("the store lists more objects than a replica stores")
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
        public func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaObject.Condition) async throws -> String? {
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
