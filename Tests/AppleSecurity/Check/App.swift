import Foundation
import SQLCipherKit
import Security
import SwiftUI

/// A screen of the article "In an app", whose own blocks are compiled beside this file. It is drawn as SwiftUI would draw it: again
/// after what it read has changed.
@MainActor private final class Window {
    private let view: any View
    private(set) var texts: [String] = []
    private(set) var drawings = 0

    init(_ view: any View) {
        self.view = view
        draw()
        for task in StandInScreen.tasks { Task { await task() } }
    }

    func draw() {
        drawings += 1
        texts = StandInScreen.draw(view) { [weak self] in Task { @MainActor in self?.draw() } }
    }

    func shows(_ expected: [String], _ line: Int = #line) async throws {
        for _ in 0..<1000 where texts != expected { try await Task.sleep(for: .milliseconds(5)) }
        if texts != expected { print("\(texts) instead of \(expected)") }
        expect(texts == expected, line)
    }
}

/// The first start: a view of progress, then the screen with its search field.
@MainActor func checkApp() async throws {
    StandIn.items = []
    let place = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("support-\(UUID().uuidString)")
    defer { try? Foundation.FileManager.default.removeItem(at: place) }
    URL.applicationSupportDirectory = place
    guard let scene = NotesApp().body as? any View else { return expect(false) }
    let window = Window(scene)
    expect(window.texts == ["…"])
    for _ in 0..<1000 where StandInScreen.field == nil { try await Task.sleep(for: .milliseconds(5)) }
    expect(StandInScreen.field != nil && window.texts == ["…"])
    expect(Foundation.FileManager.default.fileExists(atPath: place.appendingPathComponent("Notes/notes.db").path))
}

/// A list that grows, a search, a note that is added, one that is looked at, an error, and their end.
@MainActor func checkScreen() async throws {
    StandIn.items = []
    let place = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("app-\(UUID().uuidString)")
    defer { try? Foundation.FileManager.default.removeItem(at: place) }
    var pool = try NotesDatabase.open(in: place)
    try await pool.write { db in
        try db.insert(Note(title: "Bakery", body: "First we bake."))
        for number in 10..<70 { try db.insert(Note(title: "Note \(number)", body: "")) }
    }
    try await pool.close()
    pool = try NotesDatabase.open(in: place)
    expect(FileManager.seen[place.path] == FileProtectionType.completeUntilFirstUserAuthentication.rawValue)
    expect(StandIn.items.count == 1 && StandIn.items[0]["access group"] == nil)

    var window: Window? = Window(NotesScreen(database: pool))
    let all = ["Bakery"] + (10..<70).map { "Note \($0)" }
    expect(window?.texts == ["…"])
    try await window?.shows(Array(all.prefix(50)))
    // All rows appear; the last of them asks for more.
    for appear in StandInScreen.appearances { appear() }
    try await window?.shows(all)
    StandInScreen.actions["Add"]?()
    try await window?.shows(["Bakery", "New note"] + all.dropFirst())
    let drawings = window?.drawings ?? 0
    for text in ["b", "ba", "baking"] { StandInScreen.field?.wrappedValue = text }
    try await window?.shows(["Bakery"])
    expect((window?.drawings ?? 0) - drawings <= 4)
    StandInScreen.field?.wrappedValue = "xyzzy"
    try await window?.shows(["Nothing found"])
    StandInScreen.field?.wrappedValue = "baking"
    try await window?.shows(["Bakery"])

    let id = try await pool.read { db in try db.fetchOne(Int64.self, "SELECT id FROM note WHERE title = 'Bakery'") } ?? 0
    guard let detail = StandInScreen.destination(of: id) else { return expect(false) }
    var note: Window? = Window(detail)
    try await note?.shows(["First we bake.", "Bakery"])
    try await pool.write { db in try db.execute("UPDATE note SET body = 'Then we sell.' WHERE id = \(id)") }
    try await note?.shows(["Then we sell.", "Bakery"])
    try await pool.write { db in try db.execute("DELETE FROM note WHERE id = \(id)") }
    try await note?.shows(["This note was deleted.", ""])
    note = nil

    try await window?.shows(["Nothing found"])
    window?.draw()
    try await pool.write { db in try db.fullText("note_fts").drop() }
    for _ in 0..<1000 where StandInScreen.actions["Try again"] == nil { try await Task.sleep(for: .milliseconds(5)) }
    try await pool.write { db in
        try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
    }
    StandInScreen.actions["Try again"]?()
    try await window?.shows(["Nothing found"])
    window = nil
    StandInScreen.draw(Text(""))
    let suspension = pool.observeSuspension(
        suspending: Notification.Name("background"), resuming: Notification.Name("foreground"))
    NotificationCenter.default.post(name: Notification.Name("background"), object: nil)
    expect(pool.isSuspended)
    NotificationCenter.default.post(name: Notification.Name("foreground"), object: nil)
    expect(!pool.isSuspended)
    withExtendedLifetime(suspension) {}
    try await pool.close()
}
