import Foundation
import SQLCipherKit
import SQLCipherKitVectors
import Testing
@testable import NotesKit

@Suite struct NotebookTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func open(_ name: String) async throws -> Notebook {
        try await Notebook(at: folder.appendingPathComponent(name).path, key: .passphrase("correct horse"))
    }

    @Test func `notes are kept, found and deleted`() async throws {
        let notes = try await open("a.db")
        let note = try await notes.add("Sourdough", "Feed the starter, then bake.", folder: "Kitchen", tags: ["bread", "weekend"])
        try await notes.add("Bicycle", "Oil the chain.", folder: "Garage")
        try await notes.attach(Data([1, 2, 3]), named: "crumb.jpg", to: note.id)
        #expect(try await notes.attachments(of: note).map(\.content) == [Data([1, 2, 3])])
        #expect(try await notes.search("sourdogh bakign").map(\.note.title) == ["Sourdough"])
        #expect(try await notes.search("baking").first?.excerpt.description.contains("[bake]") == true)
        #expect(try await notes.search("sourdough").first?.excerpt.description == "Feed the starter, then bake.")
        #expect(try await notes.search("bake", in: "Garage").isEmpty)
        try await notes.save(.init(body: .init(note.body, "Feed the starter, then wait.")), to: note.id)
        #expect(try await notes.note(note.id)?.body.hasSuffix("wait.") == true)
        #expect(try await notes.search("bake").isEmpty)
        try await notes.save(.init(deleted: true), to: note.id)
        #expect(try await notes.search("starter").isEmpty)
        #expect(try await notes.shelves().map(\.count) == [1, 0])
        var deleted = Notebook.Question()
        deleted.part = .deleted
        #expect(try await notes.screen(deleted).rows.map(\.note.id) == [note.id])
        try await notes.save(.init(deleted: false), to: note.id)
        #expect(try await notes.search("starter").map(\.note.id) == [note.id])
        #expect(try await notes.attachments(of: note).map(\.name) == ["crumb.jpg"])
        #expect(try await notes.discard(note.id))
        #expect(try await !notes.discard(note.id))
        #expect(try await notes.search("starter").isEmpty)
        #expect(try await notes.attachments(of: note).isEmpty)
        try await notes.close()
        #expect(try !Data(contentsOf: folder.appendingPathComponent("a.db")).starts(with: Data("SQLite".utf8)))
    }

    @Test func `no saved text is replaced that was not seen`() async throws {
        let notes = try await open("a.db"), id = try await notes.add("Plan", "Draft", id: 7).id
        // Saving a second time is what a page does if the answer was lost.
        #expect(try await notes.add("Plan", "Draft", id: 7).id == id)
        func save(_ edits: Notebook.Edits) async throws -> String {
            switch try await notes.save(edits, to: id) {
            case .saved(let note): "saved \(note.title), \(note.body)"
            case .conflict(let note): "conflict \(note.title), \(note.body)"
            case nil: "missing"
            }
        }
        for _ in 0..<2 { #expect(try await save(.init(body: .init("Draft", "One"))) == "saved Plan, One") }
        // A page that had opened it before that. Fields that the page has not changed are not compared.
        #expect(try await save(.init(title: .init("Plan", "The plan"))) == "saved The plan, One")
        #expect(try await save(.init(title: .init("The plan", "A plan"), body: .init("Draft", "Two"))) == "conflict The plan, One")
        // Texts are the same if their bytes are.
        #expect(try await save(.init(body: .init("One", "\u{e9}"))) == "saved The plan, \u{e9}")
        #expect(try await save(.init(body: .init("e\u{301}", "Three"))) == "conflict The plan, \u{e9}")
        _ = try await save(.init(deleted: true))
        #expect(try await save(.init(body: .init("\u{e9}", "Four"))) == "conflict The plan, \u{e9}")
        #expect(try await save(.init(body: .init("\u{e9}", "Four"), deleted: false)) == "saved The plan, Four")
        try await notes.discard(id)
        #expect(try await save(.init(pinned: true)) == "missing")
    }

    @Test func `a shelf has its newest notes with their tags`() async throws {
        let notes = try await open("a.db")
        for number in 1...5 {
            try await notes.add("Note \(number)", "", folder: "Inbox", tags: ["b", "a"])
            // Times have milliseconds.
            try await Task.sleep(for: .milliseconds(2))
        }
        let shelves = try await notes.shelves(newest: 2)
        #expect(shelves.map(\.folder.name) == ["Inbox"])
        #expect(shelves.map(\.count) == [5])
        #expect(shelves[0].newest.map(\.note.title) == ["Note 5", "Note 4"])
        #expect(shelves[0].newest.map { $0.tags.map(\.name) } == [["a", "b"], ["a", "b"]])
    }

    @Test func `two copies that were edited offline become equal`() async throws {
        let (laptop, phone) = (try await open("laptop.db"), try await open("phone.db"))
        let shared = folder.appendingPathComponent("shared").path
        let note = try await laptop.add("Plan", "Draft", folder: "Work", tags: ["todo"])
        for notes in [laptop, phone] { try await notes.synchronize(through: shared) }
        let copy = try #require(try await phone.note(note.id))
        // The copies change different columns, and add a folder of the same name.
        try await laptop.save(.init(title: .init("Plan", "The plan")), to: note.id)
        try await phone.save(.init(body: .init(copy.body, "Final")), to: note.id)
        try await laptop.add("On the laptop", "", folder: "Home")
        try await phone.add("On the phone", "a quick fox", folder: "Home")
        for notes in [phone, laptop, phone, laptop] { try await notes.synchronize(through: shared) }
        #expect(try await laptop.shelves(newest: 10) == phone.shelves(newest: 10))
        #expect(try await laptop.shelves().map { "\($0.folder.name) \($0.count)" } == ["Home 2", "Work 1"])
        #expect(try await phone.note(note.id).map { [$0.title, $0.body] } == ["The plan", "Final"])
        for copy in [laptop, phone] { #expect(try await copy.search("quikc").map(\.note.title) == ["On the phone"]) }
    }

    @Test func `texts of copies that had not met stand beside each other until a person has seen both`() async throws {
        var (laptop, phone) = (try await open("laptop.db"), try await open("phone.db"))
        (laptop.device, phone.device) = ("Laptop", "Phone")
        struct NotSaved: Error {}
        let copies = [laptop, phone], shared = folder.appendingPathComponent("shared").path
        let stores = try copies.map { try $0.changeStore(in: shared) }
        func meet() async throws {
            for _ in 0..<2 { for (copy, store) in zip(copies, stores) { try await copy.synchronize(with: store) } }
        }
        let id = try await laptop.add("Plan", "Draft").id
        try await meet()
        /// The text of the note and the conflict, the same in both copies.
        func state() async throws -> String {
            try await meet()
            var states: Set<String> = []
            for copy in copies {
                let note = try #require(try await copy.note(id)), versions = try await copy.conflict(of: id)
                let screen = try await copy.screen()
                var conflicts = Notebook.Question()
                conflicts.part = .conflicts
                #expect(screen.conflicts == (versions.isEmpty ? 0 : 1))
                #expect(try await copy.screen(conflicts).rows.map(\.note.id) == (versions.isEmpty ? [] : [id]))
                if note.deleted == nil { #expect(screen.rows.map(\.isDisputed) == [!versions.isEmpty]) }
                let others = versions.filter { $0.field == "body" }.map { "\($0.device ?? "?"): \($0.text)" }.sorted()
                states.insert(([note.deleted == nil ? note.body : "(\(note.body))"] + others).joined(separator: ", "))
            }
            return states.sorted().joined(separator: " | ")
        }
        func save(_ copy: Notebook, _ was: String, _ now: String, settles: [Int64]? = nil, deleted: Bool? = nil) async throws {
            let edits = Notebook.Edits(body: .init(was, now), deleted: deleted, settles: settles)
            guard case .saved = try await copy.save(edits, to: id) else { throw NotSaved() }
            // Times have milliseconds.
            try await Task.sleep(for: .milliseconds(2))
        }
        try await save(laptop, "Draft", "One")
        try await save(phone, "Draft", "Two")
        #expect(try await state() == "Two, Laptop: One, Phone: Two")
        // Text that a person types without having seen the other one settles nothing.
        try await save(phone, "Two", "Two more")
        #expect(try await state() == "Two more, Laptop: One, Phone: Two more")
        // A copy that has not met the others yet goes on from its own text, while the other one settles.
        let seen = try await laptop.conflict(of: id).map(\.id)
        try await save(phone, "Two more", "Three")
        try await save(laptop, "Two more", "One and two more", settles: seen)
        #expect(try await state() == "One and two more, Laptop: One and two more, Phone: Three")
        // Keeping the text that is there.
        try await laptop.save(.init(settles: laptop.conflict(of: id).map(\.id)), to: id)
        #expect(try await state() == "One and two more")
        // Changes of different fields, and the same change in both copies, are no conflict.
        try await laptop.save(.init(title: .init("Plan", "The plan")), to: id)
        for copy in copies { try await save(copy, "One and two more", "Four") }
        #expect(try await state() == "Four")
        // One copy deletes, and another one changes.
        try await laptop.save(.init(deleted: true), to: id)
        try await save(phone, "Four", "Five")
        #expect(try await state() == "(Five), Phone: Five")
        try await laptop.save(.init(deleted: false), to: id)
        #expect(try await state() == "Five")
        // A note that was deleted and restored has its text as before.
        try await save(laptop, "Five", "Six")
        for deleted in [true, false] { try await laptop.save(.init(deleted: deleted), to: id) }
        try await save(phone, "Five", "Seven")
        #expect(try await state() == "Seven, Laptop: Six, Phone: Seven")
        try await phone.save(.init(deleted: true), to: id)
        #expect(try await state() == "(Seven), Laptop: Six")
    }

    @Test func `an application without a column goes on until it is updated`() async throws {
        let (laptop, shared) = (try await open("laptop.db"), folder.appendingPathComponent("shared").path)
        // The phone has the application before notes could be pinned.
        let path = folder.appendingPathComponent("phone.db").path, key = try DatabaseKey.passphrase("correct horse")
        let old = try await Notebook(at: path, key: key, migratedThrough: "notes, folders, tags and attachments")
        let note = try await laptop.add("Plan", "Draft", folder: "Work")
        try await laptop.save(.init(pinned: true), to: note.id)
        try await laptop.synchronize(through: shared)
        try await old.write { db in
            try db.execute("INSERT INTO folder VALUES ('Phone')")
            try db.execute("INSERT INTO note VALUES (7, 'Phone', 'Old', 'a quick fox', '2026-01-01 00:00:00.000')")
        }
        for _ in 0..<2 {
            await #expect { try await old.synchronize(through: shared) } throws: { ($0 as? DatabaseError)?.code == .schema }
        }
        // The laptop has the phone's note, and the phone gets the laptop's when its application is updated.
        try await laptop.synchronize(through: shared)
        #expect(try await laptop.search("quikc").map(\.note.title) == ["Old"])
        #expect(try await laptop.note(7)?.pinned == false)
        try await old.close()
        let phone = try await open("phone.db")
        try await phone.synchronize(through: shared)
        #expect(try await phone.shelves(newest: 10) == laptop.shelves(newest: 10))
        #expect(try await phone.note(note.id)?.pinned == true)
    }

    /// Two devices, each with the program, and a folder between them. One of them has the program before notes could be pinned.
    @Test func `the program synchronizes through a folder`() async throws {
        let keyFile = folder.appendingPathComponent("key")
        try Data("correct horse\n".utf8).write(to: keyFile)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile.path)
        func run(_ words: String..., text: String = "", status: Int32 = 0) throws -> String {
            let process = Process(), (input, output) = (Pipe(), Pipe())
            // Beside the bundle of the tests.
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
            let tests = bundle?.bundleURL ?? Bundle.main.executableURL
            process.executableURL = tests?.deletingLastPathComponent().appendingPathComponent("notes")
            process.arguments = words
            process.currentDirectoryURL = folder
            process.environment = ["NOTES_KEY_FILE": keyFile.path]
            (process.standardInput, process.standardOutput) = (input, output)
            try process.run()
            try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try input.fileHandleForWriting.close()
            let said = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == status, "\(words)")
            return String(decoding: said, as: UTF8.self)
        }
        let id = try run("laptop.db", "add", "Sourdough", "--in", "Kitchen", "--tag", "bread", text: "Feed the starter, then bake.")
            .trimmingCharacters(in: .newlines)
        #expect(try run("laptop.db", "sync", "shared") == "0 changes received, 1 sent\n")
        let path = folder.appendingPathComponent("phone.db").path, key = try DatabaseKey.passphrase("correct horse")
        let old = try await Notebook(at: path, key: key, migratedThrough: "notes, folders, tags and attachments")
        try await old.write { try $0.execute("INSERT INTO folder VALUES ('Garage')") }
        try await old.close()
        _ = try run("laptop.db", "pin", id)
        _ = try run("laptop.db", "add", "Bicycle", "--in", "Garage", text: "Oil the chain.")
        for name in ["laptop.db", "phone.db", "laptop.db", "phone.db"] { _ = try run(name, "sync", "shared") }
        let list = try run("laptop.db", "list")
        #expect(list.contains("Garage (1)\n") && list.contains("Kitchen (1)\n  \(id)  Sourdough #bread\n"))
        #expect(try run("phone.db", "list") == list)
        #expect(try run("phone.db", "search", "starer").contains("Feed the [starter], then bake."))
        _ = try run("phone.db", "delete", id)
        for name in ["phone.db", "laptop.db"] { _ = try run(name, "sync", "shared") }
        #expect(try run("laptop.db", "show", id, status: 1).isEmpty)
        #expect(try run("phone.db", "sync", "shared") == "0 changes received, 0 sent\n")
    }

    @Test func `changes are observed`() async throws {
        let notes = try await open("a.db")
        var counts: [Int] = []
        for try await shelves in notes.shelfChanges() {
            counts.append(shelves.first?.count ?? 0)
            if counts.count == 3 { break }
            try await notes.add("Another", "", folder: "Inbox")
        }
        #expect(counts == [0, 1, 2])
    }

    @Test func `a screen has what was typed, and follows each change`() async throws {
        let notes = try await open("a.db")
        let note = try await notes.add("Sourdough", "Feed the starter, then bake.", folder: "Kitchen", tags: ["weekend", "bread"])
        try await notes.add("Bicycle", "Oil the chain.", folder: "Garage")
        var seen: [[String]] = []
        for try await _ in notes.changes() {
            seen.append(try await notes.screen(.init("baking")).rows.map { "\($0.title) \($0.tags)" })
            if seen.count == 1 { try await notes.add("Pies", "Bake them for an hour.", folder: "Kitchen") }
            if seen.count == 2 { try await notes.save(.init(title: .init("Sourdough", "Sourdough bread")), to: note.id) }
            if seen.count == 3 { break }
        }
        #expect(seen.map(\.count) == [1, 2, 2])
        #expect(seen[0] == ["Sourdough [\"bread\", \"weekend\"]"])
        #expect(seen[2].contains("Sourdough bread [\"bread\", \"weekend\"]"))
        // Without a text, the pinned and the newest notes.
        try await notes.save(.init(pinned: true), to: note.id)
        #expect(try await notes.screen().rows.map(\.note.title) == ["Sourdough bread", "Pies", "Bicycle"])
        #expect(try await notes.screen(.init(in: "Kitchen")).rows.map(\.note.title) == ["Sourdough bread", "Pies"])
        #expect(try await notes.screen(.init(in: "Nowhere")).folders.map(\.name) == ["Garage", "Kitchen"])
    }

    @Test func `a screen counts what it has found, in folders and tags`() async throws {
        let notes = try await open("a.db")
        for number in 1...60 {
            let tags = number % 2 == 0 ? ["red"] : []
            try await notes.add("Fox \(number)", "", folder: number % 3 == 0 ? "Wood" : "Field", tags: tags)
        }
        try await notes.add("Hedgehog", "", folder: "Wood")
        try await notes.save(.init(deleted: true), to: notes.add("Fox", "", folder: "Wood", tags: ["red"]).id)
        func counts(_ question: Notebook.Question) async throws -> String {
            let screen = try await notes.screen(question)
            let groups = (screen.folders + screen.tags).map { "\($0.name) \($0.count)" }.joined(separator: " ")
            return "\(screen.rows.count)/\(screen.total)/\(screen.all) \(groups)"
        }
        #expect(try await counts(.init()) == "50/61/61 Field 40 Wood 21 red 30")
        #expect(try await counts(.init("fox")) == "50/60/61 Field 40 Wood 20 red 30")
        #expect(try await counts(.init("fox", in: "Wood")) == "20/20/61 Field 40 Wood 20 red 30")
        #expect(try await counts(.init("fox", in: "Wood", tagged: "red")) == "10/10/61 Field 40 Wood 20 red 30")
        #expect(try await counts(.init("", in: "Wood", tagged: "red")) == "10/10/61 Field 40 Wood 21 red 30")
        #expect(try await notes.screen(.init("hegdehog")).correction == "hedgehog")
    }

    @Test func `similar notes are found without a common tag or folder`() async throws {
        let notes = try await open("a.db")
        let bread = try await notes.add("Sourdough", "Feed the starter with flour and water, then bake it in the oven.")
        let rolls = try await notes.add("Rolls", "Knead flour, yeast and water. Bake them in a hot oven.", folder: "Kitchen")
        let bicycle = try await notes.add("Bicycle", "Oil the chain, and check both brakes.")
        try await notes.add("…", "")
        func similar(to note: Note, in notes: Notebook) async throws -> [String] {
            try await notes.similar(to: note.id).map(\.title)
        }
        #expect(try await similar(to: bread, in: notes) == ["Rolls"])
        #expect(try await similar(to: bicycle, in: notes) == [])
        // A text that has changed is like other ones.
        try await notes.save(.init(body: .init(rolls.body, "The chain of a bicycle rolls. Check its brakes.")), to: rolls.id)
        #expect(try await similar(to: bread, in: notes) == [])
        #expect(try await similar(to: bicycle, in: notes) == ["Rolls"])
        // Another copy makes its own vectors, and a deleted note is like none.
        let shared = folder.appendingPathComponent("shared").path, other = try await open("b.db")
        try await notes.synchronize(through: shared)
        try await other.synchronize(through: shared)
        #expect(try await similar(to: bicycle, in: other) == ["Rolls"])
        try await notes.save(.init(deleted: true), to: rolls.id)
        #expect(try await similar(to: bicycle, in: notes) == [])
        #expect(try await notes.similar(to: 1) == [])
    }

    @Test func `files are imported, all or none`() async throws {
        let notes = try await open("a.db"), files = folder.appendingPathComponent("files")
        try FileManager.default.createDirectory(at: files.appendingPathComponent("more"), withIntermediateDirectories: true)
        let text = "# ``Keys``\n\nA key.\n\n## Empty\n\n## A script\n\n```sh\n# No heading\nrun\n```\n"
        try Data(text.utf8).write(to: files.appendingPathComponent("keys.md"))
        try Data("No heading".utf8).write(to: files.appendingPathComponent("more/plain.txt"))
        try Data([0xff]).write(to: files.appendingPathComponent("picture.png"))
        #expect(try await notes.importFiles(below: files.path, into: "Guide") == 3)
        #expect(try await Set(notes.search("key").map(\.note.title)) == ["Keys", "Keys: A script"])
        let script = try #require(try await notes.search("run").first?.note)
        #expect(script.title == "Keys: A script" && script.body == "```sh\n# No heading\nrun\n```\n\n")
        #expect(try await notes.pool.read { db in try db.vectors("note_vectors").missingCount } == 0)
        #expect(try await Set(notes.search("heading").map(\.note.title)) == ["Keys: A script", "more/plain.txt"])
        try Data([0xff]).write(to: files.appendingPathComponent("broken.txt"))
        await #expect(throws: (any Error).self) { try await notes.importFiles(below: files.path, into: "Other") }
        #expect(try await notes.shelves().map { "\($0.folder.name) \($0.count)" } == ["Guide 3"])
    }

    @Test func `the records describe the tables that the migrations make`() async throws {
        let differences = try await open("a.db").pool.read { db in
            try db.main.differences(from: [Folder.self, Note.self, Tag.self, NoteTag.self, Attachment.self])
        }
        #expect(differences == [])
    }
}
