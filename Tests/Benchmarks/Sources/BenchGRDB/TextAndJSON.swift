import Foundation
import GRDB
import Harness
import Workloads

func searchText(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_TEXTS, FILL_TEXTS, settings.rows(TEXT_ROWS))
    let count = settings.rows(SEARCHES)
    return Workload {
        try queue.read { db in
            var hits: Int64 = 0
            let statement = try db.cachedStatement(sql: SEARCH_TEXTS)
            for n in 0..<count {
                let pattern = FTS5Pattern(matchingAllTokensIn: "word\(n * 7)")
                let rows = try Row.fetchCursor(statement, arguments: [pattern])
                var found: [(id: Int64, rank: Double, snippet: String)] = []
                while let row = try rows.next() { found.append((row[0], row[1], row[2])) }
                for hit in found where hit.id > 0 { hits += 1 }
            }
            return hits
        }
    }
}

func extractJSON(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_JSON, FILL_JSON, settings.rows(JSON_ROWS))
    return Workload {
        try queue.read { db in
            try String.fetchAll(db.cachedStatement(sql: EXTRACT_JSON)).reduce(0) { $0 &+ Int64($1.utf8.count) }
        }
    }
}

struct Document: Codable, Sendable {
    struct Place: Codable, Sendable {
        var lat, lon: Double
    }

    var id: Int64
    var name: String
    var score: Double
    var tags: [String]
    var place: Place

    var checkNumber: Int64 { id &+ Int64(name.utf8.count) &+ Int64(score) &+ Int64(tags.count) &+ Int64(place.lat) }
}

/// From JSON text, which is all that GRDB knows.
func decodeJSON(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_JSON, FILL_JSON, settings.rows(JSON_ROWS))
    return Workload {
        try queue.read { db in
            let decoder = JSONDecoder()
            var sum: Int64 = 0
            let documents = try Data.fetchCursor(db.cachedStatement(sql: SELECT_JSON))
            while let document = try documents.next() {
                sum &+= try decoder.decode(Document.self, from: document).checkNumber
            }
            return sum
        }
    }
}
