import SQLCipherKitCore

extension DatabaseError {
    /// Runs work that throws database errors only, but whose calls cannot say so: they take closures, or are those of a caller's
    /// type, whose own error is the underlying one then.
    package static func typed<R>(_ body: () throws -> R) throws(DatabaseError) -> R {
        do { return try body() } catch {
            guard error is CancellationError else { throw DatabaseError(thrownBy: "the call", error) }
            throw DatabaseError(thrownBy: "the task", error, code: .interrupted)
        }
    }
}
