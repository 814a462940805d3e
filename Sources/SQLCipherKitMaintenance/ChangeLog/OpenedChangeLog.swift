import Foundation
import SQLCipherKitCore

/// The log that a connection has opened last. Opening it again has nothing to do, as long as neither the schema has changed nor
/// what the log keeps of how it was opened. A ``SharedChangeLog`` does so at each call.
final class OpenedChangeLog: ConnectionState {
    private struct Log {
        let peer: String, wanted: [String], rules: [SQLName: ChangeLog.Rule]
        let settings: Data, known: (version: Int, tables: LoggedTables)
    }
    private var last: Log?
    /// Whether a log of the connection is writing.
    var isLogging = false

    init() {}

    /// The tables of a log, if it has been opened already.
    func tables(
        of log: ChangeLog, _ wanted: [String], _ rules: [SQLName: ChangeLog.Rule]
    ) throws(DatabaseError) -> (version: Int, tables: LoggedTables)? {
        guard let last, last.peer.isSameText(as: log.peer), last.wanted.isSame(as: wanted), last.rules == rules,
            try log.schemaVersion == last.known.version,
            try log.store.state("settings", as: Data.self) == last.settings
        else { return nil }
        return last.known
    }

    /// Notes a log that was opened. One that an outer transaction may roll back is not noted.
    func note(
        _ log: ChangeLog, _ wanted: [String], _ rules: [SQLName: ChangeLog.Rule], _ known: (version: Int, tables: LoggedTables)?
    ) throws(DatabaseError) {
        last = nil
        guard let known, !log.connection.isInTransaction, try log.schemaVersion == known.version,
            let settings = try log.store.state("settings", as: Data.self)
        else { return }
        last = Log(peer: log.peer, wanted: wanted, rules: rules, settings: settings, known: known)
    }
}
