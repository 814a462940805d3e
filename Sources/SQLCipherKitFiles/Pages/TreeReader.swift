/// Reads the rows of a table, with or without row ids, from its b-tree's pages, skipping lost ones
/// (<https://sqlite.org/fileformat2.html#b_tree_pages>).
///
/// The pages may hold anything: without authentication, nothing in them can be trusted.
struct TreeReader {
    /// The pages and rows that could not be read.
    struct Losses {
        /// The damaged or missing pages, in the order in which they were encountered.
        var pages: [Int] = []
        /// The number of invalid rows on readable pages.
        var rows = 0
        /// The pages with rows that have lost overflow pages.
        var cut: [Int] = []
        /// The gaps of the pages that lead, or may lead, to others.
        var gaps: [TreeGap] = []

        var isEmpty: Bool { pages.isEmpty && rows == 0 && cut.isEmpty }
    }

    /// The rows that are read.
    enum Rows {
        case whole
        /// Rows that have lost overflow pages, as far as the bytes reach.
        case cut
        case all
    }

    private let map: PageMap
    private let wanted: Rows
    private var source: PageReader { map.source }
    private(set) var losses = Losses()
    private var visited: Set<Int> = []

    init(_ map: PageMap, _ wanted: Rows = .whole) {
        self.map = map
        self.wanted = wanted
    }

    /// Calls `body` with each row: its id, if the table has row ids, and its record.
    mutating func readRows(root: Int, _ body: (_ rowID: Int64?, _ record: [UInt8]) throws -> Void) throws {
        // The pages that are still to be read, the next one last.
        var waiting = [TreeGap(page: root)]
        while let next = waiting.popLast() {
            guard visited.insert(next.page).inserted else { continue }
            guard let page = try readPage(next.page, body) else {
                losses.pages.append(next.page)
                if next.mayLead { losses.gaps.append(next) }
                continue
            }
            let isLeading = page.children.contains { map.kind($0)?.isInner == true }
            let isUnknown = !page.children.contains { map.kind($0) != nil }
            waiting += page.branches.indices.map { next.below(page, $0, mayLead: isLeading || isUnknown) }.reversed()
        }
    }

    /// Calls `body` with the rows of a page.
    /// - Returns: what is on the page; nil if it is lost.
    mutating func readPage(_ number: Int, _ body: (Int64?, [UInt8]) throws -> Void) throws -> SalvagedPage? {
        guard number > 1 || !map.isFirstPageLost, let bytes = try source.page(number) else { return nil }
        guard let page = TreePage(bytes, isFirst: number == 1, source) else { return nil }
        map.reach(number)
        losses.rows += page.invalidCells
        var records: [[UInt8]] = []
        for cell in page.cells where cell.record != nil {
            // Several cells may share the bytes of one row.
            try map.meter.use(rows: 1)
            let record = try record(cell, bytes), isCut = record.count < cell.size
            if isCut, losses.cut.last != number { losses.cut.append(number) }
            if page.kind == .innerIndex {
                try map.meter.use(bytes: record.count)
                records.append(isCut ? [] : record)
            }
            if wanted == .all || isCut == (wanted == .cut) { try body(cell.rowID, record) }
        }
        return SalvagedPage(page: page, records: records)
    }

    /// The bytes of a record, up to the first overflow page that is lost.
    private mutating func record(_ cell: TreePage.Cell, _ page: [UInt8]) throws -> [UInt8] {
        if cell.overflow != nil { try map.meter.require(bytes: cell.size) }
        var pages: Set<Int> = []
        return try TreePage.record(cell, page, source.usableSize) { next, _ in
            guard pages.insert(next).inserted else { return nil }
            try map.meter.use()
            let more = try source.page(next)
            if more == nil, visited.insert(next).inserted { losses.pages.append(next) }
            return more
        }
    }
}

/// A page of a tree, and on an inner page of an index the records on it, empty for one that is lost.
struct SalvagedPage {
    let page: TreePage
    let records: [[UInt8]]
    var branches: [(page: Int, cellsBefore: Int)] { page.branches }
    var children: [Int] { page.children }
}

/// A page in a tree, and what may be below it: the pages that led there bound its keys.
struct TreeGap {
    let page: Int
    /// True if it may be an inner page.
    var mayLead = true
    /// The ids of the rows below it, in a table with row ids.
    var rowIDs = Int64.min...Int64.max
    /// The records before and after those below it, in an index or a table without row ids.
    var lower: [UInt8]?, upper: [UInt8]?

    fileprivate func below(_ page: SalvagedPage, _ index: Int, mayLead: Bool) -> TreeGap {
        let (child, before) = page.branches[index]
        var gap = TreeGap(page: child, mayLead: mayLead, rowIDs: rowIDs, lower: lower, upper: upper)
        let cells = page.page.cells
        if page.page.kind == .innerTable {
            var low = rowIDs.lowerBound, high = rowIDs.upperBound
            if before > 0, let id = cells[before - 1].rowID { low = max(low, id == .max ? id : id + 1) }
            if before < cells.count, let id = cells[before].rowID { high = min(high, id) }
            gap.rowIDs = low <= high ? low...high : rowIDs
        } else if page.records.count == cells.count {
            if before > 0, !page.records[before - 1].isEmpty { gap.lower = page.records[before - 1] }
            if before < cells.count, !page.records[before].isEmpty { gap.upper = page.records[before] }
        }
        return gap
    }
}
