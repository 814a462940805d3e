import Foundation
import SQLCipherKitCore
import Testing

/// Each function of SQLite's JSON, through the typed helpers, with bound values.
@Suite struct JSONFunctionTests {
    let db: Connection
    let document = JSONExpression(text: #"{"a":1,"list":[1,"two",null],"o":{"x":true},"k\"":"v"}"#)

    init() throws { db = try Connection(.memory) }

    private func one<T: SQLValueConvertible>(_ type: T.Type, _ sql: SQL) throws -> T? { try db.fetchOne(T?.self, "SELECT \(sql)").flatMap { $0 } }
    private func json(_ expression: JSONExpression) throws -> JSONValue? { try one(JSONValue.self, expression.sql) }

    @Test func jsonExpressionsReadValuesAndTypes() throws {
        #expect(try one(Int.self, document.value("a")) == 1)
        #expect(try one(String.self, document.value("list", 1)) == "two")
        #expect(try one(String.self, document.value("list", 2)) == nil)
        #expect(try one(String.self, document.value("k\"")) == "v")
        #expect(try one(String.self, document.value("list")) == #"[1,"two",null]"#)
        #expect(try json(document.at("list")) == [1, "two", .null])
        #expect(try json(document.at("o")) == ["x": true])
        #expect(try one(JSONValue.self, document.extract(JSONPath("a"), JSONPath("list", -1))) == [1, .null])
        #expect(try one(Int.self, document.extract(JSONPath("a"))) == 1)
        #expect(try one(Data.self, document.extract(JSONPath("o"), as: .jsonb)) == JSONValue.object(["x": true]).jsonb())
        #expect(try one(JSONType.self, document.type()) == .object)
        #expect(try one(JSONType.self, document.type("o", "x")) == .true)
        #expect(try one(JSONType.self, document.type("nowhere")) == nil)
        #expect(try one(Int.self, document.arrayLength("list")) == 3)
        #expect(try one(Int.self, document.arrayLength("o")) == 0)
    }

    @Test func jsonExpressionsConvertBetweenTextAndJSONB() throws {
        let loose = JSONExpression(text: "{a: 1, /* JSON5 */ b: [0x10,],}")
        #expect(try one(String.self, loose.asText.sql) == #"{"a":1,"b":[16]}"#)
        #expect(try one(Data.self, loose.asJSONB.asText.asJSONB.sql).map { try JSONValue(jsonb: $0) } == ["a": 1, "b": [16]])
        #expect(try one(String.self, loose.pretty(indent: " ")) == "{\n \"a\": 1,\n \"b\": [\n  16\n ]\n}")
        #expect(try one(Bool.self, loose.isValid()) == false)
        #expect(try one(Bool.self, loose.asJSONB.isValid(.jsonb)) == true)
        #expect(try one(Bool.self, loose.isValid(.jsonb)) == false)
        #expect(try one(Bool.self, JSONExpression("NULL").isValid()) == nil)
        #expect(try one(Int.self, document.errorPosition) == 0)
        #expect(try one(Int.self, JSONExpression(text: "[1,}").errorPosition) == 4)
    }

    @Test(arguments: [JSONFormat.text, .jsonb]) func jsonChangesApplyToTextAndJSONB(format: JSONFormat) throws {
        let base = JSONExpression(text: #"{"a":1,"list":[1,2]}"#)
        func check(_ expression: JSONExpression, _ expected: JSONValue, _ location: SourceLocation = #_sourceLocation) throws {
            #expect(try json(expression) == expected, sourceLocation: location)
            let storage = try db.fetchOne(String.self, "SELECT typeof(\(expression))")
            #expect(storage == (format == .text ? "text" : "blob"), sourceLocation: location)
        }
        try check(base.changed(by: .set("a", to: true), as: format), ["a": true, "list": [1, 2]])
        try check(base.changed(by: .set("b", to: "[1]"), as: format), ["a": 1, "list": [1, 2], "b": "[1]"])
        try check(base.changed(by: .set("b", to: ["x": [1.5]]), as: format), ["a": 1, "list": [1, 2], "b": ["x": [1.5]]])
        try check(base.changed(by: .set("a", to: JSONValue.null), as: format), ["a": .null, "list": [1, 2]])
        try check(
            base.changed(by: .set(JSONPath("list", -1), to: UInt64.max), as: format),
            ["a": 1, "list": [1, .decimal(Decimal(UInt64.max))]])
        try check(base.changed(by: .set("a", to: document.at("o")), as: format), ["a": ["x": true], "list": [1, 2]])
        try check(base.changed(by: .set("a", to: .quote("upper(\("x"))")), as: format), ["a": "X", "list": [1, 2]])
        try check(base.changed(by: .insert(2, at: "a"), as: format), ["a": 1, "list": [1, 2]])
        try check(base.changed(by: .insert("n", at: "b"), as: format), ["a": 1, "list": [1, 2], "b": "n"])
        try check(base.changed(by: .replace("a", with: [1, 2]), as: format), ["a": [1, 2], "list": [1, 2]])
        try check(base.changed(by: .replace("b", with: 1), as: format), ["a": 1, "list": [1, 2]])
        try check(base.changed(by: .append("z", toArrayAt: "list"), as: format), ["a": 1, "list": [1, 2, "z"]])
        try check(base.changed(by: .append(1, toArrayAt: "new"), as: format), ["a": 1, "list": [1, 2], "new": [1]])
        try check(base.changed(by: .insertElement(0, before: JSONPath("list", 0)), as: format), ["a": 1, "list": [0, 1, 2]])
        try check(base.changed(by: .remove("a"), .remove(JSONPath("list", 0)), .remove(JSONPath("list", 0)), as: format), ["list": []])
        try check(base.changed(by: .patch(["a": JSONValue.null, "b": ["c": 1]]), as: format), ["list": [1, 2], "b": ["c": 1]])
        try check(base.changed(by: .patch(document.at("o")), as: format), ["a": 1, "list": [1, 2], "x": true])
        try check(base.changed(by: .set("a", to: 2), .remove("list"), as: format), ["a": 2])
    }

    @Test func jsonExpressionsBuildArraysAndObjects() throws {
        #expect(try json(.quote("\("a\"b")")) == "a\"b")
        #expect(try json(.array("1", "\("t")", document.at("o").sql, "NULL")) == [1, "t", ["x": true], .null])
        #expect(try json(.array("2.5", as: .jsonb)) == [2.5])
        #expect(try json(.array()) == [])
        #expect(try json(.object(["id": "1 + 1", "it's": "\("t")"])) == ["id": 2, "it's": "t"])
        #expect(try json(.object([:], as: .jsonb)) == [:])
        try db.execute(SQLScript("CREATE TABLE t(k TEXT, v); INSERT INTO t VALUES ('b', 2), ('a', 'x'), ('c', NULL)"))
        let array = JSONExpression.groupArray("v", orderedBy: "k DESC")
        #expect(try db.fetchOne(JSONValue.self, "SELECT \(array) FROM t") == [.null, 2, "x"])
        let object = JSONExpression.groupObject(key: "k", value: "v", orderedBy: "k", as: .jsonb)
        let grouped = try #require(try db.fetchOne(JSONValue.self, "SELECT \(object) FROM t"))
        #expect(grouped == ["a": "x", "b": 2, "c": .null] && grouped.objectValue?.keys == ["a", "b", "c"])
        #expect(try db.fetchOne(JSONValue.self, "SELECT \(JSONExpression.groupArray("v", as: .jsonb)) FROM t WHERE 0") == [])
    }

    @Test func hostileJSONPathIsEscaped() throws {
        try db.execute("CREATE TABLE t(j)")
        try db.execute("INSERT INTO t VALUES ('{}')")
        let hostile = "x') FROM t; DROP TABLE t; --'"
        #expect(try db.fetchOne(Int?.self, "SELECT \(JSONExpression(column: "j").value(hostile)) FROM t") == .some(nil))
        try db.main.updateJSON("j", in: "t", where: "TRUE", .set(hostile, to: 1))
        #expect(try db.fetchOne(Int.self, "SELECT \(JSONExpression(column: "j", of: "t").value(hostile)) FROM t") == 1)
    }
}
