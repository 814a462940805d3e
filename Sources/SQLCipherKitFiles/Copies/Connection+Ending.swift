import CSQLCipher
import SQLCipherKitCore

extension Connection {
    /// Runs work on this connection, which has a copy of a database, so that it ends when the whole operation must end: if the
    /// connection of the caller is interrupted or late, its progress handler says so, or `ask` throws.
    /// - Parameters:
    ///   - caller: the connection of the operation; nil if the caller has none.
    ///   - ask: called at most ten times a second. It can use none of the operation's connections.
    /// - Throws: also the error of `ask`, unchanged.
    func ending<R>(with caller: Connection?, asking ask: @escaping () throws -> Void, _ body: () throws -> R) throws -> R {
        var cause: (any Error)?
        var last = ContinuousClock.now
        try settings.setProgressHandler {
            do {
                if let caller {
                    if caller.mustStop { throw caller.refusal() }
                    if sqlite3_is_interrupted(try caller.live()) != 0 {
                        throw DatabaseError(code: .interrupted, message: "the work on the copy was interrupted")
                    }
                    try caller.requireToGoOn()
                }
                if last.duration(to: .now) >= .milliseconds(100) {
                    last = .now
                    try ask()
                }
            } catch {
                cause = error
                throw error
            }
            return true
        }
        defer { if isOpen { try? settings.setProgressHandler(nil) } }
        do { return try body() } catch { throw cause ?? error }
    }
}
