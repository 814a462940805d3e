import Harness
import SQLCipherKit
import Workloads

func searchText(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_TEXTS, FILL_TEXTS, settings.rows(TEXT_ROWS))
    let texts = try db.fullText("texts")
    let count = settings.rows(SEARCHES)
    return Workload {
        var hits: Int64 = 0
        for n in 0..<count {
            let query = FTS5Query.phrase("word\(n * 7)")
            for hit in try texts.search(query, limit: 10).hits where hit.rowID > 0 { hits += 1 }
        }
        return hits
    }
}

func extractJSON(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_JSON, FILL_JSON, settings.rows(JSON_ROWS))
    let statement = try db.prepare(SQL(raw: EXTRACT_JSON))
    return Workload {
        try statement.fetchAll(String.self).reduce(0) { $0 &+ Int64($1.utf8.count) }
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

/// From JSONB, as this package stores such columns.
func decodeJSON(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_JSON, FILL_JSONB, settings.rows(JSON_ROWS))
    let statement = try db.prepare(SQL(raw: SELECT_JSON))
    return Workload {
        try statement.fetchAll(JSONColumn<Document>.self).reduce(0) { $0 &+ $1.value.checkNumber }
    }
}
