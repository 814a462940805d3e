import CSQLCipher
import SQLCipherKitCore

/// Reads the decrypted pages of a database, for code that inspects them without SQL.
struct PageReader {
    let connection: Connection
    private let schemaName: String
    /// The size of a page in bytes.
    let pageSize: Int
    /// The number of bytes of a page that hold content.
    private(set) var usableSize: Int
    /// The number of bytes of a page that the encryption needs at least; a database that was created with more keeps that.
    let reservedSize: Int
    let pageCount: Int
    /// The page at 1 GiB, where SQLite's locks lie: it holds nothing, and is never written
    /// (<https://sqlite.org/fileformat2.html#the_lock_byte_page>).
    var lockPage: Int { 0x4000_0000 / pageSize + 1 }

    /// Opens a file without reading its schema.
    init(_ location: DatabaseLocation, key: DatabaseKey, access: DatabaseConfiguration.Access) throws {
        var configuration = DatabaseConfiguration()
        configuration.access = access
        configuration.readsPagesOnly = true
        try self.init(try Connection(location, key: key, configuration: configuration).main)
    }

    /// Reads the pages of an open database.
    init(_ schema: Schema) throws {
        connection = schema.connection
        schemaName = schema.name
        var size: Int32 = 0, usable: Int32 = 0, count: UInt32 = 0
        try connection.check(sqlcipherkit_page_layout(schema.live(), schemaName, &size, &usable, &count))
        (pageSize, usableSize, pageCount) = (Int(size), Int(usable), Int(count))
        reservedSize = pageSize - usableSize
        // The header tells how many bytes of each page the b-tree leaves free.
        if let first = try page(1), first.starts(with: DatabaseFile.plaintextHeader) { useLayout(of: first) }
    }

    mutating func useLayout(of header: [UInt8]) {
        if header[20] >= reservedSize { usableSize = max(480, pageSize - Int(header[20])) }
    }

    /// The bytes of a page, counted from 1; nil if it is damaged or missing.
    /// - Throws: any other error that prevents it from being read.
    func page(_ number: Int) throws -> [UInt8]? {
        guard let index = UInt32(exactly: number), index > 0, number <= pageCount else { return nil }
        let handle = try connection.live()
        var rc = SQLITE_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: pageSize) { bytes, count in
            rc = sqlcipherkit_copy_page(handle, schemaName, index, bytes.baseAddress)
            count = rc == SQLITE_OK ? pageSize : 0
        }
        switch rc & 0xff {
        case SQLITE_OK: return bytes
        case SQLITE_CORRUPT, SQLITE_NOTADB: return nil
        default: throw DatabaseError(rc: rc, database: nil, path: connection.location.path)
        }
    }

    /// The number of bytes of a record that are on the page itself.
    func localSize(of total: Int, isTable: Bool) -> Int {
        let most = isTable ? usableSize - 35 : (usableSize - 12) * 64 / 255 - 23
        if total <= most { return total }
        let least = (usableSize - 12) * 32 / 255 - 23
        let wanted = least + (total - least) % (usableSize - 4)
        return wanted <= most ? wanted : least
    }
}

/// The layout of a database's content on pages. Two databases must share it for pages to be copied unchanged.
///
/// SQLite would also copy between different layouts, and write a file that cannot be read.
struct PageLayout: Equatable {
    let isEncrypted: Bool
    let pageSize: Int
    /// The number of bytes at the end of each page that hold the initialization vector and the authentication code instead of
    /// content.
    let reservedBytes: Int

    init(_ schema: Schema) throws {
        let connection = schema.connection
        isEncrypted = try schema.cipher != nil
        pageSize = try schema.pageSize
        var reserved: Int32 = -1
        try connection.check(sqlite3_file_control(schema.live(), schema.name, SQLITE_FCNTL_RESERVE_BYTES, &reserved))
        reservedBytes = Int(reserved)
    }
}
