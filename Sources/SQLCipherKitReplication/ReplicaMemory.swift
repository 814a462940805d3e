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

    func read(_ section: [UInt8]) -> FollowerState.Held? {
        guard let bytes = OwnFile.contents(of: path), bytes.starts(with: Self.magic) else { return nil }
        return try? decoded(Array(bytes.dropFirst(Self.magic.count)), section)
    }

    /// What is known although the database is missing.
    private func decoded(_ bytes: [UInt8], _ section: [UInt8]) throws -> FollowerState.Held? {
        var parser = ByteParser(bytes)
        let number: UInt64 = try parser.number(), present = file
        guard present == nil || present == number else { return nil }
        var held = FollowerState.Held(sections: [section], place: try ChainPlace(&parser))
        let opening = try TermOpening(parser.rest())
        guard opening.term == held.place.term else { return nil }
        held.ancestry = opening.ancestry
        return held
    }

    /// - Parameter isDurable: whether it must survive a power failure; else it survives the process.
    func write(_ place: ChainPlace, _ ancestry: [ChainPlace], isDurable: Bool) throws {
        var bytes = Self.magic
        bytes.append(number: file ?? 0)
        place.append(to: &bytes)
        bytes += TermOpening(term: place.term, ancestry: ancestry).record
        try OwnFile.replace(path, with: bytes, isDurable: isDurable)
    }
}
