import Foundation
import SQLCipherKit
import SQLCipherKitVectors

/// Tables of vectors.
extension Cases {
    static var vectors: [ContractCase] { vectorTables + vectorRows + vectorSearches }

    /// A model whose vectors follow from the lengths of texts.
    private struct Lengths: TextVectorizer {
        func vectors(for texts: [String]) async throws -> [[Float]] { texts.map { [1, Float($0.utf8.count % 97), 2] } }
    }

    /// A table over the notes, of which two have a vector and the third is missing one.
    private static func fill(_ t: Trial) throws { try fill(t.schema) }

    private static func fill(_ schema: Schema) throws {
        try schema.create(
            VectorTable("v", dimensions: 3, of: .int8, content: .external(table: "note", columns: ["title", "body"]), keepsBits: true))
        try schema.vectors("v").set([(id: 1, vector: [1, 0, 0]), (id: 2, vector: [1, 1, 0])])
    }

    private static func index(_ t: Trial) throws -> VectorIndex { try t.schema.vectors(t.text("table", "v", .name)) }

    private static func shown(_ hits: [VectorSearch.Hit]) -> [String] { hits.map { "\($0.rowID) \($0.distance)" } }

    private static var vectorTables: [ContractCase] {
        family("vectors-create",
            call("of a table", .writes) { t in
                let name = t.text("name", "made", .new)
                try t.schema.create(
                    VectorTable(name, dimensions: 3, content: .external(table: t.text("table", "note", .name), columns: [t.text("column", "title", .name)])))
                t.then {
                    let vectors = try t.schema.vectors(name)
                    try t.same(name, vectors.name)
                    if t.isUsual("table"), t.isUsual("column") { try t.same(3, vectors.missingCount) }
                }
                return 0
            },
            call("of its own", .writes) { t in
                let name = t.text("name", "made", .new), table = VectorTable(name, dimensions: 3, of: .int8, metric: .l2, keepsBits: true)
                if t.subject.kind == .attached { try t.schema.create(table) } else { try t.db.create(table, ifNotExists: name == "made") }
                t.then {
                    let vectors = try t.schema.vectors(name)
                    try vectors.set([127, 0, -127], for: 5)
                    try t.same([127, 0, -127], vectors.vector(for: 5))
                    try t.same([5], vectors.search([1, 1, 1]).map(\.rowID))
                    try vectors.remove([5])
                    try t.same(true, vectors.passesIntegrityCheck())
                }
                return 0
            },
            call("drop", .writes, prepare: fill) { t in try index(t).drop() })
        + family("vectors-handle",
            call("what there is", prepare: fill) { t in
                let vectors = try index(t)
                return try (
                    vectors.dimensions, vectors.element.rawValue, vectors.metric.rawValue, vectors.count, vectors.passesIntegrityCheck(),
                    vectors.missingCount, vectors.connection.isOpen, t.schema.vectorIndexes().map(\.name))
            },
            call("of the connection", refusing: [.attached], prepare: fill) { t in try t.db.vectors(t.text("table", "v", .name)).dimensions },
            call("what is stored", prepare: fill) { t in
                let vectors = try index(t)
                return try (vectors.vector(for: 2) ?? [], vectors.vector(for: 3) == nil, vectors.missing().map(\.text), vectors.missing(from: 4, limit: 1).count)
            })
    }

    private static var vectorRows: [ContractCase] {
        family("vectors-write",
            call("set", .writes, prepare: fill) { t in
                try index(t).set([0, 1, 0], for: 3)
                t.then { try t.same([3, 2, 1], t.schema.vectors("v").search([0, 1, 0]).map(\.rowID)) }
                return 0
            },
            call("set many", .writes, prepare: fill) { t in try index(t).set([(id: 1, vector: [3, 2, 1]), (id: 3, vector: [1, 2, 3])]) },
            call("remove", .writes, prepare: fill) { t in try index(t).remove([1, 7]) },
            call("removeAll", .writes, prepare: fill) { t in try index(t).removeAll() })
        + family("vectors-update",
            call("of a queue or pool", .writes, on: .shared, isStepwise: true, waits: true, prepare: { t in
                try t.shared.write { db in try fill(db.main) }
                try t.shared.write { db in try db.vectors("v").removeAll() }
            }) { t in
                let shared = try t.shared, table = t.text("table", "v", .name)
                return try waiting { try await shared.updateVectors(table, with: Lengths(), batchSize: 1) }
            })
    }

    private static var vectorSearches: [ContractCase] {
        family("vectors-search",
            call("the nearest", prepare: fill) { t in
                let vectors = try index(t)
                return try (shown(vectors.search([1, 0.1, 0], limit: 3)), shown(vectors.search(like: 1)))
            },
            call("all options", prepare: fill) { t in
                let value = t.text("value", Secrets.value)
                var search = VectorSearch([1, 0.1, 0], limit: 3)
                search.filter = "title <> \(value)"
                search.after = VectorSearch.Hit(rowID: 1, distance: 0)
                search.timeLimit = .seconds(60)
                let exact = try index(t).search(search)
                (search.after, search.coarse) = (nil, .bits(oversampling: 2))
                return try (shown(exact), shown(index(t).search(search)))
            },
            call("a filter in SQL", prepare: fill) { t in
                var search = VectorSearch([1, 0.1, 0])
                search.filter = SQL(raw: t.text("filter", "n > 0", .sql))
                return try shown(index(t).search(search))
            },
            call("functions", .settles) { t in
                try t.db.register(.vectorDistance)
                let text = t.text("vector", "[1, 0, 0]")
                return try t.db.fetchOne(Double.self, "SELECT vector_distance(\(text), '[0, 1, 0]', \(t.text("metric", "l2")))") ?? 0
            },
            call("the nearest in SQL", .settles, refusing: [.attached], prepare: fill) { t in
                try t.db.register(.vectorNearest)
                return try t.db.fetchAll(
                    Int64.self, "SELECT id FROM vector_nearest(\(t.text("table", "v")), \(t.text("vector", "[1, 0, 0]")), 2)")
            })
        + family("vectors-hybrid",
            call("by words and vectors", prepare: fill) { t in
                var search = HybridSearch(t.text("text", "note"), vector: [1, 0.1, 0], limit: 5)
                search.words.filter = "title <> \(t.text("value", Secrets.value))"
                (search.depth, search.wordWeight, search.coarse) = (50, 2, .bits())
                let found = try t.db.search(search, words: t.schema.fullText("note_fts"), vectors: index(t))
                return (found.total, found.hits.map { "\($0.rowID) \($0.wordRank ?? 0) \($0.vectorRank ?? 0) \($0.score)" })
            })
    }
}
