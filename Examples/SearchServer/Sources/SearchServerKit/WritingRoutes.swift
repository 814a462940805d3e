import Hummingbird
import SQLCipherKit
import SQLCipherKitReplication

/// The requests that only the server with the database answers.
struct WritingRoutes {
    let database: DatabasePool
    let replica: Replicator

    var endpoints: RouteCollection<BasicRequestContext> {
        RouteCollection(context: BasicRequestContext.self).post("notes", use: add)
    }

    /// Adds a note, and answers when it is committed. The note reaches the store within two seconds. With `?stored=true`, the
    /// answer comes when the note is in the store: not even the loss of this machine can undo it then.
    @Sendable func add(_ request: Request, context: BasicRequestContext) async throws -> EditedResponse<Note> {
        let note = try await request.decode(as: Draft.self, context: context).note()
        try await database.write { db in try db.insert(note) }
        var status = HTTPResponse.Status.created
        if request.uri.queryParameters.get("stored") == "true" {
            do {
                try await replica.waitUntilStored(timeout: .seconds(10))
            } catch let error as DatabaseError where error.reason == .timeout {
                // The note is committed, and will be stored when the store can be reached.
                status = .accepted
            }
        }
        return EditedResponse(status: status, headers: [.location: "/notes/\(note.id)"], response: note)
    }
}
