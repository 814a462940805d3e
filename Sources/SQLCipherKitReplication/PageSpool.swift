import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Pages that wait in a file, encrypted, until they are written to a database together.
final class PageSpool {
    private let descriptor: Int32
    private let pageSize: Int
    private var present: Set<UInt32> = []
    /// The number of pages that the database has afterwards.
    var pageCount: UInt32 = 0

    init(at path: String, pageSize: Int) throws {
        self.pageSize = pageSize
        unlink(path)
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .cannotOpen, message: "\(path) cannot be made: \(reason)", path: path)
        }
        // It goes away with the process.
        unlink(path)
    }

    deinit { close(descriptor) }

    func add(_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws {
        guard pwrite(descriptor, bytes.baseAddress, pageSize, off_t((Int(page) - 1) * pageSize)) == pageSize else {
            throw DatabaseError(code: .ioError, message: "a page cannot be kept: \(String(cString: strerror(errno)))")
        }
        present.insert(page)
    }

    /// Writes the pages in the open transaction.
    func replay(into db: Connection) throws {
        var bytes = [UInt8](repeating: 0, count: pageSize)
        for page in present.sorted() where page <= pageCount {
            try bytes.withUnsafeMutableBytes { bytes in
                guard try FolderStore.readAll(descriptor, bytes, at: (Int(page) - 1) * pageSize) == pageSize else {
                    throw DatabaseError(code: .ioError, message: "a page that was kept cannot be read")
                }
                try db.replayPage(page, bytes)
            }
        }
        try db.endReplay(pages: pageCount)
    }
}
