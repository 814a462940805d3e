import Foundation
import Hummingbird
import NotesKit

/// The request of a page. Texts that were changed come with what they were, so the limit is that of two long texts.
struct NotesContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    var maxUploadSize: Int { 8 << 20 }

    init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }

    var id: ID {
        get throws { try parameters.require("id", as: ID.self) }
    }
}

/// A new note. Its id comes from the page, which can send it a second time if the answer was lost.
struct NewNote: Decodable {
    var id: ID?
    var title, body: String
    var folder: String?
    var tags: [String]?
}

/// A note as the page gets it to edit.
struct EditableNote: ResponseCodable {
    var id: ID
    var title, body: String
    var folder: String?
    var pinned, deleted: Bool
    /// The texts that other copies have left instead, and the versions that a form with them settles when it is saved.
    var others: [Other]
    var settles: [ID]
    /// The notes that are most like it.
    var similar: [Similar]

    struct Similar: Codable { var id: ID, title: String }

    struct Other: Codable {
        var field, text: String
        var device: String?
    }

    init(_ note: Note, _ conflict: [Version] = [], similar: [Note] = []) {
        (id, title, body, folder) = (note.id, note.title, note.body, note.folder)
        (pinned, deleted) = (note.pinned, note.deleted != nil)
        others = conflict.filter { !$0.text.hasBytes(of: $0.field == "title" ? note.title : note.body) }
            .map { Other(field: $0.field, text: $0.text, device: $0.device) }
        settles = conflict.map(\.id)
        self.similar = similar.map { Similar(id: $0.id, title: $0.title) }
    }
}

/// Reads and changes single notes. Each page learns of a change by its events, not by the answer.
struct NoteRoutes {
    let notebook: Notebook
    let exchange: CopyExchange?

    var endpoints: RouteCollection<NotesContext> {
        RouteCollection(context: NotesContext.self)
            .post("notes", use: add)
            .get("notes/:id", use: show)
            .patch("notes/:id", use: change)
            .delete("notes/:id", use: discard)
            .get("draft-key") { [key = notebook.draftKey] _, _ in DraftKey(key: key.base64EncodedString()) }
            .put("exchange", use: setExchange)
    }

    struct DraftKey: ResponseEncodable { var key: String }

    private static let missing = HTTPError(.notFound, message: "there is no such note")

    private static func check(_ title: String) throws {
        if title.isEmpty { throw HTTPError(.badRequest, message: "a note needs a title") }
        if title.count > 300 { throw HTTPError(.badRequest, message: "a title has at most 300 characters") }
    }

    @Sendable func add(_ request: Request, context: NotesContext) async throws -> EditedResponse<EditableNote> {
        let new = try await request.decode(as: NewNote.self, context: context)
        try Self.check(new.title)
        let id = new.id ?? .random(in: 1...(1 << 53))
        guard 1...(1 << 53) ~= id else { throw HTTPError(.badRequest, message: "an id is a number from 1 to 2^53") }
        let note = try await notebook.add(new.title, new.body, folder: new.folder, tags: new.tags ?? [], id: id)
        let isNew = note.title.hasBytes(of: new.title) && note.body.hasBytes(of: new.body)
        return EditedResponse(
            status: isNew ? .created : .conflict, headers: [.location: "/notes/\(note.id)"], response: EditableNote(note))
    }

    @Sendable func show(_ request: Request, context: NotesContext) async throws -> EditableNote {
        guard let note = try await notebook.note(context.id) else { throw Self.missing }
        return EditableNote(note, try await notebook.conflict(of: note.id), similar: try await notebook.similar(to: note.id))
    }

    /// Answers 200 with the note as it is saved, or 409 with the note as it was left elsewhere.
    @Sendable func change(_ request: Request, context: NotesContext) async throws -> EditedResponse<EditableNote> {
        let edits = try await request.decode(as: Notebook.Edits.self, context: context)
        if let title = edits.title { try Self.check(title.now) }
        switch try await notebook.save(edits, to: context.id) {
        case .saved(let note): return EditedResponse(status: .ok, response: EditableNote(note))
        case .conflict(let note): return EditedResponse(status: .conflict, response: EditableNote(note))
        case nil: throw Self.missing
        }
    }

    /// Removes a note for good. To delete it so that it can be restored, change it.
    @Sendable func discard(_ request: Request, context: NotesContext) async throws -> HTTPResponse.Status {
        guard try await notebook.discard(context.id) else { throw Self.missing }
        return .noContent
    }

    struct Switch: Decodable { var isOffline: Bool }

    /// Answers when an exchange with the other copies that was going on has ended.
    @Sendable func setExchange(_ request: Request, context: NotesContext) async throws -> CopyExchange.State {
        guard let exchange else { throw HTTPError(.conflict, message: "start the server with --sync FOLDER") }
        return try await exchange.setOffline(request.decode(as: Switch.self, context: context).isOffline)
    }
}
