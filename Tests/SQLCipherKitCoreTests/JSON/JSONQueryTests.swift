import Foundation
import SQLCipherKitCore
import Testing

@Suite struct JSONQueryTests {
    let db: Connection
    let meta = JSONExpression(column: "meta", of: "note")

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, meta BLOB)")
        let documents: [JSONValue] = [
            ["city": "Roma", "tags": ["a", "b"], "stars": 5, "open": true],
            ["city": "Bern", "tags": [], "stars": 2.5, "nested": ["a.b": [1, ["c": .null]]]],
        ]
        for document in documents { try db.execute("INSERT INTO note(meta) VALUES (\(document))") }
    }

    @Test func jsonEachAcceptsJSONPathParameter() throws {
        let tags = try db.fetchAll(String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
        #expect(tags == ["a", "b"])
    }

    @Test func jsonExpressionsExtractColumnValues() throws {
        let cities: [(Int, String)] = try db.fetchAll("SELECT id, \(meta.value("city")) FROM note WHERE \(meta.value("stars")) > \(3)")
        #expect(cities.map(\.0) == [1] && cities.map(\.1) == ["Roma"])
        #expect(try db.fetchAll(Bool?.self, "SELECT \(meta.value("open")) FROM note") == [true, nil])
        #expect(try db.fetchAll(Double.self, "SELECT \(meta.value("stars")) FROM note") == [5, 2.5])
        let nested = try db.fetchAll(JSONValue?.self, "SELECT \(meta.at("nested", "a.b", 1)) FROM note")
        #expect(nested == [nil, ["c": .null]])
        #expect(try db.fetchAll(JSONValue.self, "SELECT \(meta.extract(JSONPath("city"), JSONPath("tags", -1))) FROM note")
            == [["Roma", "b"], ["Bern", .null]])
        #expect(try db.fetchAll(JSONType?.self, "SELECT \(meta.type("stars")) FROM note") == [.integer, .real])
        #expect(try db.fetchAll(Int.self, "SELECT \(meta.arrayLength("tags")) FROM note") == [2, 0])
    }

    @Test func jsonElementsAndTreeReturnKeysAndPaths() throws {
        let tags = meta.each("tags", as: "tag")
        let rows: [(Int, String)] = try db.fetchAll("SELECT note.id, tag.value FROM note, \(tags) WHERE tag.value <> \("a")")
        #expect(rows.map(\.0) == [1] && rows.map(\.1) == ["b"])

        let document = JSONExpression("(SELECT meta FROM note WHERE id = \(1))")
        let elements = try document.elements(in: db).collect()
        #expect(elements.map(\.key) == [.key("city"), .key("tags"), .key("stars"), .key("open")])
        #expect(elements.map(\.type) == [.text, .array, .integer, .true])
        #expect(try elements.map { try $0.value } == ["Roma", ["a", "b"], 5, true])
        #expect(try elements.map { try $0.fullKey } == [JSONPath("city"), JSONPath("tags"), JSONPath("stars"), JSONPath("open")])
        #expect(try document.elements(at: "nowhere", in: db).collect().isEmpty)

        let tree = try JSONExpression(value: ["k y": ["x\"": [1, "two"]]]).descendants(in: db).collect()
        #expect(try tree.map { try $0.fullKey }
            == [.root, JSONPath("k y"), JSONPath("k y", "x\""), JSONPath("k y", "x\"", 0), JSONPath("k y", "x\"", 1)])
        #expect(tree.map(\.key) == [nil, .key("k y"), .key("x\""), .index(0), .index(1)])
        #expect(tree[1].parent == tree[0].id && tree[4].parent == tree[2].id && tree[0].parent == nil)
        #expect(try tree[4].path == JSONPath("k y", "x\""))
    }

    @Test func jsonIntegerBeyondInt64Throws() throws {
        let element = try #require(try JSONExpression(text: "[18446744073709551615]").elements(in: db).next())
        #expect(throws: DatabaseError.self) { try element.value }
    }

    @Test func elementsOfMalformedJSONThrow() throws {
        #expect(throws: DatabaseError.self) { try JSONExpression(text: "{").elements(in: db).collect() }
    }
}
