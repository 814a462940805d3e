/// Reads the rows of a table, with or without row ids, from its b-tree's pages, skipping lost ones
/// (<https://sqlite.org/fileformat2.html#b_tree_pages>).
///
/// The pages may hold anything: without authentication, nothing in them can be trusted.
struct TreeReader {
    /// The pages and rows that could not be read.
    struct Losses {
        /// The damaged or missing pages, in the order in which they were encountered.
        var pages: [Int] = []
        /// The number of rows on readable pages that are invalid or have lost overflow pages.
        var rows = 0
    }

    private let source: PageReader
    private(set) var losses = Losses()
    private var visited: Set<Int> = []

    init(_ source: PageReader) { self.source = source }

    private enum Kind: UInt8 { case innerIndex = 2, innerTable = 5, leafIndex = 10, leafTable = 13 }

    /// Calls `body` with each row: its id, if the table has row ids, and its record.
    mutating func readRows(root: Int, _ body: (_ rowID: Int64?, _ record: [UInt8]) throws -> Void) throws {
        // The pages that are still to be read, the next one last.
        var waiting = [root]
        while let number = waiting.popLast() {
            guard visited.insert(number).inserted else { continue }
            guard let page = try source.page(number), let kind = Kind(rawValue: page[number == 1 ? 100 : 0]) else {
                losses.pages.append(number)
                continue
            }
            waiting += try readPage(page, kind, header: number == 1 ? 100 : 0, body).reversed()
        }
    }

    /// Calls `body` with the rows of a page.
    /// - Returns: the pages below it.
    private mutating func readPage(
        _ page: [UInt8], _ kind: Kind, header: Int, _ body: (Int64?, [UInt8]) throws -> Void
    ) throws -> [Int] {
        let isInner = kind == .innerIndex || kind == .innerTable
        let cells = page.bigEndian(at: header + 3, bytes: 2) ?? 0
        var children: [Int] = []
        for index in 0..<min(cells, source.usableSize / 4) {
            let pointer = header + (isInner ? 12 : 8) + 2 * index
            guard var at = page.bigEndian(at: pointer, bytes: 2), at < source.usableSize else { break }
            if isInner {
                children.append(page.bigEndian(at: at, bytes: 4) ?? 0)
                at += 4
            }
            if kind == .innerTable { continue }
            guard let (rowID, record) = try readCell(page, at: at, isTable: kind == .leafTable) else {
                losses.rows += 1
                continue
            }
            try body(rowID, record)
        }
        if isInner { children.append(page.bigEndian(at: header + 8, bytes: 4) ?? 0) }
        return children
    }

    private mutating func readCell(_ page: [UInt8], at start: Int, isTable: Bool) throws -> (Int64?, [UInt8])? {
        guard let (size, afterSize) = page.variableLength(at: start), let total = Int(exactly: size),
            total <= source.pageCount * source.usableSize
        else { return nil }
        var at = afterSize
        var rowID: Int64?
        if isTable {
            guard let (id, end) = page.variableLength(at: at) else { return nil }
            (rowID, at) = (Int64(bitPattern: id), end)
        }
        let local = source.localSize(of: total, isTable: isTable)
        guard at + local <= page.count else { return nil }
        var record = Array(page[at..<at + local])
        guard local < total else { return (rowID, record) }
        guard var next = page.bigEndian(at: at + local, bytes: 4) else { return nil }
        record.reserveCapacity(total)
        var pages: Set<Int> = []
        while record.count < total {
            guard pages.insert(next).inserted else { return nil }
            guard let more = try source.page(next) else {
                if visited.insert(next).inserted { losses.pages.append(next) }
                return nil
            }
            record += more[4..<min(source.usableSize, 4 + total - record.count)]
            next = more.bigEndian(at: 0, bytes: 4) ?? 0
        }
        return (rowID, record)
    }
}
