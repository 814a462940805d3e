import Foundation
import SQLCipherKit
import Testing

/// The examples of the article "JSON".
@Suite struct JSONArticleTests {
    struct Meta: Codable, Sendable {
        var city: String
        var tags: [String]
    }

    @Test func jsonArticleStoringCodeWorks() throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, meta BLOB)
            """)
        let meta = Meta(city: "Roma", tags: ["food", "old town"])
        try db.execute("""
            INSERT INTO note(title, meta)
            VALUES (\("Trastevere"), \(JSONColumn(meta)))
            """)
        let all = try db.fetchAll(
            JSONColumn<Meta>.self, "SELECT meta FROM note").map(\.value)
        #expect(all.map(\.city) == ["Roma"])
    }
}

struct Visit: Codable, Sendable { var at: Date }
extension Visit: JSONCodingCustomizable {
    static let jsonCodingOptions = {
        var options = JSONCodingOptions()
        options.dates = .millisecondsSince1970
        return options
    }()
}

extension JSONArticleTests {
    @Test func jsonArticleCodeWorks() throws {
        let db = try Connection(.memory)
        try db.execute("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, meta BLOB)
            """)
        let meta = Meta(city: "Roma", tags: ["food", "old town"])
        try db.execute("""
            INSERT INTO note(title, meta)
            VALUES (\("Trastevere"), \(JSONColumn(meta)))
            """)

        var document = try db.fetchOne(
            JSONValue.self, "SELECT meta FROM note WHERE id = \(1)")
        let firstTag = document?["tags"]?[0]?.stringValue
        document?["city"] = nil
        #expect(firstTag == "food" && document?["city"] == nil)

        // $."opening hours"."a.b"[#-1]
        let path = JSONPath("opening hours", "a.b", -1)
        let tags = try db.fetchAll(
            String.self, "SELECT value FROM note, json_each(note.meta, ?)",
            [JSONPath("tags")])
        #expect(path.description == #"$."opening hours"."a.b"[#-1]"# && tags == meta.tags)

        let json = JSONExpression(column: "meta", of: "note")
        let cities: [(Int, String)] = try db.fetchAll(
            """
            SELECT id, \(json.value("city")) FROM note
            WHERE \(json.arrayLength("tags")) > \(1)
            """)
        let pairs: [(String, String)] = try db.fetchAll("""
            SELECT title, tag.value
            FROM note, \(json.each("tags", as: "tag"))
            """)
        let first = JSONExpression("(SELECT meta FROM note WHERE id = \(1))")
        let elements = try first.descendants(in: db).collect()
        #expect(cities.map(\.1) == ["Roma"] && pairs.map(\.1) == meta.tags && elements.count == 5)

        try db.main.updateJSON(
            "meta", in: "note", where: "id = \(1)",
            .set("city", to: "Roma Capitale"),
            .append("river", toArrayAt: "tags"),
            .patch(["stars": 5]))

        try db.main.createJSONIndex(
            "note_city", on: "note", column: "meta", "city")
        let found = try db.fetchAll(Int.self, """
            SELECT id FROM note
            WHERE \(json.value("city")) = \("Roma Capitale")
            """)
        try db.main.addJSONColumn(
            "stars", to: "note", from: "meta", at: "stars", type: .integer)
        let starred = try db.fetchAll(
            String.self, "SELECT title FROM note WHERE stars >= 4")
        #expect(found == [1] && starred == ["Trastevere"])

        try db.create(FTS5Table(
            "note_fts",
            columns: [
                "title",
                .json(
                    "words", in: "meta",
                    at: JSONPath("tags"), JSONPath("city")),
            ],
            content: .external(table: "note"),
            tokenizer: .multilingual()))
        let index = try db.fullText("note_fts")
        let hits = try index.search("river").hits
        #expect(hits.map(\.rowID) == [1])
    }

    @Test func jsonArticleCodingOptionsWork() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(visit)")
        try db.execute("INSERT INTO note VALUES (\(JSONColumn(Visit(at: Date(timeIntervalSince1970: 1)), as: .text)))")
        #expect(try db.fetchOne(String.self, "SELECT visit FROM note") == #"{"at":1000.0}"#)
        try db.main.updateJSON("visit", in: "note", of: Visit.self, where: "TRUE", .set("at", to: Date()))
        #expect(try db.fetchOne(Bool.self, "SELECT visit ->> 'at' > 1e12 FROM note") == true)
    }
}
