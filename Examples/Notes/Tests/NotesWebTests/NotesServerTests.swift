import Foundation
import Hummingbird
import HummingbirdTesting
import NotesKit
import SQLCipherKit
import Testing
@testable import NotesWeb

@Suite struct NotesServerTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-web-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func settings(_ name: String) throws -> NotesServer.Settings {
        var settings = NotesServer.Settings(path: path(name), key: try .passphrase("correct horse"))
        settings.logger.logLevel = .critical
        settings.port = 0
        settings.shared = path("shared")
        return settings
    }

    /// The status and the body of an answer, to a request as the server's own page sends it.
    private func ask(
        _ client: any TestClientProtocol, _ method: HTTPRequest.Method, _ uri: String, _ body: String? = nil,
        with other: [String: String] = ["Sec-Fetch-Site": "same-origin"]
    ) async throws -> (status: Int, body: String) {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.origin] = "http://localhost"
        for (name, value) in other { headers[try #require(HTTPFields.Element.Name(name))] = value }
        return try await client.execute(uri: uri, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) }) {
            ($0.status.code, String(buffer: $0.body))
        }
    }

    private func screen(_ client: any TestClientProtocol, _ text: String) async throws -> ScreenMessage {
        let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let json = try await ask(client, .get, "/screen?text=\(query)").body
        return try JSONDecoder().decode(ScreenMessage.self, from: Data(json.utf8))
    }

    private func id(_ json: String) throws -> String {
        String(try #require(json.firstMatch(of: #/"id":(\d+)/#)).1)
    }

    @Test func `the page and what it loads are there`() async throws {
        try await NotesServer.application(settings("a.db")).test(.live) { client in
            let page = try await ask(client, .get, "/")
            #expect(page.status == 200)
            for file in page.body.matches(of: #/(?:src|href)="([\w.]+)"/#) {
                #expect(try await ask(client, .get, "/\(file.1)").status == 200, "\(file.1)")
            }
            try await client.execute(uri: "/", method: .get) { answer in
                let policy = try #require(answer.headers[.contentSecurityPolicy])
                for part in ["default-src 'self'", "frame-ancestors 'none'"] { #expect(policy.contains(part)) }
            }
        }
    }

    @Test func `pages learn of each change`() async throws {
        try await NotesServer.application(settings("a.db")).test(.live) { client in
            let first = try await ask(client, .post, "/notes", #"{"title": "Sourdough", "body": "Bake it.", "folder": "Kitchen"}"#)
            #expect(first.status == 201)
            let port = try #require(client.port)
            let id = try id(first.body)
            try await EventReader.read(port: port) { events async throws in
                try await events.next()
                #expect(try await screen(client, "sourdogh").shown == ["[Sourdough]"])
                _ = try await ask(client, .post, "/notes", #"{"title": "Sourdough <b>bread</b>", "body": ""}"#)
                try await events.next()
                #expect(try await Set(screen(client, "sourdogh").shown) == ["[Sourdough]", "[Sourdough] <b>bread</b>"])
                #expect(try await ask(client, .patch, "/notes/\(id)", #"{"pinned": true}"#).status == 200)
                try await events.next()
                #expect(try await screen(client, "sourdogh").rows.first { $0.pinned }?.folder == "Kitchen")
                let rye = #"{"title": {"was": "Sourdough", "now": "Rye"}}"#
                for _ in 0..<2 { #expect(try await ask(client, .patch, "/notes/\(id)", rye).status == 200) }
                try await events.next()
                #expect(try await screen(client, "sourdogh").shown == ["[Sourdough] <b>bread</b>"])
            }
            // A page that has not seen that gets what is there, and nothing is changed.
            let late = try await ask(client, .patch, "/notes/\(id)", #"{"title": {"was": "Sourdough", "now": "Spelt"}}"#)
            #expect(late.status == 409 && late.body.contains(#""title":"Rye""#), "\(late.body)")
            #expect(try await ask(client, .get, "/notes/\(id)").body.contains(#""title":"Rye""#))
            for deleted in [true, false] {
                #expect(try await ask(client, .patch, "/notes/\(id)", #"{"deleted": \#(deleted)}"#).status == 200)
                #expect(try await ask(client, .get, "/notes/\(id)").body.contains(#""deleted":\#(deleted)"#))
            }
            // A page whose first answer was lost sends its new note again.
            for (title, status) in [("Fig", 201), ("Fig", 201), ("Plum", 409)] {
                let body = #"{"id": 7, "title": "\#(title)", "body": ""}"#
                #expect(try await ask(client, .post, "/notes", body).status == status)
            }
            #expect(try await ask(client, .delete, "/notes/\(id)").status == 204)
            #expect(try await ask(client, .get, "/notes/\(id)").status == 404)
        }
    }

    @Test func `changes of another copy arrive while this one is online`() async throws {
        let phone = try await Notebook(at: path("phone.db"), key: .passphrase("correct horse"))
        try await phone.add("Fox", "Seen in the garden.")
        try await phone.synchronize(through: path("shared"))
        // As a person has left it.
        let laptop = try await Notebook(at: path("laptop.db"), key: .passphrase("correct horse"))
        try await laptop.setOffline(true)
        try await laptop.close()
        try await NotesServer.application(settings("laptop.db")).test(.live) { client in
            let port = try #require(client.port)
            try await EventReader.read(port: port) { events async throws in
                #expect(try await events.next().exchange?.isOffline == true)
                #expect(try await screen(client, "garden").shown == [])
                let online = try await ask(client, .put, "/exchange", #"{"isOffline": false}"#)
                #expect(online.status == 200 && online.body == #"{"isOffline":false}"#)
                try await eventually { try await screen(client, "garden").shown == ["Fox"] }
                #expect(try await ask(client, .put, "/exchange", #"{"isOffline": true}"#).body == #"{"isOffline":true}"#)
                #expect(try await events.next().exchange?.problem == nil)
            }
        }
        #expect(try await Notebook(at: path("laptop.db"), key: .passphrase("correct horse")).isOffline())
    }

    @Test func `a page gets both texts of copies that had not met, and settles them`() async throws {
        var phone = try await Notebook(at: path("phone.db"), key: .passphrase("correct horse"))
        phone.device = "Phone"
        let id = try await phone.add("Plan", "Draft").id
        try await phone.synchronize(through: path("shared"))
        try await NotesServer.application(settings("laptop.db")).test(.live) { [phone] client in
            func note() async throws -> EditableNote {
                try await JSONDecoder().decode(EditableNote.self, from: Data(ask(client, .get, "/notes/\(id)").body.utf8))
            }
            try await eventually { try await screen(client, "plan").rows.count == 1 }
            _ = try await ask(client, .put, "/exchange", #"{"isOffline": true}"#)
            let mine = #"{"body": {"was": "Draft", "now": "On the laptop"}}"#
            #expect(try await ask(client, .patch, "/notes/\(id)", mine).status == 200)
            try await phone.save(.init(body: .init("Draft", "On the phone")), to: id)
            try await phone.synchronize(through: path("shared"))
            let alone = try await note()
            #expect(alone.others.isEmpty && alone.body == "On the laptop")
            _ = try await ask(client, .put, "/exchange", #"{"isOffline": false}"#)
            try await eventually { try await screen(client, "plan").conflicts == 1 }
            let both = try await note()
            #expect(both.body == "On the phone" && both.others.map(\.text) == ["On the laptop"] && both.settles.count == 2)
            #expect(try await screen(client, "plan").rows.map(\.isDisputed) == [true])
            #expect(try await ask(client, .get, "/screen?text=&part=conflicts").body.contains(#""total":1"#))
            #expect(try await ask(client, .patch, "/notes/\(id)", #"{"settles": \#(both.settles)}"#).status == 200)
            #expect(try await note().settles.isEmpty)
            #expect(try await screen(client, "plan").conflicts == 0)
        }
    }

    @Test func `a lost file comes back from its replica, and neither can be read`() async throws {
        var settings = try settings("a.db")
        settings.replica = path("replica")
        try await NotesServer.application(settings).test(.live) { client in
            _ = try await ask(client, .post, "/notes", #"{"title": "Quartz", "body": "In the cellar."}"#)
            try await EventReader.read(port: #require(client.port)) { events async throws in
                #expect(try await events.next().bytes > 0)
            }
        }
        #expect(FileManager.default.contents(atPath: path("a.db"))?.starts(with: Data("SQLite".utf8)) == false)
        let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        #expect(files.contains { $0.hasPrefix("replica/") })
        for file in files {
            #expect(FileManager.default.contents(atPath: path(file))?.range(of: Data("Quartz".utf8)) == nil, "\(file)")
        }
        for file in files where file.hasPrefix("a.db") { try FileManager.default.removeItem(atPath: path(file)) }
        try await NotesServer.application(settings).test(.live) { client in
            let shown = try await screen(client, "cellar").shown
            #expect(shown == ["Quartz"])
        }
    }

    @Test func `other pages and bad requests are refused`() async throws {
        try await NotesServer.application(settings("a.db")).test(.live) { client in
            let note = #"{"title": "Fox", "body": ""}"#
            let port = try #require(client.port)
            // A browser that names no site still names the origin of a write.
            for headers in [
                ["Origin": "http://example.com"], ["Origin": "null"], ["Origin": "http://localhost:1"],
                ["Content-Type": "text/plain"], ["Content-Type": "application/x-www-form-urlencoded"],
            ] {
                #expect(try await ask(client, .post, "/notes", note, with: headers).status == 403, "\(headers)")
            }
            let link = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], script = ["Sec-Fetch-Site": "cross-site"]
            #expect(try await ask(client, .get, "/?q=fox", with: link).status == 200)
            #expect(try await ask(client, .get, "/screen?text=", with: link).status == 403)
            #expect(try await ask(client, .get, "/", with: script).status == 403)
            await #expect {
                try await EventReader.read(port: port, host: "example.com") { try await $0.next() }
            } throws: { error in
                (error as? EventReader.Ended)?.text.hasPrefix("HTTP/1.1 403 ") == true
            }
            let title = String(repeating: "x", count: 301)
            for json in ["", "{", "[]", "{}", #"{"title": "", "body": ""}"#, #"{"title": "\#(title)", "body": ""}"#] {
                #expect(try await ask(client, .post, "/notes", json).status == 400, "\(json)")
            }
            for uri in ["/screen", "/screen?text=&limit=0", "/screen?text=&limit=ten", "/screen?text=&part=some",
                "/screen?text=\(String(repeating: "x", count: 1001))", "/notes/fox"] {
                #expect(try await ask(client, .get, uri).status == 400, "\(uri)")
            }
            #expect(try await screen(client, "").rows == [])
        }
    }

    /// A handler that waits for the database holds no thread of the server's.
    @Test func `a busy notebook says when to try again, and holds up nothing else`() async throws {
        try await NotesServer.application(settings("a.db")).test(.live) { client in
            let port = try #require(client.port)
            let other = try Connection(.file(path("a.db")), key: .passphrase("correct horse"))
            try other.execute("BEGIN IMMEDIATE")
            // A page may take seconds on a busy machine, but not each time as long as a call that waits for the database.
            var isHeldUp = true
            for _ in 0..<10 where isHeldUp {
                try await withThrowingTaskGroup(of: (Int, String?, ContinuousClock.Instant).self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            try await TestClient.withClient(host: "127.0.0.1", port: port) { client in
                                let answer = try await client.execute(
                                    .init(
                                        "/notes", method: .post, authority: "localhost",
                                        headers: [.contentType: "application/json", .origin: "http://localhost"],
                                        body: ByteBuffer(string: #"{"title": "a", "body": ""}"#)))
                                return (answer.head.status.code, answer.head.headerFields[.retryAfter], ContinuousClock.now)
                            }
                        }
                    }
                    for _ in 0..<5 { #expect(try await ask(client, .get, "/notes.css").status == 200) }
                    let end = ContinuousClock.now
                    let (status, again, time) = try #require(await group.next())
                    #expect(status == 503 && again == "1")
                    isHeldUp = end > time
                    group.cancelAll()
                }
            }
            #expect(!isHeldUp)
            try other.execute("ROLLBACK")
        }
    }

    @Test func `a replica that fails is said to fail`() async throws {
        var settings = try settings("a.db")
        settings.replica = path("replica")
        try await NotesServer.application(settings).test(.live) { client in
            let port = try #require(client.port)
            func state() async throws -> ReplicaState? { try await EventReader.read(port: port) { try await $0.next().replica } }
            func problem() async throws -> String? { try await state()?.problem }
            try await eventually { try await state()?.secondsBehind != nil }
            #expect(try await problem() == nil)
            try FileManager.default.moveItem(atPath: path("replica"), toPath: path("away"))
            try Data().write(to: URL(fileURLWithPath: path("replica")))
            _ = try await ask(client, .post, "/notes", #"{"title": "Quartz", "body": ""}"#)
            try await eventually { try await problem() == "its folder cannot be used" }
            try FileManager.default.removeItem(atPath: path("replica"))
            try FileManager.default.moveItem(atPath: path("away"), toPath: path("replica"))
            try await eventually { try await problem() == nil }
        }
    }

    /// The program ends when it is told to, though a page is open.
    @Test func `the program serves, and ends`() async throws {
        let key = path("key"), log = path("log")
        try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        try Data().write(to: URL(fileURLWithPath: log))
        let process = Process(), output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let tests = bundle?.bundleURL ?? Bundle.main.executableURL
        process.executableURL = tests?.deletingLastPathComponent().appendingPathComponent("notes")
        process.arguments = [path("a.db"), "serve", "--port", "0", "--replica", path("replica")]
        process.environment = ["NOTES_KEY_FILE": key]
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        var port: Int?
        try await eventually {
            let said = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
            port = said.firstMatch(of: #/listening on 127.0.0.1:(\d+)/#).flatMap { Int($0.1) }
            return port != nil
        }
        try await EventReader.read(port: #require(port)) { events async throws in
            try await events.next()
            process.terminate()
            try await eventually { !process.isRunning }
        }
        #expect(process.terminationStatus == 0)
        #expect(FileManager.default.fileExists(atPath: path("replica/head")))
    }
}

/// Waits until something holds.
func eventually(_ body: () async throws -> Bool) async throws {
    let start = ContinuousClock.now
    while try await !body() {
        guard .now - start < .seconds(60) else { throw NeverHeld() }
        try await Task.sleep(for: .milliseconds(50))
    }
}

struct NeverHeld: Error {}
