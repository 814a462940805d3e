import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// What a database holds of a replica, in a file beside it with the suffix `-replicated-` and the section.
///
/// A replica goes on only from there: if the store lacks it, the store has gone back, and if the store has more, the database is
/// another machine's old state. A restore of the newest state writes it too. Without the file, or with another database's, a
/// database begins a history of its own.
struct ReplicaMemory {
    private static let magic = Array("SQLCipherKit memory 1".utf8)

    /// What one file holds, by its number, as another file under the name has another content.
    private struct Entry {
        let file: UInt64
        let held: [FollowerState.Held]
    }

    /// The path of the file.
    let path: String
    private let database: String, section: [UInt8]

    init(of database: String, section: [UInt8]) {
        (self.database, self.section, path) = (database, section, database + "-replicated-" + section.hexadecimal)
    }

    private static func number(of file: String) -> UInt64? { LogHold.identity(of: file)?.last }

    /// What is written down: where the database is, and where it is if one of the claims was successful that no one has heard of. A
    /// database that is missing holds what it has held.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read, or is damaged.
    func read() throws(DatabaseError) -> [FollowerState.Held] {
        let all = try entries()
        guard let present = Self.number(of: database) else { return all.first?.held ?? [] }
        return all.first { $0.file == present }?.held ?? []
    }

    private func entries() throws(DatabaseError) -> [Entry] {
        // After a power failure, a file that was not flushed may be empty or zeroes: it was not written.
        guard let bytes = try OwnFile.contents(of: path), bytes.contains(where: { $0 != 0 }) else { return [] }
        do {
            guard bytes.starts(with: Self.magic) else { throw DatabaseError.damagedReplica("the memory is of an unknown form") }
            var parser = ByteParser(Array(bytes.dropFirst(Self.magic.count))), all: [Entry] = []
            while !parser.isAtEnd { all.append(try entry(&parser)) }
            return all
        } catch {
            throw DatabaseFile.cannotOpen(
                path, "it is damaged. It says what the database holds of its replica: without it, a history of its own begins")
        }
    }

    private func entry(_ parser: inout ByteParser) throws -> Entry {
        let file: UInt64 = try parser.number()
        let held = try (0..<(try parser.count(atMost: Self.largestCount))).map { _ in
            var held = FollowerState.Held(sections: [section], place: try ChainPlace(&parser), generation: try parser.number())
            let record = try parser.take(try parser.count(atMost: 1 << 16))
            held.ancestry = try TermOpening(Array(record)).ancestry
            return held
        }
        return Entry(file: file, held: held)
    }

    private static let largestCount = 8

    /// - Parameter isDurable: whether it must survive a power failure; else it survives the process.
    func write(_ held: [FollowerState.Held], isDurable: Bool) throws {
        try write([Entry(file: Self.number(of: database) ?? 0, held: held)], isDurable: isDurable)
    }

    private func write(_ entries: [Entry], isDurable: Bool) throws {
        var bytes = Self.magic
        for entry in entries {
            let all = entry.held.prefix(1) + entry.held.dropFirst().suffix(Self.largestCount - 1)
            bytes.append(number: entry.file)
            bytes.append(short: UInt64(all.count))
            for held in all {
                held.place.append(to: &bytes)
                bytes.append(number: held.generation)
                let record = TermOpening(term: held.place.term, ancestry: held.ancestry).record
                bytes.append(short: UInt64(record.count))
                bytes += record
            }
        }
        try OwnFile.replace(path, with: bytes, isDurable: isDurable)
    }

    /// Gives a new file the database's name. What it holds is written down before: whichever file has the name when that is
    /// interrupted, it is not taken for the other one.
    /// - Parameters:
    ///   - file: where the new file is.
    ///   - held: what it holds; nothing if it begins another history.
    func replace(with file: String, holding held: [FollowerState.Held], _ publish: () async throws -> Void) async throws {
        guard let number = Self.number(of: file) else { throw DatabaseFile.cannotOpen(file, "the new file is gone") }
        let former = try OwnFile.contents(of: path), new = held.isEmpty ? [] : [Entry(file: number, held: held)]
        // A number that is free is given to another file.
        let others = ((try? entries()) ?? []).filter { $0.file != number && DatabaseFile.exists(database) }
        do {
            try set(new + others)
            try await publish()
        } catch {
            if let former { try? OwnFile.replace(path, with: former) } else { unlink(path) }
            throw error
        }
        try? set(new)
    }

    private func set(_ entries: [Entry]) throws {
        if !entries.isEmpty { return try write(entries, isDurable: true) }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw AtomicFile.failure(.ioError, "the file cannot be removed", path)
        }
    }
}
