import SQLCipherKitCore

/// The kinds of a damaged database's pages, and which of them something leads to.
///
/// Where a page is lost that leads to others, those are still there. This finds them, and with `auto_vacuum` also the tree that
/// they belong to (<https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages>).
final class PageMap {
    let source: PageReader
    let meter: WorkMeter
    private(set) var lostPages: [Int] = []
    /// The first byte of each b-tree page, by number; otherwise 0.
    private var kinds: [UInt8]
    private var isReached: [Bool]
    private let hasParents: Bool
    /// True if the first page is lost: without authentication it can be read, and is noise.
    let isFirstPageLost: Bool

    /// - Parameters:
    ///   - header: what the first page holds; nil if it is lost.
    ///   - isFirstPageLost: whether the header is not the database's own, and so does not list its free pages.
    init(
        _ source: PageReader, header: [UInt8]?, isFirstPageLost: Bool, _ meter: WorkMeter, _ report: (_ page: Int) throws -> Void
    ) throws {
        self.source = source
        self.meter = meter
        self.isFirstPageLost = isFirstPageLost
        kinds = Array(repeating: 0, count: source.pageCount + 1)
        isReached = Array(repeating: false, count: source.pageCount + 1)
        var second: [UInt8]?
        for number in stride(from: 1, through: source.pageCount, by: 1) where number != source.lockPage {
            if number % 64 == 0 { try report(number) }
            try meter.use()
            guard number > 1 || !isFirstPageLost, let page = try source.page(number) else {
                lostPages.append(number)
                continue
            }
            if number == 2 { second = page }
            kinds[number] = TreePage.Kind(rawValue: page[number == 1 ? 100 : 0])?.rawValue ?? 0
        }
        // Without the header: the first page after the map is always a root, which has no parent.
        hasParents = header.map { $0.bigEndian(at: 52, bytes: 4) ?? 0 != 0 } ?? second?.starts(with: [1, 0, 0, 0, 0]) ?? false
        if hasParents { for number in kinds.indices where number > 1 && mapPage(of: number) == number { kinds[number] = 0 } }
        try leaveOutFreePages(first: isFirstPageLost ? 0 : header?.bigEndian(at: 32, bytes: 4) ?? 0)
    }

    private func leaveOutFreePages(first: Int) throws {
        var next = first
        while next > 0, next <= source.pageCount, !isReached[next], let trunk = try source.page(next) {
            reach(next)
            for index in 0..<min(trunk.bigEndian(at: 4, bytes: 4) ?? 0, source.usableSize / 4 - 2) {
                reach(trunk.bigEndian(at: 8 + 4 * index, bytes: 4) ?? 0)
            }
            next = trunk.bigEndian(at: 0, bytes: 4) ?? 0
        }
    }

    /// Notes that something leads to a page.
    func reach(_ number: Int) { if isReached.indices.contains(number) { isReached[number] = true } }

    /// Takes back that something leads to a page.
    func release(_ number: Int) { isReached[number] = false }

    /// Nil for a page that is lost, missing or not part of a tree.
    func kind(_ number: Int) -> TreePage.Kind? {
        kinds.indices.contains(number) ? TreePage.Kind(rawValue: kinds[number]) : nil
    }

    /// The intact pages of trees that nothing has led to.
    var unreached: [Int] { kinds.indices.filter { kinds[$0] != 0 && !isReached[$0] } }

    // MARK: Parents

    /// The database's own record of the place of a page.
    enum Place {
        case tree(root: Int), free, unknown
    }

    func place(of number: Int) throws -> Place {
        var number = number, seen: Set<Int> = []
        while hasParents, seen.insert(number).inserted, number > 1, number <= source.pageCount {
            try meter.use()
            let page = mapPage(of: number), at = 5 * (number - page - 1)
            guard page != number, let entries = try source.page(page), at >= 0, at + 5 <= source.usableSize else { return .unknown }
            switch entries[at] {
            case 1: return .tree(root: number)
            case 2: return .free
            case 3...5: number = entries.bigEndian(at: at + 1, bytes: 4) ?? 0
            default: return .unknown
            }
            if number == 1 { return .tree(root: 1) }
        }
        return .unknown
    }

    /// The page of the map that has the entry of a page.
    private func mapPage(of number: Int) -> Int {
        if number < 2 { return 0 }
        let step = source.usableSize / 5 + 1, page = (number - 2) / step * step + 2
        return page == source.lockPage ? page + 1 : page
    }
}
