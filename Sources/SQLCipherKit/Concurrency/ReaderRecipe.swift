import CSQLCipher

/// What a pool's readers are opened with, so that they see what its writer sees.
struct ReaderRecipe: Sendable {
    struct Attachment: Sendable {
        let name: String
        let path: String
        let key: EncryptionKey?
        let cipher: CipherConfiguration
    }

    private let key: EncryptionKey?
    private let attachments: [Attachment]

    /// Takes the derived keys from an open connection: a reader has nothing to derive.
    init(_ writer: Connection) throws(DatabaseError) {
        let handle = try writer.live()
        key = try .derived(of: "main", handle)
        var attachments: [Attachment] = []
        for database in try writer.attachedDatabases() where database.name != "main" && database.name != "temp" {
            // What is in memory is one connection's.
            guard let path = database.path else { continue }
            let cipher = writer.attachedCiphers[database.name.lowercased()] ?? writer.configuration.cipher
            attachments.append(
                Attachment(name: database.name, path: path, key: try .derived(of: database.name, handle), cipher: cipher))
        }
        self.attachments = attachments
    }

    func open(_ location: Location, _ configuration: Configuration) throws -> Connection {
        var configuration = configuration
        configuration.journalMode = nil
        configuration.onCreate = nil
        // A file that is gone is not to be made again. A URI says itself how it is opened.
        configuration.access = location.path == nil ? .readWrite : .readOnly
        let db = try Connection(location, key: key, configuration: configuration)
        for attachment in attachments {
            let key: AttachKey = attachment.key.map { .key($0, cipher: attachment.cipher) } ?? .plaintext
            try db.attach(.file(attachment.path), as: attachment.name, key: key)
        }
        if location.path == nil { sqlcipherkit_set_query_only(try db.live(), 1) }
        return db
    }
}
