import Foundation
import Hummingbird
import HummingbirdTesting
import Testing
@testable import SearchServerKit

@Suite struct RequestTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func `searches rank, mark and escape`() async throws {
        try await folder.primary("a.db") { client in
            try await client.add("Garden", "A fox came at night.")
            try await client.add("Fox", "Nothing else.")
            try await client.add("<b>Tom & Jerry's</b>", "They say \"never\" <script>alert(1)</script> to cheese.")
            let found = try await client.get("/search?q=fox", as: SearchResult.self)
            #expect(found.hits.map(\.title) == ["<mark>Fox</mark>", "Garden"])
            #expect(found.hits.last?.snippet == "A <mark>fox</mark> came at night.")
            #expect(found.total == 2)
            #expect(try await client.get("/search?q=fox&limit=1", as: SearchResult.self).hits.count == 1)
            #expect(try await client.titles("gardne") == ["<mark>Garden</mark>"])
            let cheese = try await client.get("/search?q=cheese", as: SearchResult.self).hits.first
            #expect(cheese?.title == "&lt;b&gt;Tom &amp; Jerry&#39;s&lt;/b&gt;")
            #expect(cheese?.snippet.contains("&lt;script&gt;") == true && cheese?.snippet.contains("<script>") == false)
        }
    }

    @Test func `no query harms or fails`() async throws {
        let queries = [
            "'", "\"", "\"\"", "\"open", "*", "-", "-fox", "NOT", "fox AND", "OR OR", "(", "))", "title:", "nosuch:fox",
            "title:fox", "NEAR(fox, 99999999999)", "{title}: fox", "fox^2", "'; DROP TABLE note; --", "%", "\u{0}",
            "fox\u{0}dog", "🦊", "e\u{301}", "\u{202e}xof", "PRAGMA key = 'x'", "note_fts",
            String(repeating: "fox ", count: 250), String(repeating: "\"", count: 1000),
        ]
        try await folder.primary("a.db") { client in
            try await client.add("Fox", "")
            for query in queries { _ = try await client.titles(query) }
            #expect(try await client.titles("fox") == ["<mark>Fox</mark>"])
        }
    }

    @Test func `what cannot be answered is refused in plain words`() async throws {
        try await folder.primary("a.db") { client in
            let long = String(repeating: "x", count: 1001)
            for uri in ["/search", "/search?q=", "/search?q=a&limit=0", "/search?q=a&limit=101", "/search?q=a&limit=ten",
                "/search?q=a&limit=", "/search?q=a&limit=99999999999999999999", "/search?q=\(long)", "/notes/fox", "/notes/1.5"]
            {
                let (status, body) = try await client.status(uri)
                #expect(status == 400 && body.contains("message"), "\(uri)")
            }
            #expect(try await client.status("/notes/1").0 == 404)
            let title = String(repeating: "x", count: 301)
            for json in ["", "{", "[]", "{}", #"{"title":"a"}"#, #"{"title":1,"body":""}"#, #"{"title":"","body":""}"#,
                #"{"title":"\#(title)","body":""}"#, #"{"title":null,"body":null}"#]
            {
                let (status, body) = try await client.status("/notes", .post, json)
                #expect(status == 400, "\(json)")
                for word in ["SQL", "note.db", "a.db", TestFolder.passphrase, "Swift"] { #expect(!body.contains(word), "\(body)") }
            }
            #expect(try await client.status("/notes", .post, String(repeating: " ", count: 3 << 20)).0 == 413)
            #expect(try await client.status("/notes/1", .delete).0 == 404)
        }
    }
}
