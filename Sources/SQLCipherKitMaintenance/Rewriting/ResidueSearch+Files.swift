import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Searches older images of pages: in the log, the journal and leftover files.
extension ResidueSearch {
    func searchFiles(_ path: String) throws {
        var replaced: Set<Int> = []
        try searchLog(path + "-wal", &replaced)
        try searchDatabase(path, replaced)
        try searchJournal(path + "-journal")
        for name in [AtomicFile.temporaryPath(for: path), AtomicFile.workingPath(for: path)] {
            try searchPages(of: name)
            for file in [name + "-wal", name + "-journal"] {
                try forEachBlock(of: file, 65_536) { searchBytes($0, .remains, file: file) }
            }
        }
    }

    /// Searches the database's own pages that the log has newer versions of, and those after its end.
    private func searchDatabase(_ path: String, _ replaced: Set<Int>) throws {
        let count = try schema.fileSize / pages.pageSize
        let behind = pages.pageCount < count ? Set(pages.pageCount + 1...count) : []
        for number in replaced.union(behind).sorted() where number <= count {
            var bytes = [UInt8](repeating: 0, count: pages.pageSize)
            let (handle, offset) = (try schema.live(), Int64(number - 1) * Int64(pages.pageSize))
            let rc = sqlcipherkit_read_file(handle, schema.name, &bytes, Int32(pages.pageSize), offset)
            guard rc == SQLITE_OK else { continue }
            try search(bytes, number, behind.contains(number) ? .freePage : .replacedPage, file: path)
        }
    }

    /// Searches the write-ahead log (<https://sqlite.org/fileformat2.html#walformat>). Frames of earlier transactions remain after
    /// those of the last one until they are overwritten.
    private func searchLog(_ path: String, _ replaced: inout Set<Int>) throws {
        var isFirst = true
        try forEachBlock(of: path, 24 + pages.pageSize, after: 32) { frame in
            guard frame.count == 24 + pages.pageSize, let number = frame.bigEndian(at: 0, bytes: 4) else { return }
            isFirst = false
            replaced.insert(number)
            try search(Array(frame[24...]), number, .log, file: path)
        }
        if isFirst { replaced = [] }
    }

    /// Searches the rollback journal (<https://sqlite.org/fileformat2.html#the_rollback_journal>). The header of a journal that is
    /// kept is wiped, so pages are recognised by their authentication with the key. A plaintext database's journal is searched as
    /// plain bytes.
    private func searchJournal(_ path: String) throws {
        guard let bytes = try OwnFile.contents(of: path, atMost: .max), bytes.count > 512 else { return }
        let isAuthenticated = try schema.cipher?.settings.usesHMAC
        if isAuthenticated == nil { return searchBytes(bytes, .journal, file: path) }
        let record = pages.pageSize + 8
        var at = 512, skipped = 0
        while at + record <= bytes.count {
            let number = bytes.bigEndian(at: at, bytes: 4) ?? 0
            // A database that was once larger has higher numbers, but the highest possible ones are not page numbers.
            if number > 0, number < 1 << 31, let image = decrypted(Array(bytes[at + 4..<at + 4 + pages.pageSize]), number) {
                try searchOlder(image, number, .journal, file: path)
                at += record
            } else {
                let next = (at / 512 + 1) * 512
                skipped += next - at
                at = next
            }
        }
        for _ in 0..<skipped / record { try count(isReadable: false) }
    }

    private func searchPages(of path: String) throws {
        var number = 0
        try forEachBlock(of: path, pages.pageSize) { block in
            number += 1
            guard block.count == pages.pageSize else { return searchBytes(block, .remains, file: path) }
            try search(block, number, .remains, file: path)
        }
    }

    private func search(_ bytes: [UInt8], _ number: Int, _ kind: Schema.ResidueReport.Kind, file: String) throws {
        guard number > 0, let image = decrypted(bytes, number) else { return try count(isReadable: false) }
        try searchOlder(image, number, kind, file: file)
    }

    /// Searches an image, unless it is the same as the current page.
    private func searchOlder(_ image: [UInt8], _ number: Int, _ kind: Schema.ResidueReport.Kind, file: String) throws {
        try count(isReadable: true)
        let end = pages.pageSize - pages.reservedSize
        if kind != .remains, let page = try pages.page(number), page.prefix(end) == image.prefix(end) { return }
        searchImage(image, number, kind, file: file)
    }

    private func decrypted(_ bytes: [UInt8], _ number: Int) -> [UInt8]? {
        guard let handle = try? schema.live(), let number = UInt32(exactly: number) else { return nil }
        var bytes = bytes
        return sqlcipherkit_decrypt_image(handle, schema.name, number, &bytes) == SQLITE_OK ? bytes : nil
    }

    /// Calls `body` with the blocks of a file, the last of which may be shorter. This is for files without locks only: closing the
    /// database file would release its locks.
    private func forEachBlock(of path: String, _ size: Int, after header: Int = 0, _ body: ([UInt8]) throws -> Void) throws {
        guard let file = OwnFile.open(path, for: .reading) else { return }
        guard let end = file.size else { throw AtomicFile.failure(.ioError, "the file's size cannot be read", path) }
        for offset in stride(from: header, to: end, by: size) {
            var block = [UInt8](repeating: 0, count: min(size, end - offset))
            guard block.withUnsafeMutableBytes({ file.read($0, at: offset) }) == block.count else {
                throw AtomicFile.failure(.ioError, "the file cannot be read", path)
            }
            try body(block)
        }
    }
}
