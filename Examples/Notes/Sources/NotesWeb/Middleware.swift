import Hummingbird
import SQLCipherKit

/// Refuses what other pages of the browser send here: to this address under another name, or from another site.
struct OwnPageOnly<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let host = request.head.authority?.split(separator: ":").first
        let site = request.headers.first { $0.name.canonicalName == "sec-fetch-site" }?.value ?? "none"
        guard let host, ["127.0.0.1", "localhost"].contains(host), ["none", "same-origin"].contains(site) else {
            throw HTTPError(.forbidden, message: "only the page of this server may ask")
        }
        return try await next(request, context)
    }
}

/// Logs errors of the database, and tells the page no more than it needs.
struct DatabaseErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as DatabaseError {
            context.logger.error("\(error)")
            throw HTTPError(.internalServerError, message: "the notebook cannot do that now; the log says why")
        }
    }
}
