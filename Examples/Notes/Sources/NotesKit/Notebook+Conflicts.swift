import Foundation
import SQLCipherKit

extension Notebook {
    /// Selects the notes with texts of copies that had not met, and those that one copy has deleted and another one changed.
    static var disputed: SQL {
        """
        SELECT a.note FROM version a JOIN version b ON b.note = a.note AND b.field = a.field AND b.id > a.id AND b.text <> a.text
        UNION SELECT version.note FROM version JOIN note ON note.id = version.note WHERE note.deleted IS NOT NULL
        """
    }

    /// The versions of a note, if there is something to settle; ``Edits/settles`` takes those that a person has seen.
    public func conflict(of id: ID) async throws -> [Version] {
        try await pool.read { db in
            try db.fetchAll(
                Version.self, "SELECT * FROM version WHERE note = \(id) AND note IN (\(Self.disputed)) ORDER BY changed, id")
        }
    }

    /// Leaves a version of each text that is saved, and removes those that it replaces: the version of the text that was there, and
    /// those that a person has settled. A note that is deleted leaves none: a version that is there later came from another copy. A
    /// note that is restored leaves its texts again.
    static func keepVersions(
        _ db: Connection, of old: Note, as new: Note, settling seen: [ID], by device: String?
    ) throws {
        let isDeleted = old.deleted == nil && new.deleted != nil, isRestored = old.deleted != nil && new.deleted == nil
        let all = try db.fetchAll(Version.filter { $0.note == new.id })
        for (field, path) in [("title", \Note.title), ("body", \Note.body)] {
            let versions = all.filter { $0.field == field }, (was, now) = (old[keyPath: path], new[keyPath: path])
            let isChanged = !now.hasBytes(of: was), isDisputed = versions.contains { !$0.text.hasBytes(of: versions[0].text) }
            let replaced = versions.filter { version in
                guard isChanged || isDeleted else { return seen.contains(version.id) && !version.text.hasBytes(of: now) }
                return seen.contains(version.id) || !isDisputed || version.text.hasBytes(of: was)
            }
            try db.deleteAll(Version.filter { $0.id.in(replaced.map(\.id)) })
            if isChanged || isRestored && !versions.contains(where: { $0.text.hasBytes(of: now) }) {
                try db.insert(Version(id: .new, note: new.id, field: field, text: now, changed: new.changed, device: device))
            }
        }
    }
}

extension String {
    /// Two texts are the same if their bytes are.
    public func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
