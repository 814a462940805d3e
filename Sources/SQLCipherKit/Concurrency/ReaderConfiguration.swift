import CSQLCipher
import Synchronization

/// How other connections are opened, so that they see what the writer of a pool sees.
struct ReaderConfiguration: Sendable {
    struct Attachment: Sendable {
        let name: String
        let path: String
        let key: AttachKey
    }

    let location: DatabaseLocation
    var configuration: DatabaseConfiguration
    private let key: EncryptionKey?
    private let attachments: [Attachment]

    /// Takes the derived keys from an open connection: the next one has nothing to derive.
    init(_ writer: Connection) throws(DatabaseError) {
        let handle = try writer.live()
        (location, configuration) = (writer.location, writer.configuration)
        key = try .derived(of: "main", handle)
        var attachments: [Attachment] = []
        for database in try writer.attachedDatabases() where database.name != "main" && database.name != "temp" {
            // What is in memory is one connection's.
            guard let path = database.path else { continue }
            let cipher = writer.attachedCiphers[database.name.lowercased()] ?? writer.configuration.cipher
            let key = try EncryptionKey.derived(of: database.name, handle)
            attachments.append(Attachment(name: database.name, path: path, key: key.map { .key($0, cipher: cipher) } ?? .plaintext))
        }
        self.attachments = attachments
    }

    func openReader() throws -> Connection {
        var configuration = configuration
        configuration.journalMode = nil
        // A file that was deleted must not be created again. A URI says itself how it is opened.
        configuration.access = location.path == nil ? .readWrite : .readOnly
        let db = try open(key, configuration)
        if location.path == nil { sqlcipherkit_set_query_only(try db.live(), 1) }
        return db
    }

    func openWriter(_ key: EncryptionKey?) throws -> Connection { try open(key, configuration) }

    private func open(_ key: EncryptionKey?, _ configuration: DatabaseConfiguration) throws -> Connection {
        var configuration = configuration
        configuration.onCreate = nil
        let db = try Connection(location, key: key, configuration: configuration)
        for attachment in attachments { try db.attach(.file(attachment.path), as: attachment.name, key: attachment.key) }
        return db
    }

    /// A reader configuration that threads share, and that may change.
    final class Shared: Sendable {
        private let value: Mutex<ReaderConfiguration?>

        init(_ value: ReaderConfiguration?) { self.value = Mutex(value) }

        var current: ReaderConfiguration? {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }
}
