import Foundation
import SQLCipherKitCore
import Testing

/// Optionals in `\( )` of SQL. The tests are built with warnings as failures, so each expression here also shows that the compiler
/// does not warn about it.
@Suite struct OptionalInterpolationTests {
    private struct Note: Sendable {
        var title: String?
        var written: Date?
        var parent: UUID?
    }

    private func later<Value: Sendable>(_ value: Value?) async throws -> Value? { value }

    private func values(_ sql: SQL) throws -> [SQLValue] {
        try Connection(.memory).fetchOne(OwnedRow.self, sql)?.values ?? []
    }

    @Test func interpolatedOptionalIsBoundAsValueOrNull() async throws {
        let absent: Int? = nil
        let present: Int64? = 7
        let nested: String?? = .some("x")
        let bytes: [UInt8]? = [1, 2]
        let data: Data? = Data([3])
        let values = try values("SELECT \(absent), \(present), \(nested), \(bytes), \(data), \(true as Bool?), \(2.5 as Double?)")
        #expect(values == [nil, 7, "x", .blob(Data([1, 2])), .blob(Data([3])), 1, 2.5])
    }

    @Test func anyOptionalExpressionMayBeInterpolated() async throws {
        let note: Note? = Note(title: "a")
        let numbers = ["one": 1]
        let values = try values("""
            SELECT \(note?.title), \(note?.written), \(note?.parent), \(numbers["one"]), \(numbers["two"]), \
            \(numbers["one"].map { $0 + 1 }), \(Int("3")), \(numbers.isEmpty ? nil : "b"), \
            \(try? JSONDecoder().decode(Int.self, from: Data())), \
            \(try await later(4)), \(note?.title ?? "none"), \(nil as Int?)
            """)
        #expect(values == ["a", nil, nil, 1, nil, 2, 3, "b", nil, 4, "a", nil])
    }

    @Test func interpolatedOptionalsKeepArgumentOrder() throws {
        let absent: Int? = nil
        let sql: SQL = "SELECT \(absent), 1 IN \([1, 2]), \(5), \(absent) IS NULL"
        #expect(sql.text == "SELECT ?, 1 IN (?,?), ?, ? IS NULL")
        #expect(try values(sql) == [nil, 1, 5, 1])
    }
}
