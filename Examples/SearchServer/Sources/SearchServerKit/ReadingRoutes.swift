import Hummingbird

/// The requests that every server answers.
struct ReadingRoutes {
    let notes: Notes

    var endpoints: RouteCollection<BasicRequestContext> {
        RouteCollection(context: BasicRequestContext.self)
            .get("notes/:id", use: show)
            .get("search", use: search)
    }

    @Sendable func show(_ request: Request, context: BasicRequestContext) async throws -> Note {
        let id = try context.parameters.require("id", as: Int64.self)
        guard let note = try await notes.note(id) else { throw HTTPError(.notFound, message: "there is no such note") }
        return note
    }

    @Sendable func search(_ request: Request, context: BasicRequestContext) async throws -> SearchResult {
        let query = request.uri.queryParameters
        guard let text = query.get("q"), !text.isEmpty else {
            throw HTTPError(.badRequest, message: "q is what to search for: /search?q=words")
        }
        guard text.count <= 1000 else { throw HTTPError(.badRequest, message: "q has at most 1000 characters") }
        guard let limit = query.get("limit").map({ Int($0) }) ?? 20, 1...100 ~= limit else {
            throw HTTPError(.badRequest, message: "limit is a number from 1 to 100")
        }
        return try await notes.search(text, limit: limit)
    }
}
