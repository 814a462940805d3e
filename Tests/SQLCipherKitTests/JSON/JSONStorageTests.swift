import Foundation
import KitSupport
import SQLCipherKit
import Testing

/// Documents in tables: columns, changes in place, indexes.
@Suite struct JSONStorageTests {
    struct Meta: Codable, Hashable, Sendable {
        var city: String?
        var tags: [String]
        var seen: Date?
    }

    struct Dated: Codable, Hashable, JSONCodingCustomizable {
        var at: Date
        static let jsonCodingOptions = {
            var options = JSONCodingOptions()
            options.dates = .iso8601
            return options
        }()
    }

    let db: Connection
    let meta = JSONExpression(column: "meta")

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, meta)")
    }

    @Test func nestedJSONColumnEncodesAsItsValue() throws {
        let columns = [JSONColumn(["a": 1]), JSONColumn([:], as: .text)]
        #expect(try JSONBEncoder().encodeText(columns) == #"[{"a":1},{}]"#)
        #expect(String(decoding: try JSONEncoder().encode(columns), as: UTF8.self) == #"[{"a":1},{}]"#)
        #expect(try JSONDecoder().decode([JSONColumn<[String: Int]>].self, from: Data(#"[{"a":1},{}]"#.utf8)) == columns)
    }

    @Test func jsonColumnsRoundTripAsBlobTextAndNull() throws {
        let value = Meta(city: "Rōma \"x\"", tags: ["a", "b"], seen: Date(timeIntervalSinceReferenceDate: 1.5))
        try db.execute("INSERT INTO note(meta) VALUES (\(JSONColumn(value))), (\(JSONColumn(value, as: .text))), (NULL)")
        #expect(try db.fetchAll(String.self, "SELECT typeof(meta) FROM note") == ["blob", "text", "null"])
        #expect(try db.fetchAll(Bool?.self, "SELECT json_valid(meta, 9) FROM note") == [true, true, nil])
        let columns = try db.fetchAll(JSONColumn<Meta>?.self, "SELECT meta FROM note")
        #expect(columns == [JSONColumn(value), JSONColumn(value), nil] && columns.map(\.?.format) == [.jsonb, .text, nil])
        #expect(try db.fetchOne(JSONColumn<[String: JSONValue]>.self, "SELECT meta FROM note")?.value["city"] == "Rōma \"x\"")
        #expect(throws: DatabaseError.self) { try db.fetchAll(JSONColumn<Meta>.self, "SELECT meta FROM note") }
        // The same through values, and in tuples.
        let rows: [(Int, JSONColumn<Meta>?)] = try db.fetchAll("SELECT id, meta FROM note ORDER BY id")
        #expect(rows[0].1?.value == value && rows[2].1 == nil)
        for column in [JSONColumn(value), JSONColumn(value, as: .text)] {
            let read = try JSONColumn<Meta>(sqlValue: column.sqlValue)
            #expect(read == column && read?.format == column.format && read.hashValue == Optional(column).hashValue)
        }
        let row = try #require(try db.fetchOne(OwnedRow.self, "SELECT meta FROM note"))
        let read: JSONColumn<Meta> = try row["meta"]
        #expect(read.value == value)
    }

    @Test func jsonErrorNamesPathButNotValue() throws {
        try db.execute("INSERT INTO note(meta) VALUES (\(#"{"city": "secret", "tags": ["a", {"k": "secret"}]}"#))")
        let error = #expect(throws: DatabaseError.self) { try db.fetchOne(JSONColumn<Meta>.self, "SELECT meta FROM note") }
        #expect(error?.reason == .typeMismatch && error?.message.contains("$.tags[1]") == true && error?.message.contains("secret") == false)
        try db.execute("UPDATE note SET meta = x'ff0012'")
        #expect(throws: DatabaseError.self) { try db.fetchOne(JSONColumn<Meta>.self, "SELECT meta FROM note") }
        #expect(throws: DatabaseError.self) { try db.fetchOne(JSONValue.self, "SELECT meta FROM note") }
        let refused = #expect(throws: DatabaseError.self) { try db.execute("UPDATE note SET meta = \(JSONColumn([Double.nan]))") }
        #expect(refused?.reason == .invalidArgument)
    }

    @Test func jsonColumnUsesCodingOptions() throws {
        let value = Dated(at: Date(timeIntervalSince1970: 0.25))
        try db.execute("INSERT INTO note(meta) VALUES (\(JSONColumn(value)))")
        #expect(try db.fetchOne(String.self, "SELECT \(meta.value("at")) FROM note") == "1970-01-01T00:00:00.250Z")
        #expect(try db.fetchOne(JSONColumn<Dated>.self, "SELECT meta FROM note")?.value == value)
    }

    @Test func updateJSONKeepsStorageFormat() throws {
        let value: JSONValue = ["city": "Bern", "tags": ["a"], "n": 1]
        try db.execute("INSERT INTO note(meta) VALUES (\(value)), (\(value.text())), (NULL), (\(value))")
        let count = try db.main.updateJSON(
            "meta", in: "note", where: "id < \(4)", .set("city", to: "Roma"), .append("b", toArrayAt: "tags"),
            .remove("n"), .insert(["x": true], at: "new"), .insert(0, at: "city"), .replace("none", with: 1),
            .insertElement("first", before: JSONPath("tags", 0)), .patch(["p": ["q": 1]]), .set("id", to: .quote("id * \(10)")))
        #expect(count == 3)
        let expected = ["city": "Roma", "tags": ["first", "a", "b"], "new": ["x": true], "p": ["q": 1], "id": 10] as JSONValue
        let rows: [(String, JSONValue?)] = try db.fetchAll("SELECT typeof(meta), meta FROM note")
        #expect(rows.map(\.0) == ["blob", "text", "null", "blob"])
        #expect(rows[0].1 == expected && rows[1].1?["id"] == 20 && rows[2].1 == nil && rows[3].1 == value)
        #expect(try db.main.updateJSON("meta", in: "note", where: "FALSE", .remove("a")) == 0)
        try db.execute("UPDATE note SET meta = 'no JSON' WHERE id = 4")
        let error = #expect(throws: DatabaseError.self) { try db.main.updateJSON("meta", in: "note", where: "TRUE", .set("a", to: 1)) }
        #expect(error?.message == "malformed JSON")
        #expect(try db.fetchOne(JSONValue.self, "SELECT meta FROM note WHERE id = 1") == expected)
    }

    private func plan(_ sql: SQL) throws -> String {
        try db.fetchAll(OwnedRow.self, "EXPLAIN QUERY PLAN \(sql)").map { try $0["detail"] as String }.joined(separator: "; ")
    }

    @Test func jsonIndexesAreUsedByQueries() throws {
        for index in 0..<200 {
            try db.execute("INSERT INTO note(meta) VALUES (\(["city": .string("c\(index)"), "n": ["a b": .integer(Int64(index))]] as JSONValue))")
        }
        let city = meta.value("city")
        #expect(try plan("SELECT id FROM note WHERE \(city) = \("c7")").contains("SCAN note"))
        try db.main.createJSONIndex("note_city", on: "note", column: "meta", "city")
        try db.main.createJSONIndex("note n", on: "note", column: "meta", paths: [JSONPath("n", "a b"), JSONPath("city")], isUnique: true, where: "meta IS NOT NULL")
        #expect(try plan("SELECT id FROM note WHERE \(city) = \("c7")").contains("INDEX note_city (<expr>=?)"))
        #expect(try plan("SELECT id FROM note AS m WHERE \(JSONExpression(column: "meta", of: "m").value("city")) IN \(["a", "b"])")
            .contains("INDEX note_city (<expr>=?)"))
        #expect(try plan("SELECT id FROM note ORDER BY \(city)").contains("INDEX note_city"))
        let number = meta.value("n", "a b")
        #expect(try plan("SELECT id FROM note WHERE \(number) > \(5) AND meta IS NOT NULL").contains("INDEX note n (<expr>>?)"))
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(number) > \(197) AND meta IS NOT NULL") == [199, 200])
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(city) = \("c7")") == [8])
        let error = #expect(throws: DatabaseError.self) {
            try db.execute("INSERT INTO note(meta) VALUES (\(["city": "c1", "n": ["a b": 1]] as JSONValue))")
        }
        #expect(error?.code == .constraintUnique)
        // The index follows a change in place.
        try db.main.updateJSON("meta", in: "note", where: "id = 8", .set("city", to: "moved"))
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE \(city) = \("moved")") == [8])
        #expect(throws: DatabaseError.self) { try db.main.createJSONIndex("none", on: "note", column: "meta") }
    }

    @Test func generatedJSONColumnsAreReadAndIndexed() throws {
        try db.execute("CREATE TABLE strict(meta BLOB) STRICT")
        for table in ["note", "strict"] {
            try db.execute("INSERT INTO \(identifier: table)(meta) VALUES (\(["city": "Roma", "code": "007", "n": 3] as JSONValue))")
            try db.main.addJSONColumn("city", to: table, from: "meta", at: "city", type: .text)
            try db.main.addJSONColumn("the code", to: table, from: "meta", at: "code")
            try db.main.addJSONColumn("n", to: table, from: "meta", at: "n", type: .integer)
            try db.execute("CREATE INDEX \(identifier: "\(table)_city") ON \(identifier: table)(city)")
            let row = try #require(
                try db.fetchOne((String, String, Int).self, "SELECT city, \"the code\", n FROM \(identifier: table) WHERE city = 'Roma'"))
            #expect(row == ("Roma", "007", 3))
            #expect(try plan("SELECT n FROM \(identifier: table) WHERE city = \("Roma")").contains("USING INDEX \(table)_city (city=?)"))
        }
        #expect(throws: DatabaseError.self) { try db.main.addJSONColumn("x", to: "note", from: "meta", at: "x", type: .null) }
        #expect(throws: DatabaseError.self) { try db.main.addJSONColumn("x", to: "nowhere", from: "meta", at: "x") }
    }

    @Test func jsonValuesAndObjectsSupportSubscripts() throws {
        var value: JSONValue = ["a": [1, ["b": "c"]], "n": .null]
        #expect(value["a"]?[-1]?["b"] == "c" && value[JSONPath("a", 1, "b")] == "c" && value[JSONPath("a", 7)] == nil)
        value["n"] = 2.5
        value["new"] = true
        value["a"] = nil
        #expect(value == ["new": true, "n": 2.5] && value.objectValue?.keys == ["n", "new"])
        #expect(value["n"]?.doubleValue == 2.5 && value["n"]?.intValue == nil && value["new"]?.boolValue == true)
        var object = JSONObject()
        for index in 0..<100 { object["k\(index)"] = .integer(Int64(index)) }
        object["k50"] = nil
        object["k99"] = "last"
        #expect(object.count == 99 && object["k51"] == 51 && object["k50"] == nil && object["k99"] == "last" && object.keys.last == "k99")
        let text = "{\"\u{e9}\":1,\"e\u{301}\":2," + #""big":123456789012345678901,"exact":0.12345678901234567890123,"r":1e5,"z":-0.0}"#
        let exact = try JSONValue(text: text)
        #expect(exact.objectValue?.count == 6)
        #expect(try exact.text() == "{\"\u{e9}\":1,\"e\u{301}\":2," + #""big":123456789012345678901,"exact":0.12345678901234567890123,"r":100000.0,"z":-0.0}"#)
        #expect(exact["big"]?.decimalValue == Decimal(string: "123456789012345678901") && exact["big"]?.type == .integer)
        #expect(throws: DatabaseError.self) { try JSONValue(text: "1.234567890123456789012345678901234567890123") }
        #expect(throws: DatabaseError.self) { try JSONValue.real(.nan).text() }
        // To Foundation both of these keys are the same.
        var other = exact
        other["e\u{301}"] = nil
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(other)).comparable == other.comparable)
        #expect(JSONValue.string("x\"").description == #""x\"""#)
    }
}
