import SQLCipherKitCore
import SQLCipherKitFiles

/// The place of a replica that a database holds, in a file beside it with the suffix `-replicated-` and the section.
///
/// A replica continues only from this place. If the store lacks the place, the store has returned to an older state. If the store
/// has later commits, the database is an old state of another machine. A restore of the newest state writes the file too, and a
/// conversion keeps it. Without the file, or with another database's file, a database begins its own history.
struct ReplicaMemory {
    private static let largestCount = 8

    let section: [UInt8]
    private let notes: FileNotes

    init(of database: String, section: [UInt8]) {
        (self.section, notes) = (section, FileNotes(of: database, named: section.hexadecimal))
    }

    /// The path of the file.
    var path: String { notes.path }

    /// Returns the places in the file: the database's place, and the places that it has if a claim succeeded whose answer was lost.
    /// A missing database holds the same places as before.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read, or is damaged.
    func read() throws -> [HeldPlace] {
        guard let note = try notes.read() else { return [] }
        do {
            var reader = ByteReader(replica: note), all: [HeldPlace] = []
            while !reader.isAtEnd {
                var held = HeldPlace(sections: [section], place: try ChainPlace(&reader), generation: try reader.number())
                held.ancestry = try TermOpening(reader.prefixed()).ancestry
                all.append(held)
            }
            return all
        } catch { throw notes.damage }
    }

    func write(_ held: [HeldPlace]) throws {
        try notes.write(Self.note(held.prefix(1) + held.dropFirst().suffix(Self.largestCount - 1)))
    }

    private static func note(_ all: [HeldPlace]) -> [UInt8] {
        var bytes: [UInt8] = []
        for held in all {
            held.place.append(to: &bytes)
            bytes.append(number: held.generation)
            bytes.append(prefixed: TermOpening(term: held.place.term, ancestry: held.ancestry).record)
        }
        return bytes
    }

    /// Gives a new file the database's name.
    /// - Parameters:
    ///   - file: the path of the new file.
    ///   - held: the places that it holds; empty if it begins another history.
    func replace(with file: String, holding held: [HeldPlace], _ publish: () async throws -> Void) async throws {
        let change = try notes.begin(replacingBy: file, note: held.isEmpty ? nil : Self.note(held))
        do { try await publish() } catch {
            change.undo()
            throw error
        }
        change.end()
    }
}
