import Hummingbird

/// Takes requests of this server's own page, and links to it from elsewhere. Refuses what other pages of the browser send here: to
/// this address under another name, from another site, or in a frame.
struct OwnPageOnly<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard isAllowed(request) else { throw HTTPError(.forbidden, message: "only the page of this server may ask") }
        var response = try await next(request, context)
        let policy = "default-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.xContentTypeOptions] = "nosniff"
        return response
    }

    private func isAllowed(_ request: Request) -> Bool {
        guard let host = request.head.authority, let name = host.split(separator: ":").first,
            ["127.0.0.1", "localhost"].contains(name)
        else { return false }
        func header(_ name: String) -> String? { request.headers.first { $0.name.canonicalName == name }?.value }
        if [.get, .head].contains(request.method) {
            // Following a link shows a page, and changes nothing. What is no navigation reads for the page that sends it.
            return ["none", "same-origin"].contains(header("sec-fetch-site") ?? "none")
                || request.uri.path == "/" && header("sec-fetch-mode") == "navigate"
        }
        // Browsers name the origin of each write, and ask before a foreign page may send this type.
        return header("origin") == "http://\(host)" && header("content-type")?.hasPrefix("application/json") == true
    }
}
