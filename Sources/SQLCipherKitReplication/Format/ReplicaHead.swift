import SQLCipherKitCore
import SQLCipherKitFiles

/// The object from which everything else in a store is found. It has a section for each key that the database has had; a section is
/// sealed with its key, so that a writer with a new key copies the older sections without reading them.
struct ReplicaHead {
    static let name = "head"
    /// The head's name in a format of this package that was never released.
    static let formerName = "manifest"
    /// A passphrase costs a key derivation for each section. The store is not trusted, so the number of sections has a limit.
    static let largestSectionCount = 16
    private static let magic = Array("SCKH".utf8) + [2]

    struct Section: Equatable {
        /// Distinguishes the sections, and begins the names of their objects.
        var id: [UInt8]
        var salt: [UInt8]
        var nonce: [UInt8] = []
        var sealed: [UInt8] = []

        var prefix: String { id.hexadecimal + "/" }

        func contents(with key: ReplicaKey) throws -> ReplicaContents? {
            try key.open(sealed[...], with: magic + id + salt, nonce: nonce).map { try ReplicaContents($0) }
        }

        mutating func seal(_ contents: ReplicaContents, with key: ReplicaKey) throws {
            nonce = try ReplicaKey.random(ReplicaKey.nonceCount)
            sealed = try key.seal(contents.bytes, with: magic + id + salt, nonce: nonce)
        }
    }

    /// The sections; the present key's section is the last.
    var sections: [Section] = []
    /// The identities of sections that were taken out, and whose objects are being removed.
    var removed: [[UInt8]] = []
    /// The mark. Another mark gives the head another version, and has no other meaning.
    private var mark = [UInt8](repeating: 0, count: 8)

    /// Returns the head with another mark, which makes another version.
    func marked() throws -> ReplicaHead {
        var head = self
        head.mark = try ReplicaKey.random(mark.count)
        return head
    }

    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(varint: removed.count)
        for id in removed { bytes += id }
        bytes.append(varint: sections.count)
        for section in sections {
            bytes += section.id + section.salt + section.nonce
            bytes.append(number: UInt32(section.sealed.count))
            bytes += section.sealed
        }
        return bytes + mark
    }

    init() {}

    /// - Throws: ``DatabaseError/Reason/replicaDamaged``.
    init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(replica: bytes)
        guard let magic = try? reader.take(5), magic.elementsEqual(Self.magic) else {
            throw DatabaseError.damagedReplica("the head has an unknown form")
        }
        let gone = try reader.varint(), limit = UInt64(Self.largestSectionCount)
        guard gone <= 4 * limit else { throw DatabaseError.damagedReplica("the head has too many removed sections") }
        for _ in 0..<gone { removed.append(Array(try reader.take(8))) }
        let count = try reader.varint()
        guard count <= limit else {
            throw DatabaseError.damagedReplica("the head has \(count) sections, and at most \(limit) are possible")
        }
        for _ in 0..<count {
            let id = try reader.take(8), salt = try reader.take(16), nonce = try reader.take(ReplicaKey.nonceCount)
            let sealed = try reader.take(Int(try reader.number(UInt32.self)))
            sections.append(Section(id: Array(id), salt: Array(salt), nonce: Array(nonce), sealed: Array(sealed)))
        }
        mark = Array(try reader.take(mark.count))
        guard reader.isAtEnd else { throw DatabaseError.damagedReplica("the head has too many bytes") }
    }

    /// Reads the head.
    /// - Returns: the head and its stored object with the version; nil if the store has no head.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged``, also for a replica in the previous form.
    static func read(_ store: CheckedStore) async throws -> (head: ReplicaHead, object: StoredObject)? {
        guard let object = try await store.get(name) else {
            if try await store.get(formerName) != nil {
                throw DatabaseError.damagedReplica(
                    "an unreleased version stored it, which this version cannot read: begin in an empty store")
            }
            return nil
        }
        return (try ReplicaHead(object.bytes), object)
    }

    /// Returns whether a name is a replica's name for an object: the identity of a section, and the kind of the object's content.
    static func isObject(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 16, parts[0].allSatisfy("0123456789abcdef".utf8.contains) else { return false }
        return ["log-", "snapshot-", "index-"].contains { parts[1].starts(with: $0.utf8) }
    }
}

/// The names of a section's objects.
struct ReplicaNames {
    let section: [UInt8]

    init(_ section: [UInt8]) { self.section = section }

    var prefix: String { section.hexadecimal + "/" }

    func link(_ number: UInt64, of term: [UInt8]) -> String { "\(prefix)log-\(term.hexadecimal)-\(number)" }
    func part(_ part: Int, ofSnapshot number: UInt64, of term: [UInt8]) -> String {
        "\(prefix)snapshot-\(term.hexadecimal)-\(number).\(part)"
    }
    func page(_ number: UInt64, of term: [UInt8]) -> String { "\(prefix)index-\(term.hexadecimal)-\(number)" }

    func names(_ entry: ReplicaIndex.Entry) -> [String] {
        switch entry {
        case .log(let log): [link(log.link, of: log.term)]
        case .snapshot(let snapshot): (0..<snapshot.parts).map { part($0, ofSnapshot: snapshot.number, of: snapshot.term) }
        case .page(let page): [self.page(page.number, of: page.term)]
        case .leftovers(let left):
            (left.links.isEmpty ? [] : [link(0, of: left.term)]) + left.links.map { link($0, of: left.term) }
                + (0..<left.parts).map { part($0, ofSnapshot: left.snapshot, of: left.term) }
        }
    }
}
