import Foundation
import SQLCipherKit

/// A call that writes or reads records.
struct RecordStep: Step {
    enum Call: Sendable {
        case create
        case insert(Item), insertIgnoring(Item), insertAll([Item]), save(Item), update(Item), upsert(Item), delete(Item), refresh(Item)
        case updateFrom(Item, Item)
        case find(Int64), findAll([Int64])
        case fetch(Filter, ascending: Bool, limit: Int?, offset: Int), count(Filter), deleteAll(Filter), updateAll(Filter, Int)
        case aggregate(Filter)
    }

    var call: Call

    func run(in world: World) throws {
        let hasTable = !(try world.reference.must("SELECT 1 FROM main.sqlite_schema WHERE name = 'item'").isEmpty)
        if !hasTable, case .create = call {} else if !hasTable { return }
        // Another step may have renamed a column.
        if hasTable, world.reference.run(Item.selection).isError { return }
        try world.both(perform, { try model($0) })
    }

    private func perform(_ db: Connection) throws -> Outcome {
        func after(_ item: Item, _ body: (inout Item) throws -> Void) throws -> Outcome {
            var item = item
            try body(&item)
            return .rows([item.values])
        }
        switch call {
        case .create:
            try db.execute(SQL(raw: Item.creation))
            return .done
        case .insert(let item): return try after(item) { try db.insert(&$0) }
        case .insertIgnoring(let item): return .text("\(try db.insert(item, onConflict: .ignore))")
        case .insertAll(let items):
            var items = items
            try db.insertAll(&items)
            return .rows(items.map(\.values))
        case .save(let item): return try after(item) { try db.save(&$0) }
        case .update(let item): return try after(item) { try db.update(&$0) }
        case .updateFrom(let new, let old): return .text("\(try db.updateChanges(new, from: old).sorted())")
        case .upsert(let item): return try after(item) { try db.upsert(&$0, onConflict: ["name"]) }
        case .delete(let item): return .text("\(try db.delete(item))")
        case .refresh(let item): return try after(item) { try db.refresh(&$0) }
        case .find(let id): return .rows(try db.fetchOne(Item.self, id: id).map { [$0.values] } ?? [])
        case .findAll(let ids): return .rows(try db.fetchAll(Item.self, ids: ids).map(\.values))
        case .fetch(let filter, let ascending, let limit, let offset):
            var query = Item.filter { filter.predicate($0) }.order { ascending ? $0.name.ascending : $0.name.descending }
            if let limit { query = query.limit(limit, offset: offset) }
            return .rows(try db.fetchAll(query).map(\.values))
        case .count(let filter):
            let query = Item.filter { filter.predicate($0) }
            return .text("\(try db.count(query)) \(try db.exists(query))")
        case .deleteAll(let filter): return .text("\(try db.deleteAll(Item.filter { filter.predicate($0) }))")
        case .updateAll(let filter, let count):
            return .text("\(try db.updateAll(Item.filter { filter.predicate($0) }) { _, set in set(\.count, to: count) })")
        case .aggregate(let filter):
            let found = try db.fetchOne(Item.filter { filter.predicate($0) }.select { ($0.count.sum(), $0.name.max(), $0.count.min()) })
            return .text("\(found.map { "\($0.0 ?? -1) \(show($0.1 ?? "none")) \($0.2 ?? -1)" } ?? "none")")
        }
    }

    var description: String {
        switch call {
        case .create: "try db.execute(Item.creation)"
        case .insert(let item): "try db.insert(&\(text(item)))"
        case .insertIgnoring(let item): "try db.insert(\(text(item)), onConflict: .ignore)"
        case .insertAll(let items): "try db.insertAll(&[\(items.map { text($0) }.joined(separator: ", "))])"
        case .save(let item): "try db.save(&\(text(item)))"
        case .update(let item): "try db.update(&\(text(item)))"
        case .updateFrom(let new, let old): "try db.update(\(text(new)), from: \(text(old)))"
        case .upsert(let item): "try db.upsert(&\(text(item)), onConflict: [\"name\"])"
        case .delete(let item): "try db.delete(\(text(item)))"
        case .refresh(let item): "try db.refresh(&\(text(item)))"
        case .find(let id): "try db.fetchOne(Item.self, id: \(id))"
        case .findAll(let ids): "try db.fetchAll(Item.self, ids: \(ids))"
        case .fetch(let filter, let ascending, let limit, let offset):
            "try db.fetchAll(Item.filter { \(filter) }.order { $0.name.\(ascending ? "ascending" : "descending") }"
                + (limit.map { ".limit(\($0), offset: \(offset))" } ?? "") + ")"
        case .count(let filter): "try db.count(Item.filter { \(filter) })"
        case .deleteAll(let filter): "try db.deleteAll(Item.filter { \(filter) })"
        case .updateAll(let filter, let count): "try db.updateAll(Item.filter { \(filter) }) { $1(\\.count, to: \(count)) }"
        case .aggregate(let filter): "try db.fetchOne(Item.filter { \(filter) }.select { (sum, max, min) })"
        }
    }

    private func text(_ item: Item) -> String { "Item(\(item.values.map { show($0) }.joined(separator: ", ")))" }
}

extension Sketch {
    mutating func recordStep() -> (any Step)? {
        if count("record") == 1 { return RecordStep(call: .create) }
        let call: RecordStep.Call
        switch dice.below(22) {
        case 0: call = .create
        case 1, 2, 3, 4: call = .insert(dice.item())
        case 5: call = .insertIgnoring(dice.item())
        case 6: call = .insertAll([dice.item(), dice.item()])
        case 7: call = .save(dice.item())
        case 8: call = .update(dice.item())
        case 9: call = .upsert(dice.item())
        case 10: call = .delete(dice.item())
        case 11: call = .refresh(dice.item())
        case 12: call = .find(Int64(dice.below(5)))
        case 13: call = .findAll((0..<dice.below(5)).map { _ in Int64(dice.below(5)) })
        case 14, 15, 16: call = .fetch(dice.filter(), ascending: dice.oneIn(2), limit: dice.pick([nil, 2]), offset: dice.below(2))
        case 17: call = .count(dice.filter())
        case 18: call = .deleteAll(dice.filter())
        case 19: call = .updateAll(dice.filter(), dice.pick([0, 1, 13]))
        case 20:
            let old = dice.item()
            var new = dice.item()
            new.id = old.id
            call = .updateFrom(new, old)
        default: call = .aggregate(dice.filter())
        }
        return RecordStep(call: call)
    }
}
