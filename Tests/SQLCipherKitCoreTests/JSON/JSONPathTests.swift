import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct JSONPathTests {
    static let keys = [
        "tags", "_x9", "a.b", "a b", "", "\"", "a\"b", "\\", "a\\", "\\\"", "'", "x'y", "[0]", "$", "#", "ключ", "🔑", "e\u{301}",
        "\n", "\u{1f}\t", "1", "-1", "]", "a/b", "\u{7f}", "日本語 text", "a[0].b", "\\u0041", "\u{2028}",
    ]

    @Test func jsonPathDescriptionIsItsSQLiteForm() {
        #expect(JSONPath().description == "$")
        #expect(JSONPath("address", "city").description == "$.address.city")
        #expect(JSONPath("tags", -1).description == "$.tags[#-1]")
        #expect(JSONPath("tags").end.description == "$.tags[#]")
        #expect(JSONPath("a.b", 0)["c"][2].description == #"$."a.b"[0].c[2]"#)
        #expect(JSONPath(JSONPath("a"), JSONPath.Component.end).components == [.key("a"), .end])
        #expect(JSONPath("a", 1).parent == JSONPath("a"))
        #expect(JSONPath.root.parent == nil && JSONPath.root.isRoot)
        #expect(JSONPath(Int.min).description == "$[#-9223372036854775808]")
    }

    @Test(arguments: keys) func jsonPathWithAnyKeyIsFoundBySQLite(key: String) throws {
        let db = try Connection(.memory)
        let document: JSONValue = .object(["other": 1, "x": .object([key: .array([.integer(1), .integer(2)])])])
        for form in try [SQLValue.text(document.text()), .blob(document.jsonb())] {
            let path = JSONPath("x", key, -1)
            #expect(try db.fetchOne(Int.self, "SELECT json_extract(?, ?)", [form, path]) == 2)
            // The path as a literal finds the same.
            #expect(try db.fetchOne(Int.self, "SELECT \(JSONExpression("\(form)").value(path))") == 2)
            // A member that is set through the path has the key that was meant.
            let set = try db.fetchOne(JSONValue.self, "SELECT jsonb_set('{}', ?, 7)", [JSONPath(key)])
            #expect(set == .object([key: 7]))
        }
    }

    @Test(arguments: keys) func jsonPathRoundTripsThroughItsDescription(key: String) throws {
        for path in [JSONPath(key), JSONPath(0, key, -3).end, JSONPath(key, key)] {
            #expect(try JSONPath(parsing: path.description) == path)
        }
    }

    @Test func jsonPathParsesAndRefusesText() throws {
        #expect(try JSONPath(parsing: "$") == .root)
        #expect(try JSONPath(parsing: "$.a b[#-2][3][#].c-d") == JSONPath("a b", -2, 3).end["c-d"])
        #expect(try JSONPath(parsing: #"$."a\"b\\\u00e9""#) == JSONPath("a\"b\\é"))
        #expect(try JSONPath(parsing: "$[#-0]") == JSONPath.root.end)
        for text in [
            "", "a", "$a", "$.", "$..a", "$.a.", "$[", "$[]", "$[a]", "$[-1]", "$[0", "$[#", "$[#-", "$[#-]", "$[#+1]", "$.\"a", "$.\"a\"b",
            "$.\"\\", "$.\"\\q\"", "$[99999999999999999999]", "$.a\u{0}", "$.\"\\ud800\"", "$.\"a\\u0000b\"", "$.\"\\0\"", " $",
            "$ ",
        ] {
            #expect(throws: DatabaseError.self, "\(text)") { try JSONPath(parsing: text) }
        }
    }

    @Test func jsonPathParserAgreesWithSQLite() throws {
        let db = try Connection(.memory)
        var random = SeededGenerator()
        let pieces = ["$", ".", "[", "]", "#", "-", "1", "0", "a", "\"", "\\", "x", "u0041", " ", "'"]
        var accepted = 0
        for _ in 0..<3000 {
            let text = "$" + (0..<Int.random(in: 0..<7, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            guard let path = try? JSONPath(parsing: text) else { continue }
            accepted += 1
            // SQLite looks at a path only as far as the document leads it, so what is accepted here must be accepted there.
            #expect(throws: Never.self, "\(text)") {
                _ = try db.fetchOne(SQLValue.self, "SELECT json_extract('{\"a\":[1,{\"a\":2}],\"x\":{}}', ?)", [text])
                let own = try db.fetchOne(SQLValue.self, "SELECT json_set('{}', ?, 1)", [path])
                let given = try db.fetchOne(SQLValue.self, "SELECT json_set('{}', ?, 1)", [text])
                #expect(try json(own) == json(given))
            }
        }
        #expect(accepted > 100)
    }

    private func json(_ value: SQLValue?) throws -> JSONValue? { try value.map { try #require(JSONValue(sqlValue: $0)) } }
}
