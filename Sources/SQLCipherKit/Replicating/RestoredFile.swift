import CSQLCipher
import Foundation

/// A database file that is put together from pages under a temporary name, and gets its own name when it is complete and intact.
package final class RestoredFile {
    private let file: AtomicFile
    private var descriptor: Int32

    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name already and it must not be replaced, or if it
    ///   has a journal or a log; ``DatabaseError/Reason/busy`` while another process writes the same file.
    package init(at path: String, replacing: Bool) throws {
        let suffixes = replacing ? ["-journal", "-wal"] : ["", "-journal", "-wal"]
        // An empty log has nothing that could be lost, or be applied to the new file.
        for suffix in suffixes where DatabaseFile.exists(path + suffix) && (suffix == "" || !DatabaseFile.isEmpty(path + suffix)) {
            throw DatabaseFile.cannotOpen(path, "there is a file \(path + suffix) already")
        }
        file = try AtomicFile(for: path)
        descriptor = open(file.temporaryPath, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { throw AtomicFile.failure(.cannotOpen, "the new file cannot be written", path) }
    }

    deinit { closeDescriptor() }

    private func closeDescriptor() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw AtomicFile.failure(.ioError, "the new file cannot be written", file.path) }
            done += count
        }
    }

    /// Cuts the file to its final size.
    package func truncate(to size: Int) throws {
        guard ftruncate(descriptor, off_t(size)) == 0 else {
            throw AtomicFile.failure(.ioError, "the new file cannot be cut", file.path)
        }
    }

    /// Checks the whole file, flushes it and gives it its name.
    /// - Throws: ``DatabaseError/Reason/conversionFailed`` if a page or the structure is damaged, and any error of opening it.
    package func publish(key: Encryption, replacing: Bool) throws {
        closeDescriptor()
        do {
            let db = try Connection(.file(file.temporaryPath), key: key)
            defer { db.close() }
            try db.main.requireIntact("the restored database")
        }
        try file.flush()
        for suffix in ["-journal", "-wal", "-shm"] where suffix == "-shm" || DatabaseFile.isEmpty(file.path + suffix) {
            unlink(file.path + suffix)
        }
        try file.publish(replacing: replacing)
    }
}
