import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The work that a file causes ends within the limits: in time, in memory, in rows, and with its task.
@Suite(.serialized) struct WorkLimitTests {
    let folder: TemporaryFolder
    var path: String { folder.path("theirs.db") }

    init() throws { folder = try TemporaryFolder() }

    /// Each call that works on a whole file of unknown origin.
    enum Entrance: String, CaseIterable {
        case open, attach, identify, verify, adopt, salvage, openSalvaging
    }

    static func enter(_ entrance: Entrance, _ path: String, _ key: DatabaseKey?, _ work: ResourceLimits, _ folder: TemporaryFolder) throws {
        var configuration = DatabaseConfiguration.untrusted
        configuration.safeguards?.resourceLimits = work
        var quiet = configuration
        quiet.safeguards?.checksStructure = false
        switch entrance {
        case .open: _ = try Connection(.file(path), key: key, configuration: configuration)
        case .attach:
            let own = try Connection(.memory)
            do { try own.attach(.file(path), as: "theirs", key: key ?? .plaintext, safeguards: configuration.safeguards) } catch {
                #expect(try own.schemas().map(\.name) == ["main"] && own.fetchOne(Int.self, "SELECT 1") == 1)
                throw error
            }
        case .identify: _ = try DatabaseConverter.identify(fileAt: path, key: key, limits: work)
        case .verify:
            let db = try Connection(.file(path), key: key, configuration: quiet)
            do { _ = try db.main.verify() } catch {
                #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
                throw error
            }
        case .adopt: _ = try Connection(.file(path), key: key, configuration: quiet).main.valueReport(sampling: nil)
        case .salvage:
            try? FileManager.default.removeItem(atPath: folder.path("rescued.db"))
            do {
                try DatabaseConverter.salvage(
                    fileAt: path, key: key ?? .plaintext, to: folder.path("rescued.db"), configuration: configuration)
            } catch {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                #expect(!names.contains { $0.hasPrefix("rescued") }, "\(names)")
                throw error
            }
        case .openSalvaging:
            configuration.access = .readWrite
            _ = try DatabaseConverter.openOrSalvage(fileAt: path, key: key ?? .plaintext, configuration: configuration)
        }
    }

    private static func limits(time: Duration? = nil, memory: Int? = nil, rows: Int? = nil) -> ResourceLimits {
        var limits = ResourceLimits.none
        (limits.time, limits.memory, limits.rows) = (time, memory, rows)
        return limits
    }

    /// Each row takes a while and much memory: in a column that must be computed, and in an index that salvage makes again.
    private func makeEndless(_ key: DatabaseKey? = nil, size: Int, rows: Int) throws {
        let db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE t(x INTEGER)")
        try db.execute("CREATE INDEX i ON t(x)")
        try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) INSERT INTO t SELECT i FROM n")
        let costly = "length(replace(hex(zeroblob(\(size) + x % 2)), '0', 'aa'))"
        try db.execute("PRAGMA writable_schema = ON")
        try db.execute("UPDATE sqlite_schema SET sql = \("CREATE TABLE t(x INTEGER, y AS (\(costly)) NOT NULL)") WHERE name = 't'")
        try db.execute("UPDATE sqlite_schema SET sql = \("CREATE INDEX i ON t(\(costly))") WHERE name = 'i'")
        db.close()
    }

    /// `identify` reads the first page alone.
    private static let costly: [Entrance] = [.open, .attach, .verify, .salvage, .openSalvaging]

    @Test(arguments: costly) func timeLimitEndsWork(entrance: Entrance) throws {
        try makeEndless(size: 200_000, rows: 5000)
        let time = ContinuousClock().measure {
            let error = #expect(throws: DatabaseError.self) {
                try Self.enter(entrance, path, nil, Self.limits(time: .milliseconds(150)), folder)
            }
            #expect(error?.reason == .timeout, "\(String(describing: error))")
        }
        #expect(time < .forTests, "\(time)")
    }

    @Test(arguments: costly) func memoryLimitEndsWork(entrance: Entrance) throws {
        try makeEndless(size: 4_000_000, rows: 50)
        let error = #expect(throws: DatabaseError.self) {
            try Self.enter(entrance, path, nil, Self.limits(memory: 12_000_000), folder)
        }
        #expect(error?.reason == .limitExceeded && error?.message.contains("12000000 bytes") == true, "\(String(describing: error))")
        // The limit ended with the call.
        let own = try Connection(.memory)
        #expect(try own.fetchOne(Int.self, "SELECT length(hex(zeroblob(10000000)))") == 20_000_000)
    }

    /// A check of a check, a report and a copy count rows; the others do so while they check.
    @Test(arguments: [Entrance.open, .attach, .verify, .adopt, .salvage, .openSalvaging]) func rowLimitEndsWork(entrance: Entrance) throws {
        let db = try Connection(.file(path))
        try db.execute("CREATE TABLE t(x INTEGER NOT NULL)")
        try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT i FROM n")
        db.close()
        let error = #expect(throws: DatabaseError.self) { try Self.enter(entrance, path, nil, Self.limits(rows: 1000), folder) }
        #expect(error?.reason == .limitExceeded && error?.message.contains("1000 rows") == true, "\(String(describing: error))")
        try Self.enter(entrance, path, nil, Self.limits(rows: 20_000), folder)
    }

    @Test(arguments: costly) func taskCancellationEndsWork(entrance: Entrance) async throws {
        try makeEndless(size: 200_000, rows: 5000)
        let (path, folder) = (path, folder)
        let task = Task.detached { () -> (any Error)? in
            do { try Self.enter(entrance, path, nil, .none, folder) } catch { return error }
            return nil
        }
        // The tasks' own threads may all be at work.
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 0.15)
            task.cancel()
        }
        let error = await task.value
        // A call that throws only this package's error has the other error in it.
        #expect(error is CancellationError || (error as? DatabaseError)?.underlyingError is CancellationError, "\(String(describing: error))")
    }

    /// The defaults are for large files, too, but the time of what works on each row of a very large one.
    @Test func largeHonestFilesStayWithinWorkLimits() throws {
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32)), part = LongTests.areOn ? 1 : 40
        try HonestFile.make(path, part: part, key: key)
        for entrance in Entrance.allCases {
            let usual = ResourceLimits(), isDear = LongTests.areOn && [Entrance.adopt, .salvage].contains(entrance)
            let work = Self.limits(time: isDear ? .seconds(300) : usual.time, memory: usual.memory, rows: usual.rows)
            #expect(throws: Never.self, "\(entrance)") { try Self.enter(entrance, path, key, work, folder) }
        }
        let rescued = try Connection(.file(folder.path("rescued.db")), key: key)
        #expect(try rescued.fetchOne(Int.self, "SELECT count(*) FROM long") == 200_000 / part)
    }

    /// Many key derivations are ended between two of them.
    @Test func identifyStopsAtTimeLimitOrCancellation() async throws {
        let db = try Connection(.file(path), key: .passphrase("k"))
        try db.execute("CREATE TABLE t(x)")
        db.close()
        let path = path, wrong = try DatabaseKey.passphrase("wrong")
        let error = #expect(throws: DatabaseError.self) {
            try DatabaseConverter.identify(fileAt: path, key: wrong, limits: Self.limits(time: .milliseconds(1)))
        }
        #expect(error?.reason == .timeout)
        let task = Task.detached { () -> Bool in
            do { _ = try DatabaseConverter.identify(fileAt: path, key: wrong) } catch { return error is CancellationError }
            return false
        }
        task.cancel()
        #expect(await task.value)
    }

    /// A page whose cells are all the same row, of which a large value is shared: a small file of many rows.
    @Test func salvageOfDuplicateCellsStopsAtLimits() throws {
        let db = try Connection(.file(path))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (zeroblob(2000000))")
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let page = 4096, count = 1000, cell = bytes[page + 8..<page + 10]
        bytes[page + 3] = UInt8(count >> 8)
        bytes[page + 4] = UInt8(count & 255)
        for index in 0..<count { bytes.replaceSubrange(page + 8 + 2 * index..<page + 10 + 2 * index, with: cell) }
        try bytes.write(to: URL(fileURLWithPath: path))
        for limits in [Self.limits(rows: 100), Self.limits(memory: 1_000_000)] {
            let error = #expect(throws: DatabaseError.self) { try Self.enter(.salvage, path, nil, limits, folder) }
            #expect(error?.reason == .limitExceeded, "\(String(describing: error))")
        }
    }

    /// The engine's work on other threads is not counted.
    @Test func memoryLimitCountsOnlyItsOwnThread() async throws {
        try makeEndless(size: 2000, rows: 100)
        let large = Task.detached {
            let own = try Connection(.memory)
            var sum = 0
            for _ in 0..<20 { sum += try own.fetchOne(Int.self, "SELECT length(hex(zeroblob(10000000)))") ?? 0 }
            return sum
        }
        for _ in 0..<20 { try Self.enter(.open, path, nil, Self.limits(memory: 10_000_000), folder) }
        #expect(try await large.value == 20 * 20_000_000)
    }
}
