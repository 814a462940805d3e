import SQLCipherKitCore

/// The pages that nothing leads to because a page above them is lost, and the tables that they belong to.
struct UnreachedPages {
    /// A tree that has lost pages above others.
    struct Tree {
        /// The name of the table or index.
        let name: String
        let root: Int
        let hasRowIDs: Bool
        let gaps: [TreeGap]
        let shape: TreeShape
    }

    private enum Owner {
        case tree(Tree), several, unknown, free
    }

    /// The pages found of each tree, by its name.
    private(set) var found: [String: [Int]] = [:]
    /// Pages that hold rows of an unknown table, by the highest page that leads to them.
    private(set) var lost: [(top: Int, pages: [Int])] = []

    private let map: PageMap
    private let trees: [Tree]
    private let mayBeOfOthers: Bool

    /// - Parameter keepsAll: whether there may be tables that are not known, so that other pages are not free ones.
    init(_ map: PageMap, _ trees: [Tree], keepsAll: Bool) throws {
        self.map = map
        self.trees = trees
        mayBeOfOthers = keepsAll
        for (top, pages) in try groups() {
            switch try owner(of: pages) {
            case .unknown where pages.count > 1:
                // A free page may still lead to pages that others use by now.
                for page in pages { try take(page, [page], owner(of: [page])) }
            case let owner: take(top, pages, owner)
            }
        }
    }

    private mutating func take(_ top: Int, _ pages: [Int], _ owner: Owner) {
        switch owner {
        case .tree(let tree): found[tree.name, default: []] += pages
        case .several: lost.append((top, pages))
        case .unknown where mayBeOfOthers: lost.append((top, pages))
        case .unknown, .free: break
        }
    }

    /// The pages by the highest one that leads to them.
    private func groups() throws -> [(top: Int, pages: [Int])] {
        let pages = map.unreached, all = Set(pages)
        var parents: [Int: Int] = [:]
        for number in pages where map.kind(number)?.isInner == true {
            guard let bytes = try map.source.page(number) else { continue }
            guard let page = TreePage(bytes, isFirst: number == 1, map.source) else { continue }
            for child in page.children where child != number && all.contains(child) && parents[child] == nil {
                if map.kind(child)?.isTable == page.kind.isTable { parents[child] = number }
            }
        }
        var groups: [Int: [Int]] = [:]
        for number in pages {
            var top = number, seen: Set<Int> = [number]
            while let parent = parents[top], seen.insert(parent).inserted {
                try map.meter.use()
                top = parent
            }
            groups[top, default: []].append(number)
        }
        return groups.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func owner(of pages: [Int]) throws -> Owner {
        if let page = pages.first {
            switch try map.place(of: page) {
            case .free: return .free
            case .tree(let root): return trees.first { $0.root == root }.map(Owner.tree) ?? .unknown
            case .unknown: break
            }
        }
        let hasRowIDs = pages.contains { map.kind($0)?.isTable == true }
        var candidates = trees.filter { $0.hasRowIDs == hasRowIDs }.map { (tree: $0, score: 0) }
        var rows = 0
        for page in pages where !candidates.isEmpty {
            var reader = TreeReader(map, .all)
            var records: [(rowID: Int64?, record: StoredRecord)] = [], size = 0
            _ = try reader.readPage(page) { rowID, bytes in
                size += bytes.count
                try map.meter.require(bytes: size)
                if let record = StoredRecord(bytes, mayBeCut: true) { records.append((rowID, record)) }
            }
            rows += records.count
            candidates = candidates.compactMap { tree, score in
                guard let more = fit(records, tree) else { return nil }
                return (tree, score + more)
            }
        }
        candidates.sort { $0.score > $1.score }
        guard rows > 0, let best = candidates.first else { return .unknown }
        // A row less sure than this is not put into a table: it has all values, and one of them is of the declared type.
        if mayBeOfOthers, best.score < 5 * rows { return .several }
        if candidates.count > 1, best.score - candidates[1].score < rows { return .several }
        return .tree(best.tree)
    }

    /// Returns a score of how well the rows of a page fit into one of a tree's gaps; nil if they cannot belong there.
    private func fit(_ rows: [(rowID: Int64?, record: StoredRecord)], _ tree: Tree) -> Int? {
        let fits = tree.gaps.contains { gap in
            rows.allSatisfy { rowID, record in rowID.map(gap.rowIDs.contains) ?? tree.shape.isBetween(record, gap) }
        }
        guard fits else { return nil }
        var score = 0
        for (_, record) in rows {
            guard let one = tree.shape.score(record) else { return nil }
            score += one
        }
        return score
    }
}
