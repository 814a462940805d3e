import Hummingbird
import SQLCipherKit

/// Logs errors of the database, and tells clients no more than they need. An error has neither keys nor values, but paths and SQL.
public struct DatabaseErrors<Context: RequestContext>: RouterMiddleware {
    public init() {}

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as DatabaseError {
            context.logger.error("\(error)")
            switch error.reason {
            case .busy, .timeout:
                throw HTTPError(
                    .serviceUnavailable, headers: [.retryAfter: "1"], message: "the database is busy: try again in a second")
            case .closed, .replicaFenced: throw HTTPError(.serviceUnavailable, message: "the server cannot answer now")
            default: throw HTTPError(.internalServerError, message: "the server has failed: its log says why")
            }
        }
    }
}
