#if S3
    import SQLCipherKitCore
    import Synchronization

    extension S3Store {
        /// What checks that an object is stored only under a condition. This is what keeps two writers apart.
        public enum Conditions: Hashable, Sendable {
            /// The server, while it stores the object. Before the first such object, it has to refuse two that it must not store:
            /// otherwise the call throws ``DatabaseError/Reason/storeUnsupported``, and nothing was stored.
            case server
            /// The store, which asks for the present version before it stores the object. This is for servers without conditional
            /// writes, such as OpenStack Swift. A second writer is noticed, unless both store at the same time: then commits that
            /// were stored may be lost. So make sure that there is one writer.
            case client
        }

        func putConditionally(_ name: String, _ bytes: [UInt8], _ condition: ReplicaObject.Condition) async throws -> String? {
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

        private static func headers(_ condition: ReplicaObject.Condition) -> [String: String] {
            switch condition {
            case .always: [:]
            case .isAbsent: ["if-none-match": "*"]
            case .isVersion(let version): ["if-match": version]
            }
        }

        /// Makes sure that the server checks conditions, once: some servers ignore what they do not know.
        private func proveConditions() async throws {
            if proof.isGiven { return }
            let text = Array("Not stored twice: the server checks conditions.\n".utf8), name = ConditionsProof.name
            func isStored(_ condition: ReplicaObject.Condition, _ header: String) async throws -> Bool {
                let response = try await send("PUT", name, [], Self.headers(condition), text)
                switch response.status {
                case 412: return false
                case 200: return true
                case 501:
                    throw DatabaseError.unsupportedStore(
                        "the server has no conditional writes (\(header)), which keep two writers apart")
                default: throw response.error
                }
            }
            // The first time, the object is not there yet.
            if try await isStored(.isAbsent, "If-None-Match"), try await isStored(.isAbsent, "If-None-Match") {
                throw DatabaseError.unsupportedStore("the server ignores If-None-Match, which keeps two writers apart")
            }
            if try await isStored(.isVersion("\"00000000000000000000000000000000\""), "If-Match") {
                throw DatabaseError.unsupportedStore("the server ignores If-Match, which keeps two writers apart")
            }
            proof.give()
        }
    }

    /// Whether the server has shown that it checks conditions.
    final class ConditionsProof: Sendable {
        /// The object that the server has to refuse. It stays, as two writers may be asking at the same time.
        static let name = "conditions"
        private let given = Atomic<Bool>(false)

        var isGiven: Bool { given.load(ordering: .relaxed) }

        func give() { given.store(true, ordering: .relaxed) }
    }
#endif
