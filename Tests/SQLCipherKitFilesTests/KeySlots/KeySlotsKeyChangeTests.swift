import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// A database's key and the key in its slots change together or not at all; and the slots are found where they were put.
@Suite struct KeySlotsKeyChangeTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }
    let raw: DatabaseKey, other: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        raw = try .raw([UInt8](repeating: 1, count: 32))
        other = try .passphrase("other", cipher: .quick)
        try Connection(location, key: raw).execute("CREATE TABLE t AS SELECT 'kept' AS x")
    }

    private func create(at place: KeySlots.Place = .beside) throws -> KeySlots {
        try KeySlots.create(.passphrase("one"), label: "a", for: location, at: place, existingKey: raw, derivation: .quick)
    }

    private func opens(_ place: KeySlots.Place = .beside, _ path: String? = nil) -> Bool {
        (try? Connection(.file(path ?? self.path), key: .slots(place, secret: .passphrase("one"))).fetchOne(String.self, "SELECT x FROM t")) == "kept"
    }

    private func refusal(_ body: () throws -> Void) -> DatabaseError? { #expect(throws: DatabaseError.self) { try body() } }

    @Test(arguments: Schema.KeyChangeMode.allCases) func changeKeyBesideKeySlotsThrowsMisuse(mode: Schema.KeyChangeMode) throws {
        _ = try create()
        let db = try Connection(location, key: raw)
        let error = refusal { try db.changeKey(to: other, mode: mode) }
        #expect(error?.reason == .misuse && error?.message.contains("rotateKey") == true && error?.message.contains("a.db.keys") == true)
        #expect(try db.fetchOne(String.self, "SELECT x FROM t") == "kept")
        db.close()
        let main = try Connection(.memory)
        let attached = try main.attach(location, as: "a", key: raw)
        #expect(refusal { try attached.changeKey(to: other, mode: mode) }?.reason == .misuse)
        try attached.detach()
        let queue = try DatabaseQueue(location, key: raw)
        #expect(refusal { try queue.changeKey(to: other, mode: mode) }?.reason == .misuse)
        #expect(refusal { try queue.convert(to: other) }?.reason == .misuse)
        try queue.close()
        #expect(refusal { try DatabaseConverter.convert(fileAt: path, from: raw, to: other) }?.reason == .misuse)
        #expect(opens())
    }

    /// Slots that lie elsewhere are known to a connection that was opened by them.
    @Test func changeKeyWithStoredKeySlotsThrowsMisuse() throws {
        let bytes = KeySlots.MemoryStorage()
        _ = try create(at: .storage(bytes))
        let db = try Connection(location, key: .slots(.storage(bytes), secret: .passphrase("one")))
        #expect(refusal { try db.changeKey(to: other) }?.reason == .misuse)
        db.close()
        let main = try Connection(.memory)
        let attached = try main.attach(location, as: "A", key: .slots(.storage(bytes), secret: .passphrase("one")))
        #expect(refusal { try attached.changeKey(to: other) }?.reason == .misuse)
        // Another database under that name is not concerned.
        try attached.detach()
        try main.attach(.file(folder.path("b.db")), as: "a", key: other).changeKey(to: try .passphrase("new", cipher: .quick))
        #expect(opens(.storage(bytes)))
    }

    /// Changing to the same key, or to none, locks no slot out.
    @Test func conversionWithSameKeyKeepsKeySlots() throws {
        _ = try create()
        var cipher = CipherConfiguration()
        cipher.pageSize = 8192
        try DatabaseConverter.convert(fileAt: path, from: raw, to: raw.with(cipher: cipher))
        let db = try Connection(location, key: .slots(secret: .passphrase("one"), cipher: cipher))
        #expect(try db.fetchOne(String.self, "SELECT x FROM t") == "kept")
        db.close()
        try DatabaseConverter.decrypt(fileAt: path, key: raw.with(cipher: cipher))
        #expect(try Connection(location).fetchOne(String.self, "SELECT x FROM t") == "kept")
    }

    /// The link's target gets the slots, whether it exists already or not, by every way to it.
    @Test(arguments: [false, true]) func keySlotsFollowDanglingLinks(isRelative: Bool) throws {
        try FileManager.default.createDirectory(atPath: folder.path("data"), withIntermediateDirectories: true)
        let link = folder.path("link.db"), middle = folder.path("middle.db"), target = folder.path("data/real.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: isRelative ? "middle.db" : middle)
        try FileManager.default.createSymbolicLink(atPath: middle, withDestinationPath: isRelative ? "data/real.db" : target)
        _ = try KeySlots.create(.passphrase("one"), label: "a", for: .file(link), derivation: .quick)
        #expect(FileManager.default.fileExists(atPath: target + ".keys"))
        #expect(try !folder.names().contains { $0.hasPrefix("link.db.") || $0.hasPrefix("middle.db.") })
        try Connection(.file(link), key: .slots(secret: .passphrase("one"))).execute("CREATE TABLE t AS SELECT 'kept' AS x")
        for way in [link, middle, target] { #expect(opens(.beside, way)) }
    }

    /// Where links are not followed, no slots are made for a database that could not be opened then.
    @Test func keySlotsOfUnfollowedLinkThrow() throws {
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path("real.db"))
        var configuration = DatabaseConfiguration()
        configuration.followsSymbolicLinks = false
        #expect(refusal {
            _ = try KeySlots.create(.passphrase("one"), label: "a", for: .file(link), derivation: .quick,
                configuration: configuration)
        }?.reason == .cannotOpen)
        #expect(try folder.names() == ["a.db", "link.db"])
    }
}
