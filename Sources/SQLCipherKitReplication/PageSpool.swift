import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Pages that wait in a file, encrypted, until they are written to a database together.
final class PageSpool {
    private let file: OwnFile
    private let pageSize: Int
    private var present: Set<UInt32> = []
    /// The number of pages that the database has afterwards.
    var pageCount: UInt32 = 0

    init(at path: String, pageSize: Int) throws {
        unlink(path)
        guard let file = OwnFile.open(path, for: .creating) else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .cannotOpen, message: "\(path) cannot be made: \(reason)", path: path)
        }
        (self.file, self.pageSize) = (file, pageSize)
        // It goes away with the process.
        unlink(path)
    }

    func add(_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws {
        guard page > 0, bytes.count == pageSize, file.write(bytes, at: (Int(page) - 1) * pageSize) else {
            throw DatabaseError(code: .ioError, message: "a page cannot be kept: \(String(cString: strerror(errno)))")
        }
        present.insert(page)
    }

    /// Writes the pages in the open transaction.
    func replay(into db: Connection) throws {
        var bytes = [UInt8](repeating: 0, count: pageSize)
        for page in present.sorted() where page <= pageCount {
            try bytes.withUnsafeMutableBytes { bytes in
                guard file.read(bytes, at: (Int(page) - 1) * pageSize) == pageSize else {
                    throw DatabaseError(code: .ioError, message: "a page that was kept cannot be read")
                }
                try db.replayPage(page, bytes)
            }
        }
        try db.endReplay(pages: pageCount)
    }
}
