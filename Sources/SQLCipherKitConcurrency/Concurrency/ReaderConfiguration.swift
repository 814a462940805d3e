import CSQLCipher
import SQLCipherKitCore

/// The configuration with which other connections see the same databases as the writer of a pool.
package struct ReaderConfiguration: Sendable {
    struct Attachment: Sendable {
        let name: String
        let path: String
        let key: DatabaseKey
    }

    let location: DatabaseLocation
    private let configuration: DatabaseConfiguration
    package let key: DatabaseKey
    private let attachments: [Attachment]

    /// Takes the derived keys from an open connection, so that the next connection does not derive them again.
    package init(_ writer: Connection) throws {
        // Before a reader opens the logs: the last connection to close a log empties it, and a reader may not.
        sqlcipherkit_open_logs(try writer.live())
        (location, configuration) = (writer.location, writer.configuration)
        key = try .derived(of: writer.main)
        var attachments: [Attachment] = []
        for schema in try writer.schemas() where schema.name != "main" && schema.name != "temp" {
            // A database in memory belongs to one connection.
            guard let path = try schema.path else { continue }
            attachments.append(Attachment(name: schema.name, path: path, key: try .derived(of: schema)))
        }
        self.attachments = attachments
    }

    func openReader() throws -> Connection {
        var configuration = configuration
        configuration.journalMode = nil
        // The file was checked when the writer opened it.
        configuration.safeguards?.checksStructure = false
        // A file that was deleted must not be created again. A URI says for itself how it is opened.
        configuration.access = location.path == nil ? .readWrite : .readOnly
        let db = try open(key, configuration)
        if location.path == nil { sqlcipherkit_set_query_only(try db.live(), 1) }
        return db
    }

    package func openWriter(_ key: DatabaseKey) throws -> Connection { try open(key, configuration) }

    private func open(_ key: DatabaseKey, _ configuration: DatabaseConfiguration) throws -> Connection {
        var configuration = configuration
        configuration.onCreate = nil
        let db = try Connection(location, key: key, configuration: configuration)
        // Databases that the caller's `prepareDatabase` attaches are there.
        let own = try db.schemas()
        for attachment in attachments {
            if let schema = own.first(where: { $0.name.isSameName(as: attachment.name) }) {
                guard try schema.path?.isSameText(as: attachment.path) == true else {
                    throw DatabaseError.misuse(
                        "prepareDatabase attaches another file as \(attachment.name) on each connection of the pool")
                }
            } else {
                try db.attach(.file(attachment.path), as: attachment.name, key: attachment.key)
            }
        }
        return db
    }

    /// A reader configuration that threads share and that may change.
    package final class Shared: Sendable {
        private let value: Lock<ReaderConfiguration?>

        package init(_ value: ReaderConfiguration?) { self.value = Lock(value) }

        package var current: ReaderConfiguration? {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }
}
