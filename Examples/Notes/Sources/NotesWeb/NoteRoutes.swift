import Foundation
import Hummingbird
import NotesKit

/// A note as the page sends it.
struct Draft: Decodable {
    var title: String
    var body: String
    var folder: String?
    var tags: [String]?

    func checked() throws -> Draft {
        if title.isEmpty { throw HTTPError(.badRequest, message: "a note needs a title") }
        if title.count > 300 { throw HTTPError(.badRequest, message: "a title has at most 300 characters") }
        return self
    }
}

/// A note as the page gets it to edit.
struct EditableNote: ResponseEncodable {
    var id: ID
    var title: String
    var body: String
    var folder: String?
    var pinned: Bool

    init(_ note: Note) { (id, title, body, folder, pinned) = (note.id, note.title, note.body, note.folder, note.pinned) }
}

/// Reads and changes single notes. Each page learns of a change by its events, not by the answer.
struct NoteRoutes {
    let notebook: Notebook
    let shared: String?

    var endpoints: RouteCollection<BasicRequestContext> {
        RouteCollection(context: BasicRequestContext.self)
            .post("notes", use: add)
            .get("notes/:id", use: show)
            .put("notes/:id", use: change)
            .put("notes/:id/pinned", use: pin)
            .delete("notes/:id", use: delete)
            .post("synchronize", use: synchronize)
    }

    private func note(_ context: BasicRequestContext) throws -> Note {
        let id = try context.parameters.require("id", as: ID.self)
        guard let note = try notebook.note(id) else { throw HTTPError(.notFound, message: "there is no such note") }
        return note
    }

    @Sendable func add(_ request: Request, context: BasicRequestContext) async throws -> EditedResponse<EditableNote> {
        let draft = try await request.decode(as: Draft.self, context: context).checked()
        let note = try notebook.add(draft.title, draft.body, folder: draft.folder, tags: draft.tags ?? [])
        return EditedResponse(status: .created, headers: [.location: "/notes/\(note.id)"], response: EditableNote(note))
    }

    @Sendable func show(_ request: Request, context: BasicRequestContext) async throws -> EditableNote {
        EditableNote(try note(context))
    }

    @Sendable func change(_ request: Request, context: BasicRequestContext) async throws -> HTTPResponse.Status {
        let draft = try await request.decode(as: Draft.self, context: context).checked()
        try notebook.change(note(context), title: draft.title, body: draft.body)
        return .noContent
    }

    @Sendable func pin(_ request: Request, context: BasicRequestContext) async throws -> HTTPResponse.Status {
        let pinned = try await request.decode(as: Bool.self, context: context)
        try notebook.pin(note(context).id, pinned)
        return .noContent
    }

    @Sendable func delete(_ request: Request, context: BasicRequestContext) async throws -> HTTPResponse.Status {
        try notebook.delete(note(context).id)
        return .noContent
    }

    struct Exchange: ResponseEncodable {
        var received: Int
        var sent: Int
    }

    @Sendable func synchronize(_ request: Request, context: BasicRequestContext) async throws -> Exchange {
        guard let shared else { throw HTTPError(.conflict, message: "start the server with --sync FOLDER") }
        let changes = try await notebook.synchronize(through: shared)
        return Exchange(received: changes.received, sent: changes.sent)
    }
}
