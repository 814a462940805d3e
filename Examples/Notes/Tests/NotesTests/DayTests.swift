import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
@testable import NotesKit

/// A laptop, a phone that sleeps and is restored from a backup, and a tablet with a former version of the application.
@Suite struct DayTests {
    /// As many days as `NOTES_DAYS` says. Default: 3.
    @Test func `three copies are edited for a day, and end equal with no text lost`() async throws {
        let days = UInt64(ProcessInfo.processInfo.environment["NOTES_DAYS"] ?? "") ?? 3
        var conflicts = 0
        for seed in 1...max(1, days) { conflicts += try await edit(seed) }
        #expect(conflicts > 0, "no two copies have edited one text")
    }

    /// Edits the copies for a day, and returns how many texts then stood side by side.
    private func edit(_ seed: UInt64) async throws -> Int {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-day-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var day = try await Day(seed, in: folder)
        for hour in 7..<23 {
            switch hour {
            case 11: try await day.backUpPhone()
            case 15: try await day.restorePhone()
            case 19: try await day.updateTablet()
            default: break
            }
            for _ in 0..<12 { try await day.step(asleep: [9, 10, 13, 14, 17].contains(hour)) }
        }
        try await day.meet()
        return try await day.check("seed \(seed)")
    }
}

private struct Day {
    /// A text of a note that a person has written.
    private struct Text {
        var note: ID
        /// The texts that this person has seen and replaced.
        var replaced: Set<String>
        /// The copy, until the others can have it.
        var unsent: String?
        var wasDeleted = false
    }

    private let folder: URL, key: DatabaseKey
    private var random: Generator
    private var copies: [String: Notebook] = [:], stores: [String: ChangeStore] = [:]
    private var texts: [String: Text] = [:]
    private var isOld = true, count = 0, conflicts = 0
    private static let former = "notes, folders, tags and attachments"

    init(_ seed: UInt64, in folder: URL) async throws {
        (self.folder, random) = (folder, Generator(state: seed))
        key = try .raw(Data(repeating: 7, count: 32))
        for name in ["laptop", "phone"] { try await open(name) }
        try await open("tablet", through: Self.former)
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private mutating func open(_ name: String, through last: String? = nil) async throws {
        var copy = try await Notebook(at: path(name), key: key, migratedThrough: last)
        copy.device = name
        copies[name] = copy
        stores[name] = try copy.changeStore(in: path("shared"))
    }

    private func notebook(_ name: String) throws -> Notebook { try #require(copies[name]) }

    private mutating func text() -> String {
        count += 1
        return "text \(count)"
    }

    mutating func step(asleep isAsleep: Bool) async throws {
        let name = ["laptop", "phone", "tablet"].randomElement(using: &random) ?? "laptop", copy = try notebook(name)
        if name == "phone", isAsleep { return }
        let choice = Int.random(in: 0..<20, using: &random)
        if choice < 5 { return try await synchronize(name) }
        if name == "tablet", isOld { return try await stepOfOldTablet(copy) }
        let ids = try await copy.pool.read { db in try db.fetchAll(ID.self, "SELECT id FROM note ORDER BY id") }
        guard choice > 7, let id = ids.randomElement(using: &random), let note = try await copy.note(id) else {
            let body = text(), id = ID.random(in: 1...(1 << 53), using: &random)
            try await copy.add("Note \(count)", body, folder: ["Home", "Work"].randomElement(using: &random), tags: [name], id: id)
            texts[body] = Text(note: id, replaced: [], unsent: name)
            return
        }
        let versions = try await copy.conflict(of: id)
        switch choice {
        case 8: try await copy.save(.init(pinned: !note.pinned), to: id)
        case 9: try await copy.save(.init(title: .init(note.title, "\(note.title) \(name)")), to: id)
        case 10:
            try await copy.save(.init(deleted: note.deleted == nil), to: id)
            texts[note.body]?.wasDeleted = true
        default:
            conflicts += versions.isEmpty ? 0 : 1
            let isSettled = Bool.random(using: &random), body = text()
            let edits = Notebook.Edits(
                body: .init(note.body, body), deleted: note.deleted == nil ? nil : false,
                settles: isSettled ? versions.map(\.id) : nil)
            guard case .saved = try await copy.save(edits, to: id) else { throw NotSaved() }
            let seen = isSettled ? versions.filter { $0.field == "body" }.map(\.text) : []
            // The former version overwrites notes of the tablet without a version.
            if note.folder != "Tablet" { texts[body] = Text(note: id, replaced: Set(seen + [note.body]), unsent: name) }
        }
    }

    private struct NotSaved: Error {}

    /// Writes as the former version did. Its texts leave no versions, so they are not among those that must be there in the end.
    private mutating func stepOfOldTablet(_ copy: Notebook) async throws {
        let body = text(), id = ID.random(in: 1...(1 << 53), using: &random), isNew = Bool.random(using: &random)
        try await copy.write { db in
            if isNew {
                try db.execute("INSERT INTO folder VALUES ('Tablet') ON CONFLICT DO NOTHING")
                try db.execute("INSERT INTO note VALUES (\(id), 'Tablet', 'Old', \(body), '2026-01-01 00:00:00.000')")
            } else {
                try db.execute("UPDATE note SET body = \(body) WHERE id = (SELECT min(id) FROM note)")
            }
        }
    }

    private mutating func synchronize(_ name: String) async throws {
        let store = try #require(stores[name])
        do {
            try await notebook(name).synchronize(with: store)
        } catch let error as DatabaseError {
            // The tablet takes nothing that it has no place for, and gives what it has.
            guard name == "tablet", isOld, error.code == .schema else { throw error }
        }
        for (text, written) in texts where written.unsent == name { texts[text]?.unsent = nil }
    }

    func backUpPhone() async throws { try await notebook("phone").pool.main.backup(toFileAt: path("backup")) }

    /// Puts the backup in place of the phone's file. Texts that had not left the phone are lost with it.
    mutating func restorePhone() async throws {
        try await notebook("phone").close()
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path("phone" + end)) }
        try FileManager.default.copyItem(atPath: path("backup"), toPath: path("phone"))
        texts = texts.filter { $0.value.unsent != "phone" }
        try await open("phone")
    }

    mutating func updateTablet() async throws {
        try await notebook("tablet").close()
        isOld = false
        try await open("tablet")
    }

    /// In the evening, all of them are on.
    mutating func meet() async throws {
        for _ in 0..<4 { for name in copies.keys.sorted() { try await synchronize(name) } }
    }

    func check(_ seed: Comment) async throws -> Int {
        var notes: [String: [Note]] = [:], versions: [String: [Version]] = [:], tags: [String: [NoteTag]] = [:]
        for (name, copy) in copies {
            notes[name] = try await copy.pool.read { db in try db.fetchAll(Note.order { $0.id }) }
            versions[name] = try await copy.pool.read { db in try db.fetchAll(Version.order { $0.id }) }
            tags[name] = try await copy.pool.read { db in
                try db.fetchAll(NoteTag.self, "SELECT * FROM note_tag ORDER BY note, tag")
            }
            let store = try #require(stores[name]), exchanged = try await copy.synchronize(with: store)
            #expect(exchanged.received + exchanged.sent == 0, seed)
        }
        #expect(Set(notes.values).count == 1 && Set(versions.values).count == 1 && Set(tags.values).count == 1, seed)
        let kept = Set(notes["phone", default: []].map(\.body) + versions["phone", default: []].map(\.text))
        let replaced = texts.values.reduce(into: Set<String>()) { $0.formUnion($1.replaced) }
        for (text, written) in texts where !written.wasDeleted && !replaced.contains(text) {
            #expect(kept.contains(text), "\(seed): the text of the note \(written.note)")
        }
        #expect(texts.count > 30, seed)
        return conflicts
    }
}

/// SplitMix64: the same numbers for the same seed.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
