import Foundation
import SQLCipherKit

/// Attaches a file, which is created if it is missing.
struct AttachStep: Step {
    /// Nil for a database in memory.
    var file: String?
    var name: String
    var key: ModelKey

    func run(in world: World) throws {
        let isNew = file.map { world.files[$0] == nil } ?? true
        // One file is open once; a new file in a transaction could be undone.
        if let file, world.isOpen(file) || isNew && world.reference.isInTransaction { return }
        if world.isAborted { return }
        let isTaken = (["main", "temp"] + world.attached.map(\.name)).contains { $0.lowercased() == name.lowercased() }
        let expected: Outcome = isTaken || name.isEmpty ? .refused(.schemaName) : isNew ? .done : key.opening(world.files[file!]!)
        let location: DatabaseLocation = file.map { .file(world.path($0)) } ?? .memory
        try world.only(expected) { db in
            try db.attach(location, as: name, key: key.encryption())
            return .done
        }
        guard !expected.isError else { return }
        let path = file.map { world.plainPath($0) } ?? ":memory:"
        _ = try world.reference.must("ATTACH ? AS ?", [.text(path), .text(name)])
        world.attached.append((name, file))
        if isNew { world.setKey(key.ofNewFile, of: name) }
    }

    var description: String {
        "try db.attach(\(file.map { ".file(\"\($0).db\")" } ?? ".memory"), as: \(show(name)), key: \(key))"
    }
}

struct DetachStep: Step {
    var name: String

    func run(in world: World) throws {
        if world.isAborted { return }
        try world.both { db in
            try Schema.named(name, db).detach()
            return .done
        } _: { reference in
            if !world.attached.contains(where: { $0.name.lowercased() == name.lowercased() }) { return .refused(.schemaName) }
            return reference.run("DETACH ?", [.text(name)]).isError ? .refused(.misuse) : .done
        }
        if world.reference.run("SELECT 1 FROM pragma_database_list WHERE lower(name) = lower(?)", [.text(name)]) == .rows([]) {
            world.attached.removeAll { $0.name.lowercased() == name.lowercased() }
            world.memoryKeys[name.lowercased()] = nil
        }
    }

    var description: String { "try db.schema(\(show(name))).detach()" }
}

extension Schema {
    static func named(_ name: String, _ db: Connection) throws -> Schema {
        name == "main" ? db.main : name == "temp" ? db.temp : try db.schema(name)
    }
}

extension Sketch {
    mutating func attachStep() -> (any Step)? {
        if dice.oneIn(3), schemas.count > 1 || dice.oneIn(4) {
            let name = dice.oneIn(6) ? dice.pick(["main", "temp", "nothing"]) : schemas.last!
            if depth == 0, name != "main" { schemas.removeAll { $0 == name } }
            return DetachStep(name: name)
        }
        let isOdd = dice.oneIn(5), name = isOdd ? dice.pick(["main", "TEMP", "", "AUX"]) : dice.pick(Self.schemaNames)
        let file = isOdd || dice.oneIn(4) ? nil : dice.pick(["one", "two", "three"])
        if !schemas.contains(name), !["main", "TEMP", "", "AUX"].contains(name) { schemas.append(name) }
        return AttachStep(file: file, name: name, key: someKey())
    }

    /// A key that the program has used before, or another key.
    mutating func someKey() -> ModelKey {
        let key = dice.oneIn(2) ? self.key : dice.key()
        if dice.oneIn(4) { self.key = key }
        return key
    }
}
