#if S3
    import Foundation
    import SQLCipherKitCore

    /// Where a bucket is, and the paths of its objects.
    struct S3Endpoint {
        let scheme: String
        /// The host, with the port unless it is the scheme's own.
        let host: String
        private let base: String

        init(_ url: String, bucket: String, _ addressing: S3Store.Addressing) throws {
            guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
                ["http", "https"].contains(scheme), let name = parts.host, !name.isEmpty, !bucket.isEmpty, parts.query == nil
            else { throw DatabaseError.unavailableStore("\(url) is not the URL of a server") }
            self.scheme = scheme
            let port = parts.port.flatMap { $0 == (scheme == "http" ? 80 : 443) ? nil : ":\($0)" } ?? ""
            let path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
            switch addressing {
            case .virtualHost: (host, base) = ("\(bucket).\(name)\(port)", path)
            case .path: (host, base) = ("\(name)\(port)", path + "/" + S3Signature.encoded(bucket))
            }
        }

        /// The path of an object, percent-encoded; of the bucket for an empty name.
        func path(_ name: String) -> String {
            name.isEmpty ? (base.isEmpty ? "/" : base) : base + "/" + S3Signature.encoded(name, keeps: "/")
        }
    }

    /// An answer to a request for the list of objects (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html>).
    struct S3Listing {
        let objects: [(name: String, size: Int)]
        let continuation: String?

        init(_ bytes: [UInt8]) {
            let text = String(decoding: bytes, as: UTF8.self)
            objects = text.components(separatedBy: "<Contents>").dropFirst().compactMap { part in
                guard let name = Self.element("Key", in: part), let size = Self.element("Size", in: part).flatMap({ Int($0) }),
                    size >= 0
                else { return nil }
                return (name, size)
            }
            continuation =
                Self.element("IsTruncated", in: text) == "true" ? Self.element("NextContinuationToken", in: text) : nil
        }

        /// The text of the first element of that name.
        static func element(_ name: String, in text: String) -> String? {
            guard let start = text.range(of: "<\(name)>"),
                let end = text.range(of: "</\(name)>", range: start.upperBound..<text.endIndex)
            else { return nil }
            var value = String(text[start.upperBound..<end.lowerBound])
            guard value.contains("&") else { return value }
            let entities = [
                ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&"),
            ]
            for (entity, character) in entities { value = value.replacingOccurrences(of: entity, with: character) }
            return value
        }
    }
#endif
