/// The contents of a b-tree page and their positions (<https://sqlite.org/fileformat2.html#b_tree_pages>). Invalid contents are
/// skipped.
struct TreePage {
    struct Cell {
        /// The cell's position on the page.
        let range: Range<Int>
        /// The part of its record that is on the page; nil for an inner page of a table, which has none.
        let record: Range<Int>?
        /// The size of the whole record.
        let size: Int
        /// The row's id; on an inner page of a table, the highest one of the child's rows.
        let rowID: Int64?
        /// The first overflow page of the record, if any.
        let overflow: Int?
    }

    /// A record with its overflow pages, up to the first that cannot be read.
    /// - Parameters:
    ///   - page: the page with the cell.
    ///   - usableSize: the number of bytes of a page that hold content.
    ///   - read: reads an overflow page, of which so many bytes are in use.
    static func record(
        _ cell: Cell, _ page: [UInt8], _ usableSize: Int, _ read: (_ page: Int, _ used: Int) throws -> [UInt8]?
    ) rethrows -> [UInt8] {
        var record = Array(page[cell.record ?? 0..<0]), next = cell.overflow ?? 0
        while record.count < cell.size, next > 0 {
            let used = min(usableSize, 4 + cell.size - record.count)
            guard let page = try read(next, used) else { break }
            record += page[4..<used]
            next = page.bigEndian(at: 0, bytes: 4) ?? 0
        }
        return record
    }

    let kind: Kind
    private(set) var cells: [Cell] = []
    /// The number of cells that could not be read.
    private(set) var invalidCells = 0
    /// The pages below, and how many of the cells precede each.
    private(set) var branches: [(page: Int, cellsBefore: Int)] = []
    var children: [Int] { branches.map(\.page) }
    /// The ranges of bytes in use, sorted, with adjacent ones merged.
    private(set) var used: [Range<Int>] = []

    /// The first byte of a b-tree page.
    enum Kind: UInt8 {
        case innerIndex = 2, innerTable = 5, leafIndex = 10, leafTable = 13

        var isInner: Bool { self == .innerIndex || self == .innerTable }
        /// True if it belongs to a table with row ids.
        var isTable: Bool { self == .innerTable || self == .leafTable }
    }

    /// Nil for a page that is not a b-tree page.
    init?(_ page: [UInt8], isFirst: Bool, _ source: PageReader) {
        let header = isFirst ? 100 : 0
        guard let kind = Kind(rawValue: page[header]), let count = page.bigEndian(at: header + 3, bytes: 2) else { return nil }
        self.kind = kind
        let isInner = kind.isInner, isTable = kind.isTable
        let pointers = header + (isInner ? 12 : 8)
        guard pointers + 2 * count <= source.usableSize else { return nil }
        var ranges = [0..<pointers + 2 * count]
        for index in 0..<count {
            guard let start = page.bigEndian(at: pointers + 2 * index, bytes: 2), start < source.usableSize else {
                invalidCells += 1
                continue
            }
            if isInner { branches.append((page.bigEndian(at: start, bytes: 4) ?? 0, cells.count)) }
            guard let cell = Self.cell(page, at: start, isInner, isTable, source) else {
                invalidCells += 1
                continue
            }
            cells.append(cell)
            ranges.append(cell.range)
        }
        if isInner { branches.append((page.bigEndian(at: header + 8, bytes: 4) ?? 0, cells.count)) }
        used = Self.joined(ranges)
    }

    private static func cell(_ page: [UInt8], at start: Int, _ isInner: Bool, _ isTable: Bool, _ source: PageReader) -> Cell? {
        var at = start + (isInner ? 4 : 0)
        guard !isInner || !isTable else {
            guard let (id, end) = page.variableLength(at: at) else { return nil }
            return Cell(range: start..<end, record: nil, size: 0, rowID: Int64(bitPattern: id), overflow: nil)
        }
        guard let (size, afterSize) = page.variableLength(at: at), let total = Int(exactly: size),
            total <= source.pageCount * source.usableSize
        else { return nil }
        at = afterSize
        var rowID: Int64?
        if isTable {
            guard let (id, end) = page.variableLength(at: at) else { return nil }
            (rowID, at) = (Int64(bitPattern: id), end)
        }
        let end = at + source.localSize(of: total, isTable: isTable)
        guard end <= source.usableSize else { return nil }
        guard end - at < total else { return Cell(range: start..<end, record: at..<end, size: total, rowID: rowID, overflow: nil) }
        guard end + 4 <= source.usableSize else { return nil }
        let next = page.bigEndian(at: end, bytes: 4)
        return Cell(range: start..<end + 4, record: at..<end, size: total, rowID: rowID, overflow: next)
    }

    static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var joined: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}
