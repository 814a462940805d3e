import Foundation
import SQLCipherKit
import Security
import SwiftUI

struct Note: SQLRecord, Identifiable, Hashable {
    var id: Int64?
    var title: String
    var body: String
    static let table = SQLTable(of: Note.self) {
        $0.id.primaryKey()
        $0.title
        $0.body
    }
}

enum NotesDatabase {
    static func open(in folder: URL) throws -> DatabasePool {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        let location = DatabaseLocation.file(
            folder.appendingPathComponent("notes.db"))
        try location.setFileProtection(
            .completeUntilFirstUserAuthentication)
        let item = try KeychainItem(
            service: "com.example.notes", account: "notes.db")

        var migrator = Migrator()
        migrator.add("notes") { db in
            try db.create(Note.table)
            try db.create(FTS5Table(
                "note_fts", columns: ["title", "body"],
                content: .external(table: "note")))
        }
        let pool = try DatabasePool(location, key: item.keyOrNewOne())
        try migrator.migrate(pool)
        return pool
    }
}

struct NotesScreen: View {
    let pool: DatabasePool
    @State private var query = ""
    @State private var notes: [Note] = []
    @State private var problem: String?

    var body: some View {
        VStack {
            if let problem { Text(problem) }
            List(notes) { note in
                Text(note.title)
            }
            .searchable(text: $query)
            Button("Add") { Task { await add() } }
        }
        .task(id: query) { await show() }
    }

    /// Shows what is found now, and again after each change.
    private func show() async {
        do {
            for try await found in Self.notes(in: pool, for: query) {
                notes = found
            }
        } catch {
            problem = "\(error)"
        }
    }

    private static func notes(
        in pool: DatabasePool, for query: String
    ) -> DatabaseObservation<[Note]> {
        pool.observe { db in
            if query.isEmpty {
                return try db.fetchAll(Note.order { $0.title })
            }
            let index = try db.fullText("note_fts")
            return try index.search(query, limit: 50).hits
                .compactMap { try db.fetchOne(Note.self, id: $0.rowID) }
        }
    }

    private func add() async {
        do {
            try await pool.write { db in
                try db.insert(Note(title: "New note", body: ""))
            }
        } catch {
            problem = "\(error)"
        }
    }
}

/// The screen of the article "In an app" shows a note that is there, and one that its button adds.
@MainActor func checkScreen() async throws {
    StandIn.items = []
    let place = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("app-\(UUID().uuidString)")
    defer { try? Foundation.FileManager.default.removeItem(at: place) }
    var pool = try NotesDatabase.open(in: place)
    try await pool.write { db in try db.insert(Note(title: "Bakery", body: "First we bake.")) }
    try await pool.close()
    pool = try NotesDatabase.open(in: place)
    expect(FileManager.seen[place.path] == FileProtectionType.completeUntilFirstUserAuthentication.rawValue)
    expect(StandIn.items.count == 1 && StandIn.items[0]["access group"] == nil)

    let screen = NotesScreen(pool: pool)
    expect(StandInScreen.draw(screen).isEmpty)
    let action = StandInScreen.task
    let task = Task { await action?() }
    func shows(_ texts: [String]) async throws -> Bool {
        for _ in 0..<500 where StandInScreen.draw(screen) != texts { try await Task.sleep(for: .milliseconds(10)) }
        return StandInScreen.draw(screen) == texts
    }
    let first = try await shows(["Bakery"])
    StandInScreen.actions["Add"]?()
    let second = try await shows(["Bakery", "New note"])
    expect(first && second)
    task.cancel()
    await task.value
    let suspension = pool.observeSuspension(
        suspending: Notification.Name("background"), resuming: Notification.Name("foreground"))
    NotificationCenter.default.post(name: Notification.Name("background"), object: nil)
    expect(pool.isSuspended)
    NotificationCenter.default.post(name: Notification.Name("foreground"), object: nil)
    expect(!pool.isSuspended)
    withExtendedLifetime(suspension) {}
    try await pool.close()
}
