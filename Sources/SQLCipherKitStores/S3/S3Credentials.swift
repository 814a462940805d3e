#if S3
    import Foundation
    import SQLCipherKitCore

    /// The keys that sign requests to an object store.
    public struct S3Credentials: Sendable {
        /// The name of the access key.
        public let accessKey: String
        /// The secret access key.
        let secretKey: String
        /// The token of temporary credentials; nil for others.
        let sessionToken: String?

        /// Creates credentials from values that your program has.
        /// - Parameters:
        ///   - accessKey: the name of the access key.
        ///   - secretKey: the secret access key.
        ///   - sessionToken: the token of temporary credentials. Default: nil, for permanent credentials.
        public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
            (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
        }

        /// Takes credentials from where Amazon's tools look for them: the environment variables `AWS_ACCESS_KEY_ID`,
        /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, then the file `~/.aws/credentials`, or the file that
        /// `AWS_SHARED_CREDENTIALS_FILE` names (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).
        /// - Parameters:
        ///   - profile: the section of the file. Default: nil, for `AWS_PROFILE` or `default`; only then do credentials in the
        ///     environment come first.
        ///   - environment: the environment variables. Default: the variables of the process.
        /// - Throws: ``DatabaseError/Reason/storeUnavailable`` if no credentials are found.
        public static func standard(
            profile: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment
        ) throws -> S3Credentials {
            if profile == nil, let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"] {
                return S3Credentials(accessKey: key, secretKey: secret, sessionToken: environment["AWS_SESSION_TOKEN"])
            }
            let profile = profile ?? environment["AWS_PROFILE"] ?? "default"
            let path = environment["AWS_SHARED_CREDENTIALS_FILE"] ?? HomeFolder.path(environment) + "/.aws/credentials"
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw DatabaseError.unavailableStore("no credentials are in the environment, and there is no file \(path)")
            }
            let values = values(in: String(decoding: bytes, as: UTF8.self), section: profile)
            guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
                throw DatabaseError.unavailableStore("the file \(path) has no credentials for the profile \(profile)")
            }
            return S3Credentials(accessKey: key, secretKey: secret, sessionToken: values["aws_session_token"])
        }

        private static func values(in text: String, section wanted: String) -> [String: String] {
            var section = "", values: [String: String] = [:]
            for line in text.split(whereSeparator: \.isNewline) {
                let line = line.trimmingCharacters(in: .whitespaces)
                if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
                if line.hasPrefix("["), line.hasSuffix("]") {
                    section = line.dropFirst().dropLast().trimmingCharacters(in: .whitespaces)
                } else if section == wanted, let sign = line.firstIndex(of: "=") {
                    let name = line[..<sign].trimmingCharacters(in: .whitespaces).lowercased()
                    values[name] = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
                }
            }
            return values
        }
    }

    extension S3Credentials: CustomStringConvertible, CustomReflectable {
        /// The name of the access key, without the secrets.
        public var description: String { "S3Credentials(\(accessKey))" }

        public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
    }
#endif
