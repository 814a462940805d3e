import Foundation
import Hummingbird
import HummingbirdTesting
import SQLCipherKit
import SQLCipherKitReplication
import Testing
@testable import SearchServerKit

@Suite struct ReplicationTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func `what was written is found on another machine after the end of the first`() async throws {
        // The last note is written just before the shutdown, which stores it.
        let paths = try await folder.primary("first.db") { client in
            var paths: [String] = []
            for title in ["Foxes", "Hedgehogs", "Badgers"] {
                paths.append(try await client.add(title, "Live in the \(title) wood."))
            }
            return paths
        }
        try await folder.primary("second.db") { client in
            #expect(try await client.titles("badgers") == ["<mark>Badgers</mark>"])
            for path in paths { #expect(try await client.get(path, as: Note.self).body.hasSuffix(" wood.")) }
            try await client.add("Moles", "Live below it.", isStored: true)
        }
        // The file is there now, and the replica goes on where it was: the first had generation 1.
        try await folder.primary("second.db") { client in
            #expect(try await client.titles("moles").count == 1)
            try await client.add("Voles", "Live near it.", isStored: true)
            #expect(try await client.get("/health", as: Health.self).position?.hasPrefix("2:") == true)
        }
        #expect(try !folder.contains("Hedgehogs") && !folder.contains("Live in the") && !folder.contains(TestFolder.passphrase))
    }

    @Test func `a note that was answered as stored is in the store at once`() async throws {
        try await folder.primary("first.db") { client in
            try await client.add("Foxes", "", isStored: true)
            // The database that another machine would get if this one were gone now.
            let copy = folder.path + "/copy.db", key = try DatabaseKey.passphrase(TestFolder.passphrase)
            try await Replicator.restore(to: copy, from: folder.store, key: key)
            let db = try Connection(.file(copy), key: key)
            #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["Foxes"])
        }
    }

    @Test func `a follower has what was written, and says how far it is`() async throws {
        try await folder.primary("first.db") { primary in
            try await primary.add("Foxes", "Red ones.", isStored: true)
            try await folder.follower("copy.db") { follower in
                #expect(try await follower.titles("fox") == ["<mark>Foxes</mark>"])
                let path = try await primary.add("Hedgehogs", "Round ones.")
                try await eventually { try await follower.titles("hedgehog") == ["<mark>Hedgehogs</mark>"] }
                #expect(try await follower.get(path, as: Note.self).title == "Hedgehogs")
                try await eventually { try await follower.get("/health", as: Health.self).commitsBehind == 0 }
                let health = try await (follower.get("/health", as: Health.self), primary.get("/health", as: Health.self))
                #expect(health.0.role == .follower && health.1.role == .primary)
                #expect(health.0.position == health.1.position)
                #expect(health.0.isReplicating && health.1.isReplicating)
                #expect((health.0.secondsBehind ?? 99) < 60 && (health.1.secondsBehind ?? 99) < 60)
                #expect(try await follower.status("/notes", .post, #"{"title":"Moles","body":""}"#).0 == 405)
            }
        }
    }

    @Test func `a wrong key opens nothing, and begins nothing`() async throws {
        try await folder.primary("first.db") { client in try await client.add("Foxes", "", isStored: true) }
        let before = try await folder.store.get("head")?.version
        for database in ["first.db", "second.db"] {
            let settings = try folder.settings(database, passphrase: "a wrong one")
            let error = try await #require(throws: DatabaseError.self) {
                _ = try await SearchServer.primary(settings, store: folder.store)
            }
            #expect(!"\(error)".contains("a wrong one"))
        }
        let settings = try folder.settings("copy.db", passphrase: "a wrong one")
        await #expect(throws: DatabaseError.self) { _ = try await SearchServer.follower(settings, of: folder.store) }
        #expect(try await folder.store.get("head")?.version == before)
        for file in ["second.db", "copy.db"] { #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/\(file)")) }
    }
}

/// Waits until something holds.
func eventually(_ body: () async throws -> Bool) async throws {
    let start = ContinuousClock.now
    while try await !body() {
        guard .now - start < .seconds(60) else { throw NeverHeld() }
        try await Task.sleep(for: .milliseconds(50))
    }
}

struct NeverHeld: Error {}
