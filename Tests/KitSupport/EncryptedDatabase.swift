import SQLCipherKitCore
import TestSupport

/// An encrypted database in a folder of its own.
package struct EncryptedDatabase {
    package let folder: TemporaryFolder
    package let db: Connection

    package init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("secret").quick)
    }
}
