import CSQLCipher
import SQLCipherKitCore

/// How a database lays out its content on pages. Two databases must share it for pages to be copied unchanged.
///
/// SQLite would also copy between different layouts, and write a file that cannot be read.
struct PageLayout: Equatable {
    let isEncrypted: Bool
    let pageSize: Int
    /// The number of bytes at the end of each page that hold the initialisation vector and the authentication code instead of
    /// content.
    let reservedBytes: Int

    init(_ schema: Schema) throws(DatabaseError) {
        let connection = schema.connection
        isEncrypted = try schema.cipher != nil
        pageSize = try schema.pageSize
        var reserved: Int32 = -1
        try connection.check(sqlite3_file_control(schema.live(), schema.name, SQLITE_FCNTL_RESERVE_BYTES, &reserved))
        reservedBytes = Int(reserved)
    }
}
