import Foundation
import Testing

/// The program of a row, by its number. One test runs all of a suite: one for each takes the compiler ten times as long.
struct Port: Sendable, CustomTestStringConvertible {
    let number: String
    let run: @Sendable () async throws -> Void
    var testDescription: String { number }

    /// Each program gets a suite of its own, as each test does.
    static func list<Suite>(
        _ suite: @escaping @Sendable () throws -> Suite,
        _ programs: KeyValuePairs<String, @Sendable (Suite) -> () throws -> Void>,
        async others: KeyValuePairs<String, @Sendable (Suite) -> () async throws -> Void> = [:]
    ) -> [Port] {
        programs.map { number, program in Port(number: number) { try program(suite())() } }
            + others.map { number, program in Port(number: number) { try await program(suite())() } }
    }
}

/// A value that several threads change.
final class Seen<Value: Sendable>: @unchecked Sendable {
    // The lock guards the only property.
    private let lock = NSLock()
    private var values: [Value] = []

    func add(_ value: Value) { lock.withLock { values.append(value) } }
    var all: [Value] { lock.withLock { values } }
}
