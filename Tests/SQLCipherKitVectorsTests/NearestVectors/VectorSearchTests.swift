import Foundation
import SQLCipherKit
import SQLCipherKitVectors
import Testing
import TestSupport

@Suite struct VectorSearchTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    /// The rows of a content table, each with a vector.
    private func rows(
        _ count: Int, _ dimensions: Int, _ element: VectorTable.Element = .float32, _ metric: VectorTable.Metric? = nil,
        keepsBits: Bool = false, random: inout SeededGenerator
    ) throws -> (VectorIndex, [Int64: [Float]]) {
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, year INTEGER, value TEXT)")
        try db.create(VectorTable(
            "v", dimensions: dimensions, of: element, metric: metric, content: .external(table: "note", columns: ["value"]),
            keepsBits: keepsBits))
        let vectors = try db.vectors("v")
        var all: [Int64: [Float]] = [:]
        try db.transaction { db in
            for number in 0..<count {
                try db.execute("INSERT INTO note(id, year, value) VALUES (\(3 * number), \(number % 100), 'x')")
                all[Int64(3 * number)] = RandomVectors.one(dimensions, &random)
            }
            try vectors.set(all.shuffled(using: &random).map { (id: $0.key, vector: $0.value) })
        }
        return (vectors, all)
    }

    private static let kinds: [(VectorTable.Element, VectorTable.Metric)] = [
        (.float32, .cosine), (.float32, .dot), (.float32, .l2), (.int8, .cosine), (.int8, .dot), (.int8, .l2), (.bits, .hamming),
    ]

    /// Beside the distances by their definition, of the vectors as they are stored.
    @Test(arguments: kinds.indices) func nearestRowsAreThoseOfTheDefinition(_ kind: Int) throws {
        let (element, metric) = Self.kinds[kind]
        var random = SeededGenerator(kind)
        let (vectors, all) = try rows(400, 48, element, metric, random: &random)
        let stored = try all.keys.map { ($0, try #require(try vectors.vector(for: $0))) }
        for limit in [1, 7, 1_000] {
            let query = RandomVectors.one(48, &random)
            typealias Row = (id: Int64, distance: Double)
            let rows: [Row] = stored.map { id, vector in (id, RandomVectors.distance(query, vector, metric)) }
            let expected = rows.sorted { (a: Row, b: Row) in a.distance == b.distance ? a.id < b.id : a.distance < b.distance }
            let found = try vectors.search(query, limit: limit)
            #expect(found.count == min(limit, 400))
            // The last digits of sums may swap neighbors that are equally far.
            let distances = Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.distance) })
            for (hit, other) in zip(found, expected) {
                #expect(abs(hit.distance - other.distance) < 2e-3 && abs(hit.distance - (distances[hit.rowID] ?? -9)) < 2e-3)
                if metric == .hamming { #expect(hit.rowID == other.id && hit.distance == other.distance) }
            }
            #expect(Set(found.map(\.rowID)).count == found.count)
        }
        let like = try vectors.search(like: 30, limit: 3)
        #expect(like.count == 3 && !like.contains { $0.rowID == 30 })
    }

    @Test(arguments: [VectorTable.Element.float32, .bits]) func pagesFitTogether(_ element: VectorTable.Element) throws {
        var random = SeededGenerator()
        // Few dimensions, so that many rows are equally far.
        let (vectors, _) = try rows(500, 6, element, random: &random)
        let query = RandomVectors.one(6, &random)
        let all = try vectors.search(query, limit: 1_000)
        var search = VectorSearch(query, limit: 7), paged: [VectorSearch.Hit] = []
        while true {
            let page = try vectors.search(search)
            paged += page
            guard let last = page.last else { break }
            search.after = last
        }
        #expect(paged == all && all.count == 500)
    }

    @Test(arguments: [false, true]) func filterComesBeforeTheComparison(keepsBits: Bool) throws {
        var random = SeededGenerator(keepsBits ? 1 : 0)
        let (vectors, all) = try rows(1_500, 24, keepsBits: keepsBits, random: &random)
        let query = RandomVectors.one(24, &random)
        var search = VectorSearch(query, limit: 10)
        // The column has a name that SQLite's own table of rows uses.
        search.filter = "year = \(42) AND value = \("x")"
        if keepsBits { search.coarse = .bits(oversampling: 1_000) }
        let expected = all.filter { $0.key / 3 % 100 == 42 }.map { (RandomVectors.distance(query, $0.value, .cosine), $0.key) }.sorted { $0 < $1 }
        #expect(try vectors.search(search).map(\.rowID) == expected.prefix(10).map(\.1))
        search.filter = "0"
        #expect(try vectors.search(search).isEmpty)
        search.filter = "missing = 1"
        #expect(throws: DatabaseError.self) { try vectors.search(search) }
        search.filter = SQL(raw: "year = :year", ["year": 1])
        #expect(throws: DatabaseError.self) { try vectors.search(search) }
    }

    @Test func coarseSearchFindsTheNearestOfItsCandidates() throws {
        var random = SeededGenerator()
        let (vectors, _) = try rows(2_000, 64, keepsBits: true, random: &random)
        var found = 0
        for _ in 0..<10 {
            let query = RandomVectors.one(64, &random)
            let exact = try vectors.search(query, limit: 10)
            var search = VectorSearch(query, limit: 10)
            search.coarse = .bits(oversampling: 40)
            let coarse = try vectors.search(search)
            // The distances are exact.
            for hit in coarse { #expect(!exact.contains { $0.rowID == hit.rowID } || exact.contains(hit)) }
            found += Set(coarse.map(\.rowID)).intersection(exact.map(\.rowID)).count
            search.coarse = .bits(oversampling: 1_000)
            #expect(try vectors.search(search) == exact)
        }
        #expect(found >= 90)
        var search = VectorSearch(RandomVectors.one(64, &random))
        search.coarse = .bits(oversampling: 0)
        #expect(throws: DatabaseError.self) { try vectors.search(search) }
        search.coarse = .bits()
        search.after = .init(rowID: 1, distance: 0)
        #expect(throws: DatabaseError.self) { try vectors.search(search) }
        try db.create(VectorTable("w", dimensions: 64))
        search.after = nil
        #expect(throws: DatabaseError.self) { try db.vectors("w").search(search) }
    }

    @Test func numbersOutOfRangeAreRefused() throws {
        var random = SeededGenerator()
        let (vectors, _) = try rows(3, 4, random: &random)
        for limit in [0, -1, 10_001, .min, .max] {
            #expect(throws: DatabaseError.self) { try vectors.search([1, 1, 1, 1], limit: limit) }
            #expect(throws: DatabaseError.self) { try vectors.search(like: 3, limit: limit) }
        }
        var search = VectorSearch([1, 1, 1, 1])
        search.after = .init(rowID: 1, distance: .nan)
        #expect(throws: DatabaseError.self) { try vectors.search(search) }
        #expect(throws: DatabaseError.self) { try vectors.search(like: 1) }
    }

    @Test func searchesEndWithinTheirTimeLimit() throws {
        var random = SeededGenerator()
        let (vectors, _) = try rows(50, 8, keepsBits: true, random: &random)
        var search = VectorSearch(RandomVectors.one(8, &random))
        for (filter, coarse) in [(nil, nil), ("year < 9", nil), (nil, .bits())] as [(SQL?, VectorSearch.Coarse?)] {
            (search.filter, search.coarse, search.timeLimit) = (filter, coarse, nil)
            let found = try vectors.search(search)
            for time in [Duration.zero, .seconds(-1)] {
                search.timeLimit = time
                #expect { try vectors.search(search) } throws: { error in
                    (error as? DatabaseError)?.reason == .timeout && (error as? DatabaseError)?.code == .interrupted
                }
            }
            for time in [Duration.seconds(3_600), .seconds(Int64.max)] {
                search.timeLimit = time
                #expect(try vectors.search(search) == found && !found.isEmpty)
            }
        }
        #expect(!db.isInTransaction)
    }

    /// The observed region is the one that a search reads, in each way that it reads.
    @Test func searchesAreObservedByTheirChunks() throws {
        var random = SeededGenerator()
        let (vectors, _) = try rows(60, 8, keepsBits: true, random: &random)
        let query = RandomVectors.one(8, &random)
        for (filter, oversampling) in [(nil, nil), ("year < 3", nil), ("year < 50", nil), (nil, 1), (nil, 10), ("year < 3", 1)] as [(SQL?, Int?)] {
            var search = VectorSearch(query, limit: 2)
            (search.filter, search.coarse) = (filter, oversampling.map { .bits(oversampling: $0) })
            let (_, region) = try db.recordingReads { _ in try vectors.search(search) }
            let text = "\(region)"
            #expect(text.contains("factors,ids,vectors)"), "\(text)")
            #expect(text.contains("v_bits") == (oversampling != nil), "\(text)")
        }
    }

    /// Rows by the filter, few and many of each chunk, of several chunks: compared with a search of all rows.
    @Test(arguments: VectorTable.Element.allCases) func filteredRowsAreThoseOfAWholeSearch(_ element: VectorTable.Element) throws {
        var random = SeededGenerator(of: element.rawValue)
        // Chunks of 32, 128 and 1,024 vectors.
        let (vectors, _) = try rows(300, 512, element, keepsBits: element != .bits, random: &random)
        try db.execute("DELETE FROM note WHERE year % 9 = 5")
        let query = RandomVectors.one(512, &random)
        let all = try vectors.search(query, limit: 1_000)
        let years = Dictionary(
            uniqueKeysWithValues: try db.fetchAll("SELECT id, year FROM note") as [(Int64, Int)])
        for step in [1, 2, 5, 40, 90] {
            let expected = all.filter { (years[$0.rowID] ?? 1) % step == 0 }
            var search = VectorSearch(query, limit: 1_000)
            search.filter = "year % \(step) = 0"
            #expect(try vectors.search(search) == expected && !expected.isEmpty)
            if element != .bits {
                search.coarse = .bits(oversampling: 1)
                #expect(try vectors.search(search) == expected)
                search.coarse = nil
            }
            search.limit = 7
            var paged: [VectorSearch.Hit] = []
            repeat {
                let page = try vectors.search(search)
                paged += page
                search.after = page.last
                if page.isEmpty { break }
            } while true
            #expect(paged == expected)
        }
    }

    // MARK: Hostile files

    /// The values that a file may have instead. Each is an error or an answer, never a read beyond a blob.
    @Test(arguments: [
        "UPDATE v_chunks SET vectors = substr(vectors, 1, length(vectors) - 1)", "UPDATE v_chunks SET vectors = x''",
        "UPDATE v_chunks SET ids = x''", "UPDATE v_chunks SET ids = ids || x'00'", "UPDATE v_chunks SET ids = CAST(ids || ids AS BLOB)",
        "UPDATE v_chunks SET factors = x'0000'", "UPDATE v_chunks SET factors = zeroblob(length(factors))",
        "UPDATE v_chunks SET factors = CAST(replace(hex(factors), '3F', 'FF') AS BLOB)", "UPDATE v_chunks SET vectors = 'text'",
        "UPDATE v_chunks SET vectors = 7", "UPDATE v_chunks SET vectors = NULL",
        "UPDATE v_chunks SET vectors = CAST(unhex(replace(hex(zeroblob(length(vectors))), '00', 'FF')) AS BLOB)",
        "UPDATE v_chunks SET chunk = -chunk - 5", "UPDATE v_chunks SET chunk = 9223372036854775807 - chunk", "DELETE FROM v_chunks",
        "UPDATE v SET slot = -1 - slot", "UPDATE v SET slot = 9223372036854775807 - slot", "UPDATE v SET slot = slot + 1000",
        "UPDATE v_bits SET vectors = x''", "UPDATE v_bits SET vectors = substr(vectors, 1, length(vectors) / 2)",
        "UPDATE v_bits SET vectors = zeroblob(1000000)", "UPDATE v_bits SET chunk = -9223372036854775808 + chunk", "DELETE FROM v_bits",
        "INSERT INTO v_free(slot) VALUES (-9223372036854775808), (9223372036854775807)", "DELETE FROM v_settings",
        "UPDATE v_settings SET dimensions = 65536", "UPDATE v_settings SET dimensions = 9223372036854775807",
        "UPDATE v_settings SET element = 'int8'", "UPDATE v_settings SET metric = 'hamming'", "UPDATE v_settings SET format = 2",
        "UPDATE v_settings SET element = 'bits', metric = 'hamming', bits = 0",
    ]) func damagedTablesAreErrors(_ damage: String) throws {
        var random = SeededGenerator(of: damage)
        let (vectors, _) = try rows(40, 12, keepsBits: true, random: &random)
        try db.execute("PRAGMA ignore_check_constraints = ON")
        do { try db.execute(SQL(raw: damage)) } catch let error as DatabaseError where error.code.primary == .constraint { return }
        let passes = (try? vectors.passesIntegrityCheck()) == true
        #expect(!passes || damage.contains("factors") || damage.contains("'FF'"))
        let query = RandomVectors.one(12, &random)
        var search = VectorSearch(query, limit: 5)
        var attempts: [() throws -> Void] = [{ _ = try vectors.search(search) }]
        search.filter = "year < 30"
        let filtered = search
        search.coarse = .bits(oversampling: 2)
        let both = search
        search.filter = nil
        let coarse = search
        attempts += [filtered, both, coarse].map { search in { _ = try vectors.search(search) } }
        attempts += [
            { _ = try vectors.vector(for: 3) }, { try vectors.set(query, for: 3) }, { try vectors.set(query, for: 0) },
            { _ = try vectors.missing() }, { try vectors.remove([3, 6]) }, { try db.execute("DELETE FROM note WHERE id = 9") },
            { try vectors.removeAll() },
        ]
        for attempt in attempts {
            do { try attempt() } catch let error as DatabaseError { _ = error }
        }
        try? vectors.drop()
    }

    // MARK: SQL

    @Test func functionsAnswerInSQL() throws {
        try db.register(.vectorDistance)
        #expect(try db.fetchOne(Double.self, "SELECT vector_distance('[1, 0]', '[0, 2]')") == 1)
        #expect(try db.fetchOne(Double.self, "SELECT vector_distance('[3, 0]', '[0, 4]', 'l2')") == 5)
        #expect(try db.fetchOne(Double.self, "SELECT vector_distance(x'0000803f00000040', '[3, 4]', 'dot')") == -11)
        #expect(try db.fetchOne(Double?.self, "SELECT vector_distance(NULL, '[1]')") == .some(nil))
        for bad in ["'[1]', '[1, 2]'", "'[0]', '[1]'", "'[1', '[1]'", "x'0000', '[1]'", "1, 2", "'[1]', '[1]', 'hamming'", "'[]', '[]'", "'[1e39]', '[1]'"] {
            #expect(throws: DatabaseError.self, "\(bad)") { try db.fetchOne(Double.self, SQL(raw: "SELECT vector_distance(\(bad))")) }
        }
    }

    /// The table-valued function beside the search in Swift, in each form of a statement that reads it.
    @Test func tableOfTheNearestIsThatOfTheSearch() throws {
        var random = SeededGenerator()
        let (vectors, all) = try rows(50, 4, random: &random)
        try db.register(.vectorNearest)
        let expected = try vectors.search([1, 2, 3, 4], limit: 5)
        let call = "vector_nearest('v', '[1, 2, 3, 4]', 5)"
        let found: [(Int64, Double, Int)] = try db.fetchAll(
            SQL(raw: "SELECT note.id, hit.distance, note.year FROM \(call) AS hit JOIN note ON note.id = hit.id ORDER BY hit.distance"))
        #expect(found.map(\.0) == expected.map(\.rowID) && found.map(\.1) == expected.map(\.distance))
        for sql in [
            "SELECT id FROM \(call)", "SELECT id FROM \(call) ORDER BY distance, id", "SELECT rowid FROM \(call)",
            "SELECT hit.id FROM note AS t CROSS JOIN \(call) AS hit WHERE t.id = 0",
            "SELECT id FROM vector_nearest WHERE \"limit\" = 5 AND vector = '[1, 2, 3, 4]' AND \"table\" = 'v'",
            "SELECT hit.id FROM json_each('[\"[1, 2, 3, 4]\"]') AS n, vector_nearest('v', n.value, 5) AS hit",
            "SELECT id FROM \(call) WHERE \"limit\" = 5 AND \"table\" = 'v' AND vector > '' AND \"limit\" < 6",
        ] {
            #expect(try db.fetchAll(Int64.self, SQL(raw: "SELECT value FROM json_each('[]') UNION ALL SELECT * FROM (\(sql))")) == expected.map(\.rowID), "\(sql)")
        }
        #expect(try db.fetchAll(Int64.self, SQL(raw: "SELECT id FROM \(call) ORDER BY distance DESC")) == expected.map(\.rowID).reversed())
        // Arguments that come from another table, in any order of the join.
        let pairs: [(Int64, Int64)] = try db.fetchAll(
            """
            SELECT q.key, hit.id FROM json_each('["[1, 0, 0, 0]", "[0, 0, 0, -1]"]') AS q, vector_nearest('v', q.value, 2) AS hit
            ORDER BY q.key, hit.distance
            """)
        let both = try [[1, 0, 0, 0], [0, 0, 0, -1]].flatMap { try vectors.search($0, limit: 2).map(\.rowID) }
        #expect(pairs.map(\.1) == both && pairs.map(\.0) == [0, 0, 1, 1])
        let blob = try #require(all[expected[0].rowID]).withUnsafeBytes { Data($0) }
        #expect(try db.fetchOne(Int64.self, "SELECT id FROM vector_nearest('v', \(blob), 1)") == expected[0].rowID)
        #expect(try db.fetchAll(Int64.self, SQL(raw: "SELECT id FROM \(call) WHERE \"limit\" = 6")).isEmpty)
        let arguments: [(String, String, Int)] = try db.fetchAll(
            SQL(raw: "SELECT \"table\", vector, \"limit\" FROM \(call) WHERE \"limit\" IN (4, 5) AND distance >= 0"))
        #expect(arguments.count == 5 && arguments.allSatisfy { $0 == ("v", "[1, 2, 3, 4]", 5) })
        let (_, region) = try db.recordingReads { db in try db.fetchAll(Int64.self, SQL(raw: "SELECT id FROM \(call)")) }
        #expect("\(region)".contains("v_chunks"), "\(region)")
    }

    @Test func wrongArgumentsOfTheTableOfTheNearestAreErrors() throws {
        var random = SeededGenerator()
        _ = try rows(50, 4, random: &random)
        try db.register(.vectorNearest)
        for (arguments, message) in [
            ("'none', '[1, 2, 3, 4]', 5", "no table of vectors"), ("'v', '[1]', 5", "1 dimensions"), ("'v', NULL, 5", "takes"),
            ("'v', '[1, 2, 3, 4]', 0", "not 0"), ("'v', '[1, 2, 3, 4]', 'x'", "takes"), ("'v', '[1, 2, 3, 4]'", "takes"),
            ("'v', x'00', 5", "1 bytes"), ("", "takes"), ("7, '[1, 2, 3, 4]', 5", "takes"), ("'v', '[1, 2, 3, 4]', 9223372036854775807", "10,000"),
        ] {
            #expect { try db.fetchAll(Int64.self, SQL(raw: "SELECT id FROM vector_nearest(\(arguments))")) } throws: { error in
                (error as? DatabaseError)?.message.contains(message) == true
            }
        }
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO vector_nearest(id) VALUES (1)") }
        // A file cannot use it.
        try db.execute("CREATE VIEW near AS SELECT id FROM vector_nearest('v', '[1, 2, 3, 4]', 5)")
        #expect(throws: DatabaseError.self) { try db.fetchAll(Int64.self, "SELECT id FROM near") }
        try db.register(.vectorNearest)
        #expect(try db.fetchAll(Int64.self, "SELECT id FROM vector_nearest('v', '[1, 2, 3, 4]', 5)").count == 5)
    }
}
