#if DEBUG || SQLCIPHERKIT_TESTABLE
import Foundation
import SQLCipherKit
@testable import SQLCipherKitCore
@testable import SQLCipherKitFiles
@testable import SQLCipherKitReplication
@testable import SQLCipherKitStores
@testable import SQLCipherKitSync
import TestSupport

/// Bytes in forms of this package and of the engine, without the call that would read them first.
extension FuzzTarget {
    private static let folder = try? TemporaryFolder()
    private static let rawKey = [UInt8](repeating: 7, count: 32)

    /// A page of a tree, the records on it, and the words of a full-text index in these.
    static let page = FuzzTarget(name: "page", maximumBytes: 4096) {
        let db = try paged()
        defer { db.close() }
        let pages = try PageReader(db.main)
        return try (1...pages.pageCount).compactMap { try pages.page($0) }
    } body: { input in
        let db = try paged()
        defer { db.close() }
        let pages = try PageReader(db.main)
        let bytes = input + [UInt8](repeating: 0, count: pages.pageSize - input.count)
        for isFirst in [false, true] {
            guard let page = TreePage(bytes, isFirst: isFirst, pages) else { continue }
            for cell in page.cells { cell.record.map { read(Array(bytes[$0]), cell.rowID) } }
        }
        read(input, 1 << 37 | 1)
    }

    private static func paged() throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE t(a, b, c); INSERT INTO t VALUES (1, -1.5, 'one'), (NULL, x'00ff', 300), (1 << 40, -9, 70000);
            INSERT INTO t SELECT hex(zeroblob(400)), 7, 'many' FROM t; CREATE INDEX t_c ON t(c, a);
            CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('the quick brown fox'), ('quicker foxes')
            """))
        return db
    }

    private static func read(_ record: [UInt8], _ rowID: Int64?) {
        for mayBeCut in [false, true] {
            guard let row = StoredRecord(record, mayBeCut: mayBeCut) else { continue }
            for place in 0..<row.count {
                _ = (row.integer(place), row.real(place), row.isCut(place))
                for encoding in [StoredRecord.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian] { _ = row.text(place, encoding) }
                if let rowID, let bytes = row.bytes(place) { _ = StoredTerms.inRow(rowID, bytes) }
            }
        }
        if let rowID { _ = StoredTerms.inRow(rowID, record[...]) }
    }

    /// The notes about a database's file, in a file beside it.
    static let notes = FuzzTarget(name: "notes", maximumBytes: 400) {
        let notes = try noted()
        try notes.write(Array("what is known".utf8))
        return [[UInt8](try Data(contentsOf: URL(fileURLWithPath: notes.path)))]
    } body: { input in
        let notes = try noted()
        try Data(input).write(to: URL(fileURLWithPath: notes.path))
        _ = try? notes.read()
    }

    private static func noted() throws -> FileNotes {
        guard let folder else { throw Finding("no temporary folder") }
        return FileNotes(of: folder.path("a.db"), named: "fuzz")
    }

    /// The objects of a replica, and their sealed content.
    static let replica = FuzzTarget(name: "replica", maximumBytes: 4096) {
        let key = try ReplicaKey(.raw(rawKey), salt: Array(rawKey.prefix(16)))
        let term = Array(1...8 as ClosedRange<UInt8>), tag = [UInt8](repeating: 9, count: 16)
        let place = ChainPlace(term: term, link: 300, tag: tag)
        var contents = ReplicaContents()
        contents.place = place
        contents.snapshot = (commits: 7, size: 1 << 33, age: 5)
        contents.formers = [term]
        let entries: [ReplicaIndex.Entry] = [
            .log(.init(term: term, link: 3, generation: 1, first: 9, end: 20, commitsBefore: 1, commits: 4, earliest: -5, latest: 1 << 41,
                age: 8, size: 900, tag: tag)),
            .snapshot(.init(term: term, number: 2, parts: 3, size: 1 << 20, generation: 1, pageSize: 4096, first: 1, commitsBefore: 0,
                predecessor: tag, commits: 2, time: 77, age: 8, pages: 12, place: place)),
            .leftovers(.init(term: term, links: 4..<9, snapshot: 2, parts: 4, age: 1)),
            .page(.init(term: term, number: 1, level: 1, first: 0, count: 16, tag: tag, size: 900, generation: 1, commits: 4, earliest: 2,
                age: 3)),
        ]
        for entry in entries { contents.index.append(entry) }
        var head = ReplicaHead()
        var section = ReplicaHead.Section(id: term, salt: tag)
        try section.seal(contents, with: key)
        (head.sections, head.removed) = ([section], [Array(term.reversed())])
        var block = ReplicaBlock(
            kind: .log, generation: 1, first: 3, pageSize: 512, predecessor: tag, time: 9, age: 2, commits: 1)
        block.frames = [.init(page: 1, size: 2)]
        block.pages = [UInt8](repeating: 3, count: 512)
        return [contents.bytes, TermOpening(term: term, ancestry: [place, place], first: 7).record, head.bytes, try block.sealed(with: key)]
    } body: { input in
        let key = try ReplicaKey(.raw(rawKey), salt: Array(rawKey.prefix(16)))
        if let contents = try? ReplicaContents(input) {
            try require(try ReplicaContents(contents.bytes).bytes == contents.bytes, "a head differs when it was read again")
            _ = (contents.index.start, contents.index.first(ofLevel: 0))
        }
        if let opening = try? TermOpening(input) {
            try require(try TermOpening(opening.record).record == opening.record, "an opening differs when it was read again")
        }
        if let head = try? ReplicaHead(input) {
            try require(try ReplicaHead(head.bytes).bytes == head.bytes, "a head differs when it was read again")
            for section in head.sections { _ = try? section.contents(with: key) }
        }
        _ = try? ReplicaBlock.openAll(input, with: key)
        var reader = ByteReader(replica: input)
        if let index = try? ReplicaIndex(&reader) { _ = (index.start, index.levels.joined().reduce(0) { $0 + $1.count }) }
    }

    /// A change log's knowledge of rows, which the database holds as blobs.
    static let run = FuzzTarget(name: "run", maximumBytes: 1000) {
        var state: [UInt8] = [], record: [UInt8] = []
        state.put(clock: 1 << 20)
        for number in [0, 0] { state.append(varint: number) }
        record.append(varint: 1)
        record.append(prefixed: state)
        var key: [UInt8] = [100]
        key.put(keyValue: .integer(-300))
        for row in [(0, key.count << 1), (1, 1), (2, 3 << 1 | 1)] {
            record.append(varint: row.0)
            record.append(varint: row.1)
            if row.1 == key.count << 1 { record += key + [0] }
            if row.1 == 7 { record += [1, 2, 3] }
        }
        return [record]
    } body: { input in
        let states = ChangeLogStates()
        if let run = try? ChangeLogRun(input, after: [100, 22, 9], states) {
            for place in run.states.indices {
                var reader = ByteReader(log: run.keys[place])
                _ = try? (reader.varint(), reader.keyValue())
            }
        }
        var reader = ByteReader(log: input)
        while !reader.isAtEnd, let value = try? reader.value() {
            var bytes: [UInt8] = []
            bytes.put(value)
            var again = ByteReader(log: bytes)
            try require(try again.value() == value && again.isAtEnd, "a value differs when it was read again")
        }
    }
}
#endif
