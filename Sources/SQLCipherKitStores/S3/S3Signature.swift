#if S3
    import Crypto
    import Foundation

    /// Signs requests with Signature Version 4
    /// (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>).
    package struct S3Signature {
        package let credentials: S3Credentials
        package let region: String
        package let service: String

        package init(_ credentials: S3Credentials, region: String, service: String = "s3") {
            (self.credentials, self.region, self.service) = (credentials, region, service)
        }

        /// Returns the headers to send, including the signature's headers.
        /// - Parameters:
        ///   - path: the path, percent-encoded as it is sent.
        ///   - query: the names and values of the query, not encoded.
        ///   - headers: all other headers that are signed, `host` among them; names in lower case.
        ///   - hash: the SHA-256 of the body in hexadecimal.
        package func headers(
            _ method: String, path: String, query: [(String, String)] = [], headers: [String: String], hash: String, at date: Date
        ) -> [String: String] {
            let time = Self.time(date), day = String(time.prefix(8))
            var headers = headers
            headers["x-amz-date"] = time
            if service == "s3" { headers["x-amz-content-sha256"] = hash }
            if let token = credentials.sessionToken { headers["x-amz-security-token"] = token }
            let names = headers.keys.sorted()
            let signed = names.joined(separator: ";")
            let canonical = [
                method, path, Self.encoded(query),
                names.map { "\($0):\(Self.trimmed(headers[$0] ?? ""))\n" }.joined(), signed, hash,
            ].joined(separator: "\n")
            let scope = "\(day)/\(region)/\(service)/aws4_request"
            let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.hash(Array(canonical.utf8)))"
            var key = SymmetricKey(data: Array("AWS4\(credentials.secretKey)".utf8))
            for part in [day, region, service, "aws4_request"] {
                key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
            }
            let signature = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).hexadecimal
            headers["authorization"] =
                "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(signed), Signature=\(signature)"
            return headers
        }

        package static func hash(_ bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexadecimal }

        /// The query as it is sent and signed: sorted, and percent-encoded but for RFC 3986's unreserved characters.
        package static func encoded(_ query: [(String, String)]) -> String {
            query.map { (encoded($0.0), encoded($0.1)) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { "\($0.0)=\($0.1)" }
                .joined(separator: "&")
        }

        package static func encoded(_ text: String, keeps kept: String = "") -> String {
            var result = ""
            for byte in text.utf8 {
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e:
                    result.unicodeScalars.append(UnicodeScalar(byte))
                case _ where kept.utf8.contains(byte): result.unicodeScalars.append(UnicodeScalar(byte))
                default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
            }
            return result
        }

        private static func trimmed(_ value: String) -> String {
            value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }

        /// The time as `20130524T000000Z`.
        package static func time(_ date: Date) -> String {
            var seconds = time_t(date.timeIntervalSince1970), parts = tm()
            gmtime_r(&seconds, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let day = "\(1900 + parts.tm_year)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
            return day + "T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
        }
    }
#endif
