import SQLCipherKitCore
import SQLCipherKitMaintenance

/// What a database holds of a replica, in a file beside it with the suffix `-replicated-` and the section.
///
/// A replica goes on only from there: if the store lacks it, the store has gone back, and if the store has more, the database is
/// another machine's old state. A restore of the newest state writes it too. Without the file, or with another database's, a
/// database begins a history of its own.
struct ReplicaMemory {
    private static let magic = Array("SQLCipherKit memory 1".utf8)

    /// The path of the file.
    let path: String
    private let database: String

    init(of database: String, section: [UInt8]) {
        (self.database, path) = (database, database + "-replicated-" + section.hexadecimal)
    }

    /// The number of the database's file, as another file under the name has another content.
    private var file: UInt64? { LogHold.identity(of: database)?.last }

    /// What is written down: where the database is, and where it is if one of the claims was successful that no one has heard of. A
    /// database that is missing holds what it has held.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read, or is damaged.
    func read(_ section: [UInt8]) throws(DatabaseError) -> [FollowerState.Held] {
        // After a power failure, a file that was not flushed may be empty or zeroes: it was not written.
        guard let bytes = try OwnFile.contents(of: path), bytes.contains(where: { $0 != 0 }) else { return [] }
        do {
            guard bytes.starts(with: Self.magic) else { throw DatabaseError.damagedReplica("the memory is of an unknown form") }
            return try decoded(Array(bytes.dropFirst(Self.magic.count)), section)
        } catch {
            throw DatabaseFile.cannotOpen(
                path, "it is damaged. It says what the database holds of its replica: without it, a history of its own begins")
        }
    }

    private func decoded(_ bytes: [UInt8], _ section: [UInt8]) throws -> [FollowerState.Held] {
        var parser = ByteParser(bytes)
        let number: UInt64 = try parser.number(), present = file
        guard present == nil || present == number else { return [] }
        return try (0..<(try parser.count(atMost: Self.largestCount))).map { _ in
            var held = FollowerState.Held(sections: [section], place: try ChainPlace(&parser), generation: try parser.number())
            let record = try parser.take(try parser.count(atMost: 1 << 16))
            held.ancestry = try TermOpening(Array(record)).ancestry
            return held
        }
    }

    private static let largestCount = 8

    /// - Parameter isDurable: whether it must survive a power failure; else it survives the process.
    func write(_ all: [FollowerState.Held], isDurable: Bool) throws {
        let all = all.prefix(1) + all.dropFirst().suffix(Self.largestCount - 1)
        var bytes = Self.magic
        bytes.append(number: file ?? 0)
        bytes.append(short: UInt64(all.count))
        for held in all {
            held.place.append(to: &bytes)
            bytes.append(number: held.generation)
            let record = TermOpening(term: held.place.term, ancestry: held.ancestry).record
            bytes.append(short: UInt64(record.count))
            bytes += record
        }
        try OwnFile.replace(path, with: bytes, isDurable: isDurable)
    }
}
