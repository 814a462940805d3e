import Foundation
import SQLCipherKit

/// Salvages a copy of the closed file, perhaps with damaged pages. Of an intact file everything is found; of a damaged one nothing
/// else than what was there, and all of what the report calls complete.
struct SalvageStep: Step {
    enum Damage: Sendable { case none, zeros, noise, cut }
    var damage: Damage
    /// Where the damage is, in parts of the file of 1/1000.
    var places: [Int]
    var key: ModelKey?

    func run(in world: World) throws {
        guard let file = world.main, let own = world.files[file], world.closures == 0, !world.reference.isInTransaction else { return }
        world.db.close()
        defer { for name in ["damaged", "rescued"] { remove(world, name) } }
        // Without authentication, damage cannot be told from content.
        let isAuthenticated = !own.isPlaintext && own.settings != .unauthenticated
        let damaged = try copy(world, file, own, isAuthenticated ? damage : .none)
        let report: DatabaseConverter.SalvageReport
        do {
            report = try DatabaseConverter.salvage(
                fileAt: world.path("damaged"), key: own.encryption(), to: world.path("rescued"), newKey: key?.encryption())
        } catch { throw Mismatch(description: "nothing is salvaged of the pages \(damaged): \(error)") }
        do {
            let rescued = try Connection(.file(world.path("rescued")), key: (key ?? own).encryption(), configuration: World.configuration)
            defer { rescued.close() }
            if damaged.isEmpty {
                if !report.isComplete { throw Mismatch(description: "of an intact file: \(report)") }
                try Contents.compare(schema: "main", rescued, world.reference, comparesJournal: false)
            } else {
                try compare(rescued, world.reference, report)
            }
        } catch { throw Mismatch(description: "salvaged with the pages \(damaged) damaged: \(error)") }
        try world.reopen()
    }

    /// Copies the file, damages pages of the copy, and returns their numbers.
    private func copy(_ world: World, _ file: String, _ key: ModelKey, _ damage: Damage) throws -> [Int] {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: world.path(file)))
        let size = key.settings == .smallPages ? 1024 : 4096, count = bytes.count / size
        var damaged: [Int] = []
        for place in damage == .none || count < 2 ? [] : places {
            // The first page is required.
            let page = 2 + place * (count - 1) / 1000, range = (page - 1) * size..<page * size
            switch damage {
            case .none: break
            case .zeros: bytes.replaceSubrange(range, with: Data(count: size))
            case .noise: bytes.replaceSubrange(range, with: Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ place) }))
            case .cut: bytes = bytes.prefix(range.lowerBound + size / 3)
            }
            damaged.append(page)
            if damage == .cut { break }
        }
        try bytes.write(to: URL(fileURLWithPath: world.path("damaged")))
        return damaged
    }

    private func compare(_ rescued: Connection, _ reference: Reference, _ report: DatabaseConverter.SalvageReport) throws {
        for row in try reference.must("SELECT name, sql FROM main.sqlite_schema WHERE type = 'table'") {
            guard case .text(let name) = row[0], case .text(let sql) = row[1], !sql.hasPrefix("CREATE VIRTUAL"), !Contents.isShadow(name),
                !name.hasPrefix("sqlite_"), !name.hasPrefix("sqlcipherkit"), name != "jdoc"
            else { continue }
            let columns = sql.contains("WITHOUT ROWID") ? "*" : "rowid, *"
            let query = "SELECT \(columns) FROM main.\(name.quotedSQLIdentifier)"
            guard let table = report.tables.first(where: { $0.name == name }) else {
                let isReported = !report.lostSchemaPages.isEmpty || report.lostObjects.contains { $0.name == name }
                if !isReported { throw Mismatch(description: "the table \(name) is lost, and the report does not say so") }
                continue
            }
            var left = try reference.must(query)
            for found in try Contents.rows(rescued, SQL(raw: query)) {
                guard let index = left.firstIndex(of: found) else { throw Mismatch(description: "\(name) has a row that never was: \(found)") }
                left.remove(at: index)
            }
            if table.isComplete, !left.isEmpty { throw Mismatch(description: "\(name) is complete without \(left)") }
        }
    }

    private func remove(_ world: World, _ name: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(world.path(name) + suffix) }
    }

    var simpler: [any Step] { places.indices.map { index in
        var step = self
        step.places.remove(at: index)
        return step
    } }

    var description: String {
        "db.close(); try DatabaseConverter.salvage(fileAt: \"damaged.db\", …)  // \(damage) at \(places) ‰\(key.map { ", to \($0)" } ?? "")"
    }
}

extension Sketch {
    mutating func salvageStep() -> (any Step)? {
        if depth > 0 || !onDisk { return dataStep() }
        return SalvageStep(
            damage: dice.pick([.none, .zeros, .noise, .noise, .cut]), places: (0..<1 + dice.below(3)).map { _ in dice.below(1000) },
            key: dice.oneIn(3) ? dice.key() : nil)
    }
}
