import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// The object that says what a store holds. It has a section for each key that the database has had; a section is sealed with its
/// key, so that a writer with a new key carries the older sections along without reading them.
struct ReplicaManifest {
    static let name = "manifest"
    /// A passphrase costs a key derivation for each section, and the store is not trusted: there cannot be thousands of them.
    static let largestSectionCount = 16
    private static let magic = Array("SCKM".utf8) + [1]

    struct Section: Equatable {
        /// Distinguishes the sections, and begins the names of their objects.
        var id: [UInt8]
        var salt: [UInt8]
        /// When a section with another key came after it, in milliseconds since 1970; 0 for the last section.
        var supersededAt: Int64 = 0
        var nonce: [UInt8] = []
        var sealed: [UInt8] = []

        var prefix: String { id.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "/" }

        func contents(with key: ReplicaKey) throws -> ReplicaContents? {
            let associated = magic + id + salt
            let plain = sealed.withUnsafeBytes { sealed in
                associated.withUnsafeBytes { associated in
                    nonce.withUnsafeBytes { key.open(sealed, with: associated, nonce: $0) }
                }
            }
            guard let plain else { return nil }
            guard let contents = try? JSONDecoder().decode(ReplicaContents.self, from: Data(plain)) else {
                throw DatabaseError.damagedReplica("the manifest is of an unknown form")
            }
            return contents
        }

        mutating func seal(_ contents: ReplicaContents, with key: ReplicaKey) throws {
            let associated = magic + id + salt
            nonce = try ReplicaKey.random(ReplicaKey.nonceCount)
            let plain = [UInt8](try JSONEncoder().encode(contents))
            sealed = try associated.withUnsafeBytes { try key.seal(plain, with: $0, nonce: nonce) }
        }
    }

    /// The number of writers that there have been. A writer begins with the next number, so an earlier one stores nothing more.
    var epoch: UInt64 = 0
    /// Identifies the writer.
    var writer = [UInt8](repeating: 0, count: 16)
    var sections: [Section] = []

    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(number: epoch)
        bytes += writer
        bytes.append(number: UInt16(sections.count))
        for section in sections {
            bytes += section.id + section.salt
            bytes.append(number: section.supersededAt)
            bytes += section.nonce
            bytes.append(number: UInt32(section.sealed.count))
            bytes += section.sealed
        }
        return bytes
    }

    init() {}

    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    init(_ bytes: [UInt8]) throws {
        var parser = ByteParser(bytes)
        guard let magic = parser.take(5), magic.elementsEqual(Self.magic), let epoch = parser.number(UInt64.self),
            let writer = parser.take(16), let count = parser.number(UInt16.self)
        else { throw DatabaseError.damagedReplica("the manifest is of an unknown form") }
        guard count <= Self.largestSectionCount else {
            throw DatabaseError.damagedReplica(
                "the manifest has \(count) sections, and a replica makes at most \(Self.largestSectionCount)")
        }
        guard epoch < UInt64.max else { throw DatabaseError.damagedReplica("the manifest has an impossible number of writers") }
        (self.epoch, self.writer) = (epoch, Array(writer))
        for _ in 0..<count {
            guard let id = parser.take(8), let salt = parser.take(16), let time = parser.number(Int64.self),
                let nonce = parser.take(ReplicaKey.nonceCount), let size = parser.number(UInt32.self),
                let sealed = parser.take(Int(size))
            else { throw DatabaseError.damagedReplica("the manifest is cut off") }
            sections.append(
                Section(id: Array(id), salt: Array(salt), supersededAt: time, nonce: Array(nonce), sealed: Array(sealed)))
        }
        guard parser.isAtEnd else { throw DatabaseError.damagedReplica("the manifest has too many bytes") }
    }
}
