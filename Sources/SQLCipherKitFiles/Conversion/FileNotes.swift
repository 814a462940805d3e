import Foundation
import SQLCipherKitCore

/// Notes about a database's file that are not in it: in a file beside it, by the number of the file that a note is about, as
/// another file under the database's name has another content.
package struct FileNotes {
    private static let magic = Array("SQLCipherKit notes 1".utf8), infix = "-replicated-"

    private struct Entry {
        let file: UInt64
        let note: [UInt8]
    }

    /// The path of the file: that of the database with `-replicated-` and the name.
    package let path: String
    private let database: String

    package init(of database: String, named name: String) {
        (self.database, path) = (database, database + Self.infix + name)
    }

    private static func number(of file: String) -> UInt64? { DatabaseFile.identity(of: file)?.last }

    /// Returns the note for the file at the database's path; without such a file, the newest note.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read, or is damaged.
    package func read() throws -> [UInt8]? {
        let all = try entries()
        guard let present = Self.number(of: database) else { return all.first?.note }
        return all.first { $0.file == present }?.note
    }

    private func entries() throws -> [Entry] {
        guard let bytes = try OwnFile.contents(of: path) else { return [] }
        guard bytes.starts(with: Self.magic) else { throw damage }
        var reader = ByteReader(bytes.dropFirst(Self.magic.count)) { damage }, all: [Entry] = []
        while !reader.isAtEnd {
            all.append(Entry(file: try reader.number(), note: Array(try reader.take(reader.number(UInt32.self)))))
        }
        return all
    }

    /// The error for a damaged file.
    package var damage: DatabaseError {
        DatabaseFile.cannotOpen(
            path, "it is damaged. It records the database's place in its replica. If you remove it, a new history begins")
    }

    /// Writes the note so that it survives a power failure, as a database without its note begins a new history.
    package func write(_ note: [UInt8]) throws { try write([Entry(file: Self.number(of: database) ?? 0, note: note)]) }

    private func write(_ entries: [Entry]) throws {
        if entries.isEmpty {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw AtomicFile.failure(.ioError, "the file cannot be removed", path)
            }
            return
        }
        var bytes = Self.magic
        for entry in entries {
            bytes.append(number: entry.file)
            bytes.append(number: entry.note.count, bytes: 4)
            bytes += entry.note
        }
        try OwnFile.replace(path, with: bytes)
    }

    // MARK: Another file

    /// The notes that are written before another file gets the database's name, and the former notes.
    package struct Change {
        fileprivate let notes: FileNotes
        private let former: [UInt8]?
        private let new: [Entry]

        fileprivate init(_ notes: FileNotes, _ file: String, _ note: [UInt8]?) throws {
            guard let number = FileNotes.number(of: file) else { throw DatabaseFile.cannotOpen(file, "the new file is missing") }
            self.notes = notes
            former = try OwnFile.contents(of: notes.path)
            new = note.map { [Entry(file: number, note: $0)] } ?? []
            // A number that is free is given to another file.
            let others = ((try? notes.entries()) ?? []).filter { $0.file != number && DatabaseFile.exists(notes.database) }
            do { try notes.write(new + others) } catch {
                undo()
                throw error
            }
        }

        /// The new file has the name.
        package func end() { try? notes.write(new) }

        /// The former file still has it.
        package func undo() {
            if let former { try? OwnFile.replace(notes.path, with: former) } else { unlink(notes.path) }
        }
    }

    /// Writes down what a new file holds, before it gets the database's name. Whichever file has the name when that is interrupted,
    /// it is not taken for the other one.
    /// - Parameters:
    ///   - file: where the new file is.
    ///   - note: what it holds; nil if that is nothing.
    package func begin(replacingBy file: String, note: [UInt8]?) throws -> Change { try Change(self, file, note) }

    /// Begins to replace a database's file by one with the same content: what is known of it is known of that one. Notes that are
    /// damaged stay as they are.
    static func carry(of database: String, to file: String) throws -> [Change] {
        let prefix = database.lastName + infix
        let names = (try? FileManager.default.contentsOfDirectory(atPath: database.parentFolder)) ?? []
        var changes: [Change] = []
        for name in names where name.hasPrefix(prefix) && !name.hasSuffix("~") {
            let notes = FileNotes(of: database, named: String(name.dropFirst(prefix.count)))
            guard let note = try? notes.read() else { continue }
            do { changes.append(try notes.begin(replacingBy: file, note: note)) } catch {
                for change in changes { change.undo() }
                throw error
            }
        }
        return changes
    }
}
