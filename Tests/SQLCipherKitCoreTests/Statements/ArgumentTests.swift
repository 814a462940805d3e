import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Every parameter gets a value, and every value has a parameter.
@Suite struct ArgumentTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    private func values(_ sql: SQL, _ arguments: StatementArguments) throws -> [SQLValue] {
        try #require(try db.fetchOne(OwnedRow.self, sql, arguments)).values
    }

    private func refused(_ sql: SQL, _ arguments: StatementArguments) -> DatabaseError? {
        let error = #expect(throws: DatabaseError.self) { try values(sql, arguments) }
        #expect(error?.reason == .parameters)
        return error
    }

    @Test func argumentsAreBoundByPosition() throws {
        #expect(try values("SELECT ?, ?", [1, nil]) == [1, nil])
        #expect(try values("SELECT ?2, ?1", ["a", "b"]) == ["b", "a"])
        #expect(try values("SELECT :a, @b, $c", [1, 2, 3]) == [1, 2, 3])
        let date = Date(timeIntervalSince1970: 0)
        #expect(try values("SELECT ?, ?, ?, ?, ?, ?", [UInt8(1), 2.5, true, "t", Data([1]), date]) == [
            1, 2.5, 1, "t", .blob(Data([1])), "1970-01-01 00:00:00.000",
        ])
    }

    @Test func argumentsAreBoundByName() throws {
        for arguments: StatementArguments in [["a": 1, "b": nil, "c": "x"], [":a": 1, "@b": nil, "$c": "x"]] {
            #expect(try values("SELECT :a, @b, $c", arguments) == [1, nil, "x"])
        }
        // A repeated name is bound once, for all its places.
        #expect(try values("SELECT :a, :a, :b", ["a": 1, "b": 2]) == [1, 1, 2])
        // The same name with two signs is two parameters: the bare name means both, the whole name one.
        #expect(try values("SELECT :a, @a", ["a": 1]) == [1, 1])
        #expect(try values("SELECT :a, @a", [":a": 1, "@a": 2]) == [1, 2])
        var built: [String: (any SQLValueConvertible)?] = [:]
        built["a"] = 5
        #expect(try values("SELECT :a", StatementArguments(built)) == [5])
        #expect(try values("SELECT :é, :_1", ["é": 1, "_1": 2]) == [1, 2])
    }

    @Test func argumentsAreBoundByNumber() throws {
        #expect(try values("SELECT ?7", ["7": "seven"]) == ["seven"])
        #expect(try values("SELECT ?7, ?2", ["?7": 7, "?2": 2]) == [7, 2])
        // Seven parameters by position, of which one stands in the text.
        #expect(try values("SELECT ?7", [1, 2, 3, 4, 5, 6, 7]) == [7])
        #expect(try db.prepare("SELECT ?7").parameterCount == 7)
        _ = refused("SELECT ?7", [7])
        _ = refused("SELECT ?7, ?2", ["7": 7])
    }

    @Test func wrongNumberOfArgumentsThrows() throws {
        #expect(refused("SELECT ?, ?", [1])?.message.contains("2 parameters and got 1 value") == true)
        #expect(refused("SELECT ?", [1, 2])?.message.contains("1 parameter and got 2 values") == true)
        #expect(refused("SELECT :first, :second", [1])?.message.contains(":second") == true)
        _ = refused("SELECT ?", [])
        _ = refused("SELECT 1", [1])
    }

    @Test func unknownAndMissingArgumentNamesThrow() throws {
        let unknown = refused("SELECT :a, :b", ["a": 1, "c": 2])
        #expect(unknown?.message.contains("no parameter c") == true && unknown?.message.contains(":a, :b") == true)
        #expect(refused("SELECT :a, :b", ["a": 1])?.message.contains(":b") == true)
        #expect(refused("SELECT :a", ["A": 1])?.message.contains("A") == true)
        #expect(refused("SELECT :a", ["@a": 1])?.message.contains("@a") == true)
        #expect(refused("SELECT :a", [":a": 1, "a": 2])?.message.contains("two values") == true)
        _ = refused("SELECT ?, :a", ["a": 1])
    }

    @Test func mixingInterpolatedAndListedArgumentsThrows() throws {
        _ = refused("SELECT \(1), ?", [2])
        _ = refused("SELECT \(1), :a", ["a": 2])
    }

    /// A failed binding leaves nothing behind for the next call.
    @Test func statementWorksAfterFailedBinding() throws {
        let statement = try db.prepare("SELECT :a, :b")
        #expect(throws: DatabaseError.self) { try statement.fetchOne(OwnedRow.self, ["a": 1]) }
        #expect(throws: DatabaseError.self) { try statement.fetchOne(OwnedRow.self, ["a": Double.nan, "b": 1]) }
        #expect(try statement.fetchOne(OwnedRow.self, ["a": 3, "b": nil])?.values == [3, nil])
    }
}
