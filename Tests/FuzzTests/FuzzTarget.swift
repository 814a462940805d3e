import Testing

/// Something that takes bytes from outside. Its body is given one input after the other, each of which it must survive: a crash is
/// a finding, and so is an error that the body throws.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
    let name: String
    /// Longer inputs are not tried.
    let maximumBytes: Int
    /// Valid inputs, from which others are made.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// - Throws: ``Finding`` if the package's results for the input contradict each other or the engine.
    let body: @Sendable ([UInt8]) throws -> Void

    var testDescription: String { name }

    /// True if the target reads numbers in binary form, without a database file around them.
    var isOfBytes: Bool { ["jsonb", "changeset", "message", "slots", "page", "notes", "replica", "run", "vectors"].contains(name) }

    static let all: [FuzzTarget] = [.database, .log, .journal, .jsonb, .json, .changeset, .message, .query, .tokens, .vectors] + internals

    /// Targets that call functions that are not public, which a release build does not show.
    private static var internals: [FuzzTarget] {
        #if DEBUG || SQLCIPHERKIT_TESTABLE
            [.slots, .page, .notes, .replica, .run, .script, .csv, .jsonLines, .vectorLines, .arguments]
        #else
            []
        #endif
    }
}

/// The result of an input.
struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
    if !condition { throw Finding(description()) }
}
