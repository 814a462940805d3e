import Foundation
import SQLCipherKit
import Testing
@testable import NotesKit

@Suite struct NotebookTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func open(_ name: String) throws -> Notebook {
        try Notebook(at: folder.appendingPathComponent(name).path, key: .passphrase("correct horse"))
    }

    @Test func `notes are kept, found and deleted`() throws {
        let notes = try open("a.db")
        let note = try notes.add("Sourdough", "Feed the starter, then bake.", folder: "Kitchen", tags: ["bread", "weekend"])
        try notes.add("Bicycle", "Oil the chain.", folder: "Garage")
        try notes.attach(Data([1, 2, 3]), named: "crumb.jpg", to: note.id)
        #expect(try notes.attachments(of: note).map(\.content) == [Data([1, 2, 3])])
        #expect(try notes.search("sourdogh bakign").map(\.note.title) == ["Sourdough"])
        #expect(try notes.search("baking").first?.excerpt.contains("[bake]") == true)
        #expect(try notes.search("bake", in: "Garage").isEmpty)
        try notes.change(note, body: "Feed the starter, then wait.")
        #expect(try notes.note(note.id)?.body.hasSuffix("wait.") == true)
        #expect(try notes.search("bake").isEmpty)
        try notes.delete(note.id)
        #expect(try notes.search("starter").isEmpty)
        #expect(try notes.attachments(of: note).isEmpty)
        try notes.close()
        #expect(try !Data(contentsOf: folder.appendingPathComponent("a.db")).starts(with: Data("SQLite".utf8)))
    }

    @Test func `a shelf has its newest notes with their tags`() throws {
        let notes = try open("a.db")
        for number in 1...5 { try notes.add("Note \(number)", "", folder: "Inbox", tags: ["b", "a"]) }
        let shelves = try notes.shelves(newest: 2)
        #expect(shelves.map(\.folder.name) == ["Inbox"])
        #expect(shelves.map(\.count) == [5])
        #expect(shelves[0].newest.map(\.note.title) == ["Note 5", "Note 4"])
        #expect(shelves[0].newest.map { $0.tags.map(\.name) } == [["a", "b"], ["a", "b"]])
    }

    @Test func `two copies that were edited offline become equal`() async throws {
        let (laptop, phone) = (try open("laptop.db"), try open("phone.db")), shared = folder.appendingPathComponent("shared").path
        let note = try laptop.add("Plan", "Draft", folder: "Work", tags: ["todo"])
        for notes in [laptop, phone] { try await notes.synchronize(through: shared) }
        let copy = try #require(try phone.note(note.id))
        // Each changes another column, and adds a folder of the same name.
        try laptop.change(note, title: "The plan")
        try phone.change(copy, body: "Final")
        try laptop.add("On the laptop", "", folder: "Home")
        try phone.add("On the phone", "a quick fox", folder: "Home")
        for notes in [phone, laptop, phone, laptop] { try await notes.synchronize(through: shared) }
        #expect(try laptop.shelves(newest: 10) == phone.shelves(newest: 10))
        #expect(try phone.note(note.id).map { [$0.title, $0.body] } == ["The plan", "Final"])
        for copy in [laptop, phone] { #expect(try copy.search("quikc").map(\.note.title) == ["On the phone"]) }
    }

    @Test func `changes are observed`() async throws {
        let notes = try open("a.db")
        var counts: [Int] = []
        for try await shelves in notes.shelfChanges() {
            counts.append(shelves.first?.count ?? 0)
            if counts.count == 3 { break }
            try notes.add("Another", "", folder: "Inbox")
        }
        #expect(counts == [0, 1, 2])
    }

    @Test func `the records describe the tables that the migrations make`() throws {
        let differences = try open("a.db").pool.read { db in
            try db.main.differences(from: [Folder.self, Note.self, Tag.self, NoteTag.self, Attachment.self])
        }
        #expect(differences == [])
    }
}
