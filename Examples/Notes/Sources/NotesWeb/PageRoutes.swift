import Hummingbird

extension Router {
    /// The page, which is in the program: it loads nothing from elsewhere, and what a note contains cannot become a script.
    func addPage() {
        let files: [(path: RouterPath, type: String, bytes: [UInt8])] = [
            ("/", "text/html", PackageResources.index_html), ("/notes.css", "text/css", PackageResources.notes_css),
            ("/notes.js", "text/javascript", PackageResources.notes_js),
            ("/editor.js", "text/javascript", PackageResources.editor_js),
            ("/drafts.js", "text/javascript", PackageResources.drafts_js),
            ("/changes.js", "text/javascript", PackageResources.changes_js),
            ("/server.js", "text/javascript", PackageResources.server_js),
        ]
        for file in files {
            let headers: HTTPFields = [.contentType: "\(file.type); charset=utf-8", .cacheControl: "no-cache"]
            let body = ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes))
            get(file.path) { _, _ in Response(status: .ok, headers: headers, body: body) }
        }
    }
}
