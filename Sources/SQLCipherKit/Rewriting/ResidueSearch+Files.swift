import CSQLCipher
import Foundation

/// Older images of pages: in the log, the journal, and files that were left.
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

    /// The database's own pages, where the log has newer ones, and those after its end.
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

    /// See <https://sqlite.org/fileformat2.html#walformat>. Frames of earlier transactions stand behind those of the last until
    /// they are written over.
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

    /// See <https://sqlite.org/fileformat2.html#the_rollback_journal>. The header of a journal that is kept is wiped, so that a
    /// page is what the key authenticates; without authentication there is nothing but bytes.
    private func searchJournal(_ path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path).map(Array.init), bytes.count > 512 else { return }
        let isAuthenticated = try schema.cipher?.settings.usesHMAC
        if isAuthenticated == nil { return searchBytes(bytes, .journal, file: path) }
        let record = pages.pageSize + 8
        var at = 512, skipped = 0
        while at + record <= bytes.count {
            let number = bytes.bigEndian(at: at, bytes: 4) ?? 0
            // A database that was larger once has higher numbers, and the largest possible are none.
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

    private func search(_ bytes: [UInt8], _ number: Int, _ kind: ResidueReport.Kind, file: String) throws {
        guard number > 0, let image = decrypted(bytes, number) else { return try count(isReadable: false) }
        try searchOlder(image, number, kind, file: file)
    }

    /// Looks at an image, unless it is the page as it is now.
    private func searchOlder(_ image: [UInt8], _ number: Int, _ kind: ResidueReport.Kind, file: String) throws {
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

    /// Calls `body` with the pieces of a file, of which the last may be shorter. No locks are taken on these files: closing the
    /// database's own would give its locks back.
    private func forEachBlock(of path: String, _ size: Int, after header: Int = 0, _ body: ([UInt8]) throws -> Void) throws {
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(header))
        while let block = try file.read(upToCount: size), !block.isEmpty { try body(Array(block)) }
    }
}
