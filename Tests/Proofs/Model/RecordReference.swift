import SQLCipherKit

/// Records in the reference: handwritten SQL, and plain Swift where the package builds queries.
extension RecordStep {
    private static let columns = "id, name, score, \"count\", data, tags"
    private static let values = "?1, ?2, ?3, ?4, ?5, ?6"

    func model(_ reference: Reference) throws -> Outcome {
        func items() throws -> [Item] { try reference.must(Item.selection).map { Item($0) } }
        func row(_ id: Int64?) throws -> Item? { try items().first { $0.id == id } }
        /// The record after a statement that returns its row.
        func written(_ outcome: Outcome) throws -> Outcome {
            guard case .rows(let rows) = outcome else { return outcome }
            guard case .integer(let id)? = rows.first?.first, let item = try row(id) else { return .refused(.recordNotFound) }
            return .rows([item.values])
        }
        func insert(_ item: Item, _ conflict: String = "", _ upsert: String = "") -> Outcome {
            reference.run("INSERT \(conflict) INTO main.item(\(Self.columns)) VALUES (\(Self.values)) \(upsert) RETURNING id", item.values)
        }
        func update(_ item: Item) -> Outcome {
            reference.run(
                "UPDATE main.item SET name = ?2, score = ?3, \"count\" = ?4, data = ?5, tags = ?6 WHERE id = ?1 RETURNING id",
                item.values)
        }
        func matching(_ filter: Filter) throws -> [Item] { try items().filter { filter.value($0) == true } }
        switch call {
        case .create:
            let outcome = reference.run(Item.creation)
            return outcome.isError ? outcome : .done
        case .insert(let item): return try written(insert(item))
        case .insertIgnoring(let item):
            guard case .rows(let rows) = insert(item, "OR IGNORE") else { return insert(item, "OR IGNORE") }
            return .text("\(!rows.isEmpty)")
        case .insertAll(let list):
            _ = try reference.must("SAVEPOINT a")
            var rows: [[SQLValue]] = []
            for item in list {
                let outcome = try written(insert(item))
                guard case .rows(let new) = outcome else {
                    _ = reference.run("ROLLBACK TO a")
                    _ = reference.run("RELEASE a")
                    return outcome
                }
                rows += new
            }
            _ = try reference.must("RELEASE a")
            return .rows(rows)
        case .save(let item):
            return try written(row(item.id) == nil || item.id == nil ? insert(item) : update(item))
        case .update(let item): return try written(update(item))
        case .updateFrom(let new, let old):
            var names: [String] = [], sets: [String] = []
            for (index, name) in ["id", "name", "score", "count", "data", "tags"].enumerated()
            where !same(new.values[index], old.values[index]) {
                names.append(name)
                sets.append("\(name.quotedSQLIdentifier) = \(index == 5 ? "?6" : "?\(index + 1)")")
            }
            if names.isEmpty { return .text("[]") }
            let sql = "UPDATE main.item SET \(sets.joined(separator: ", ")) WHERE id = ?7 AND ifnull(?1 + ?2 + ?3 + ?4 + ?5 + ?6, 1) IS NOT NULL RETURNING id"
            guard case .rows(let rows) = reference.run(sql, new.values + [old.values[0]]) else {
                return reference.run(sql, new.values + [old.values[0]])
            }
            return rows.isEmpty ? .refused(.recordNotFound) : .text("\(names.sorted())")
        case .upsert(let item):
            let set = ["score", "\"count\"", "data", "tags"].map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            // The id too, unless the database chooses it.
            let upsert = "ON CONFLICT(name) DO UPDATE SET \(set)"
            return try written(insert(item, "", upsert))
        case .delete(let item):
            return .text("\(try !reference.must("DELETE FROM main.item WHERE id = ? RETURNING 1", [item.values[0]]).isEmpty)")
        case .refresh(let item):
            guard item.id != nil, let found = try row(item.id) else { return .refused(.recordNotFound) }
            return .rows([found.values])
        case .find(let id): return .rows(try row(id).map { [$0.values] } ?? [])
        case .findAll(let ids):
            var seen: Set<Int64> = []
            return .rows(try ids.filter { seen.insert($0).inserted }.compactMap { try row($0)?.values })
        case .fetch(let filter, let ascending, let limit, let offset):
            var found = try matching(filter).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            if !ascending { found.reverse() }
            if let limit { found = Array(found.dropFirst(offset).prefix(limit)) }
            return .rows(found.map(\.values))
        case .count(let filter):
            let count = try matching(filter).count
            return .text("\(count) \(count > 0)")
        case .deleteAll(let filter):
            let found = try matching(filter)
            for item in found { _ = try reference.must("DELETE FROM main.item WHERE id = ?", [item.values[0]]) }
            return .text("\(found.count)")
        case .updateAll(let filter, let count):
            let found = try matching(filter)
            if count == 13, !found.isEmpty { return .refused(.engine) }
            for item in found { _ = try reference.must("UPDATE main.item SET \"count\" = \(count) WHERE id = ?", [item.values[0]]) }
            return .text("\(found.count)")
        case .aggregate(let filter):
            let found = try matching(filter)
            let last = found.map(\.name).max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return .text("\(found.isEmpty ? -1 : found.reduce(0) { $0 + $1.count }) \(show(last ?? "none")) \(found.map(\.count).min() ?? -1)")
        }
    }
}
