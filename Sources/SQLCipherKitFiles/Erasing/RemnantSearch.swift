import CSQLCipher
import Foundation
import SQLCipherKitCore
import SQLCipherKitSearch

/// Searches everything that belongs to a database for bytes and words: in this file, its pages.
final class RemnantSearch {
    typealias Place = Schema.RemnantReport.Place

    let schema: Schema
    let targets: [ResidueTarget]
    let pages: PageReader
    let path: String?
    private(set) var report = Schema.RemnantReport()
    private var places: Set<Place> = []
    private var words: [String: ResidueWords] = [:]
    private var isUsed: [Bool]
    /// The tables in which FTS3 and FTS4 keep their words.
    private var olderIndexes: Set<String> = []
    private let relay: ProgressRelay?

    /// The meaning of a page's records.
    private enum Role {
        case content, statistics
        /// The words of a full-text index, and the first words of its pages.
        case words(String), firstWords(String)
        /// The words of an FTS3 or FTS4 index, which are searched as bytes.
        case olderWords
        /// The nodes of an R-Tree, with the size of an entry.
        case nodes(entry: Int)
    }

    init(_ schema: Schema, _ targets: [ResidueTarget], _ relay: ProgressRelay?) throws {
        self.schema = schema
        self.targets = targets
        self.relay = relay
        pages = try PageReader(schema)
        path = try schema.path
        isUsed = [Bool](repeating: false, count: pages.pageCount + 1)
        for index in try schema.fullTextIndexes() { words[index.name] = try ResidueWords(index, targets) }
    }

    func run() throws -> Schema.RemnantReport {
        try searchTree("sqlite_schema", root: 1, .content)
        let objects: [(String, String, Int)] = try schema.connection.fetchAll(
            """
            SELECT name, tbl_name, rootpage FROM \(raw: schema.qualified("sqlite_schema")) WHERE rootpage > 1 ORDER BY rootpage
            """)
        let roles = try roles()
        for (name, table, root) in objects { try searchTree(name, root: root, roles[table] ?? .content) }
        try searchUnusedPages()
        if let path { try searchFiles(path) }
        for (_, words) in words { places.formUnion(try words.places()) }
        return finished()
    }

    private func finished() -> Schema.RemnantReport {
        let live = Set(places.filter { $0.kind == .content }.map(\.target))
        report.places = places.map { place in
            var place = place
            // A sample or word counts as live if the content is still there.
            let isOlderWord = place.kind == .fullTextIndex && olderIndexes.contains(place.object ?? "")
            if place.kind == .statistics || isOlderWord { place.isLive = live.contains(place.target) }
            return place
        }
        report.places.sort { ($0.target, $0.kind.description, $0.page ?? 0) < ($1.target, $1.kind.description, $1.page ?? 0) }
        return report
    }

    /// The roles by table name.
    private func roles() throws -> [String: Role] {
        var roles: [String: Role] = [:]
        for table in ["sqlite_stat2", "sqlite_stat3", "sqlite_stat4"] { roles[table] = .statistics }
        for name in words.keys { (roles[name + "_data"], roles[name + "_idx"]) = (.words(name), .firstWords(name)) }
        for tree in try schema.entries(where: "type = 'table' AND rootpage = 0") where try ContentErasure.isTree(tree, schema) {
            roles[tree.name + "_node"] = .nodes(entry: try ContentErasure.entrySize(of: tree.name, schema))
        }
        for index in try schema.entries(where: "type = 'table' AND rootpage = 0")
        where try ContentErasure.isOlderFullText(index, schema) {
            for table in [index.name + "_segments", index.name + "_segdir"] {
                roles[table] = .olderWords
                olderIndexes.insert(table)
            }
        }
        return roles
    }

    // MARK: Pages in use

    private func searchTree(_ object: String, root: Int, _ role: Role) throws {
        var waiting = [root]
        while let number = waiting.popLast() {
            guard number > 0, number <= pages.pageCount, !isUsed[number] else { continue }
            isUsed[number] = true
            guard let bytes = try read(number) else { continue }
            guard let page = TreePage(bytes, isFirst: number == 1, pages) else {
                searchSlack(bytes, used: [], number, object)
                continue
            }
            for cell in page.cells where cell.record != nil {
                let record = try TreePage.record(cell, bytes, pages.usableSize) { number, used in
                    guard number <= self.pages.pageCount, !self.isUsed[number] else { return nil }
                    self.isUsed[number] = true
                    guard let page = try self.read(number) else { return nil }
                    self.searchSlack(page, used: [0..<used], number, object)
                    return page
                }
                search(record, cell, role) { target, kind, isLive in
                    Place(target: target, kind: kind, file: self.path, page: number, object: object, isLive: isLive)
                }
            }
            searchSlack(bytes, used: page.used, number, object)
            waiting += page.children.reversed()
        }
    }

    private typealias Placing = (_ target: Int, _ kind: Schema.RemnantReport.Kind, _ isLive: Bool) -> Place

    private func search(_ record: [UInt8], _ cell: TreePage.Cell, _ role: Role, _ place: Placing) {
        switch role {
        case .content: add(record) { place($0, .content, true) }
        case .statistics: add(record) { place($0, .statistics, false) }
        case .olderWords: add(record) { place($0, .fullTextIndex, false) }
        case .words(let index):
            let terms = cell.rowID.flatMap { id in StoredRecord(record)?.bytes(1).flatMap { StoredTerms.inRow(id, $0) } }
            guard let terms else { return add(record) { place($0, .fullTextIndex, false) } }
            words[index]?.note(terms) { place($0, .fullTextIndex, false) }
        case .firstWords(let index):
            guard let term = StoredRecord(record)?.bytes(1) else { return }
            words[index]?.note([term]) { place($0, .fullTextIndex, false) }
        case .nodes(let size):
            guard let node = StoredRecord(record)?.bytes(1), let count = node.bigEndian(at: 2, bytes: 2) else { return }
            let end = min(node.count, 4 + count * size)
            add(Array(node.prefix(end))) { place($0, .content, true) }
            add(Array(node.dropFirst(end))) { place($0, .slack, false) }
        }
    }

    private func searchSlack(_ page: [UInt8], used: [Range<Int>], _ number: Int, _ object: String) {
        page.withUnsafeBytes { page in
            let page = UnsafeRawBufferPointer(rebasing: page.prefix(pages.pageSize - pages.reservedSize))
            for (index, target) in targets.enumerated() {
                let isThere = target.ranges(in: page).contains { range in
                    !used.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
                }
                guard isThere else { continue }
                places.insert(
                    Place(target: index, kind: .slack, file: path, page: number, object: object, isLive: false))
            }
        }
    }

    // MARK: Other pages

    private func searchUnusedPages() throws {
        for number in stride(from: 1, through: pages.pageCount, by: 1) where !isUsed[number] {
            guard let page = try read(number) else { continue }
            searchImage(page, number, .freePage, file: path)
        }
    }

    /// Searches a page that is not, or no longer, in use.
    private func searchImage(_ bytes: [UInt8], _ number: Int?, _ kind: Schema.RemnantReport.Kind, file: String?) {
        func place(_ target: Int) -> Place {
            Place(target: target, kind: kind, file: file, page: number, object: nil, isLive: false)
        }
        let content = Array(bytes.prefix(pages.pageSize - pages.reservedSize))
        for (index, target) in targets.enumerated() {
            if words.isEmpty ? target.stands(in: content) : target.standsInPart(in: content) { places.insert(place(index)) }
        }
        guard !words.isEmpty, bytes[0] == 13, let page = TreePage(bytes, isFirst: false, pages) else { return }
        for cell in page.cells {
            guard let id = cell.rowID else { continue }
            let record = try? TreePage.record(cell, bytes, pages.usableSize) { number, _ in
                // The overflow pages of a free page are often still there.
                guard kind == .freePage, number <= self.pages.pageCount, !self.isUsed[number] else { return nil }
                return try self.pages.page(number)
            }
            guard let record, let block = StoredRecord(record)?.bytes(1), let terms = StoredTerms.inRow(id, block) else { continue }
            for name in words.keys { words[name]?.note(terms, place) }
        }
    }

    /// Searches bytes that belong to no known page.
    private func searchBytes(_ bytes: [UInt8], _ kind: Schema.RemnantReport.Kind, file: String) {
        add(bytes) { Place(target: $0, kind: kind, file: file, page: nil, object: nil, isLive: false) }
    }

    private func add(_ bytes: [UInt8], _ place: (_ target: Int) -> Place) {
        for (index, target) in targets.enumerated() where target.stands(in: bytes) { places.insert(place(index)) }
    }

    /// Reads a page as the connection sees it, and counts it.
    private func read(_ number: Int) throws -> [UInt8]? {
        let page = try pages.page(number)
        try count(isReadable: page != nil)
        return page
    }

    func count(isReadable: Bool) throws {
        report.pagesSearched += 1
        if !isReadable { report.unreadablePages += 1 }
        guard let relay, report.pagesSearched % 64 == 0 else { return }
        let total = max(pages.pageCount, report.pagesSearched)
        guard relay.report(done: report.pagesSearched, total: total) else { throw relay.error ?? CancellationError() }
    }
}

/// Searches older images of pages: in the log, the journal and leftover files.
extension RemnantSearch {
    private func searchFiles(_ path: String) throws {
        var replaced: Set<Int> = []
        try searchLog(path + "-wal", &replaced)
        try searchDatabase(path, replaced)
        try searchJournal(path + "-journal")
        for name in [AtomicFile.temporaryPath(for: path), AtomicFile.workingPath(for: path)] {
            try searchPages(of: name)
            for file in [name + "-wal", name + "-journal"] {
                try forEachBlock(of: file, 65_536) { searchBytes($0, .leftoverFile, file: file) }
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
            try search(Array(frame[24...]), number, .wal, file: path)
        }
        if isFirst { replaced = [] }
    }

    /// Searches the rollback journal (<https://sqlite.org/fileformat2.html#the_rollback_journal>). The header of a journal that is
    /// kept is wiped, so pages are recognized by their authentication with the key. A plaintext database's journal is searched as
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
            guard block.count == pages.pageSize else { return searchBytes(block, .leftoverFile, file: path) }
            try search(block, number, .leftoverFile, file: path)
        }
    }

    private func search(_ bytes: [UInt8], _ number: Int, _ kind: Schema.RemnantReport.Kind, file: String) throws {
        guard number > 0, let image = decrypted(bytes, number) else { return try count(isReadable: false) }
        try searchOlder(image, number, kind, file: file)
    }

    /// Searches an image, unless it is the same as the current page.
    private func searchOlder(_ image: [UInt8], _ number: Int, _ kind: Schema.RemnantReport.Kind, file: String) throws {
        try count(isReadable: true)
        let end = pages.pageSize - pages.reservedSize
        if kind != .leftoverFile, let page = try pages.page(number), page.prefix(end) == image.prefix(end) { return }
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

/// The words to search for in one full-text index, and where they occur.
struct ResidueWords {
    private let index: FullTextIndex
    private let targets: [ResidueTarget]
    /// The words into which the tokenizer splits each text.
    private var words: [Set<[UInt8]>] = []
    private var wanted: Set<[UInt8]> = []
    /// Where words occur.
    private var hits: [[UInt8]: Set<RemnantSearch.Place>] = [:]
    /// Where other words occur that contain a target.
    private var containing: [[UInt8]: Set<RemnantSearch.Place>] = [:]

    init(_ index: FullTextIndex, _ targets: [ResidueTarget]) throws {
        self.index = index
        self.targets = targets
        for target in targets {
            var found: Set<[UInt8]> = []
            if let text = target.text {
                for token in try index.tokens(of: text, for: .document) { found.insert(Array(token.token.utf8)) }
            }
            words.append(found)
        }
        wanted = words.reduce(into: []) { $0.formUnion($1) }
    }

    /// Records the words, each after a prefix byte, that occur in a place.
    mutating func note(_ terms: [ArraySlice<UInt8>], _ place: (_ target: Int) -> RemnantSearch.Place) {
        for term in terms {
            let word = Array(term.dropFirst())
            if wanted.contains(word) { hits[word, default: []].insert(place(0)) }
            for (number, target) in targets.enumerated() where target.stands(in: word) {
                containing[word, default: []].insert(place(number))
            }
        }
    }

    /// The places of all texts of which each word occurs somewhere.
    func places() throws -> [RemnantSearch.Place] {
        var places: [RemnantSearch.Place] = []
        for (target, words) in words.enumerated() where !words.isEmpty && words.allSatisfy({ hits[$0] != nil }) {
            var found: [RemnantSearch.Place] = []
            for word in words { found += try located(hits[word] ?? [], word, target) }
            // If one of its words occurs only in deleted content, the text as a whole is deleted.
            let deleted = found.filter { !$0.isLive }
            places += deleted.isEmpty ? found : deleted
        }
        for (word, found) in containing { places += try located(found, word, nil) }
        return places
    }

    private func located(_ found: Set<RemnantSearch.Place>, _ word: [UInt8], _ target: Int?) throws -> [RemnantSearch.Place] {
        let isLive = try !index.instances(of: String(decoding: word, as: UTF8.self), limit: 1).isEmpty
        return found.map { place in
            RemnantSearch.Place(
                target: target ?? place.target, kind: place.kind, file: place.file, page: place.page, object: place.object,
                // An older image of the index holds earlier content.
                isLive: isLive && place.kind == .fullTextIndex)
        }
    }
}
