import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private typealias Folder = Library.Folder
private typealias Tag = Library.Tag
private typealias Link = Library.Link
private typealias Comment = Library.Comment
private typealias Cover = Library.Cover

/// Joins of three and four tables, against the same computed in Swift.
@Suite struct ManyJoinTests {
    @Test(arguments: 0..<4 as Range<UInt64>) func fourTableJoinsMatchModel(seed: UInt64) throws {
        let made = try EncryptedDatabase(), db = made.db
        let content = Library.Content(seed: seed)
        try content.insert(into: db)
        func same(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

        var expected: [String] = []
        for folder in content.folders {
            for note in content.notes(of: folder) {
                for link in content.links where link.note == note.id {
                    for tag in content.tags where same(tag.name, link.tag) {
                        expected.append("\(folder.id!) \(note.id!) \(link.id!) \(tag.color)")
                    }
                }
            }
        }
        let four = Folder.join(Library.Note.self).join(Link.self).join(Tag.self) { _, _, link, tag in link.tag == tag.name }
        let rows = try db.fetchAll(four.order { folder, note, link, _ in folder.id; note.id; link.id })
        #expect(rows.map { "\($0.0.id!) \($0.1.id!) \($0.2.id!) \($0.3.color)" } == expected)
        #expect(try db.count(four) == expected.count)
        let colors = try db.fetchAll(four.filter { folder, note, link, tag in tag.color > 1 && note.stars > 2 }.select { ($0.id, $3.color) })
        #expect(colors.count == rows.filter { $0.3.color > 1 && $0.1.stars > 2 }.count)

        // Rows without a comment stay.
        let three = Folder.join(Library.Note.self).join(Link.self)
        let left = three.leftJoin(Comment.self) { _, note, _, comment in comment.note == note.id }
            .order { folder, note, link, comment in folder.id; note.id; link.id; comment.id }
        var all: [String] = []
        for row in try db.fetchAll(three.order { folder, note, link in folder.id; note.id; link.id }) {
            let comments = content.comments.filter { $0.note == row.1.id }.map { Optional($0.id!) }
            for comment in comments.isEmpty ? [nil] : comments { all.append("\(row.2.id!) \(comment ?? 0)") }
        }
        #expect(try db.fetchAll(left).map { "\($0.2.id!) \($0.3?.id ?? 0)" } == all)
        // A closure that names no other table's columns is about the first table.
        #expect(try db.fetchAll(three.order { $0.id.descending }.limit(1)).first?.0.id == rows.last?.0.id)
        #expect(try db.count(Folder.join(Library.Note.self).filter { $0.id == 1 }) == content.notes.count { $0.folder == 1 })
        // The only foreign key of the new table leads the way; of several the caller chooses.
        #expect(try db.count(Cover.join(Folder.self).join(Library.Note.self).join(Comment.self)) > 0)
        #expect(throws: DatabaseError.self) { try db.count(Folder.join(Library.Note.self).join(Link.self).join(Tag.self)) }
    }

    @Test func recordTypeStartsQueries() throws {
        let made = try EncryptedDatabase(), db = made.db
        try Library.Content(seed: 1).insert(into: db)
        #expect(try db.fetchAll(Folder.limit(3, offset: 1)).count == 3)
        #expect(try db.fetchAll(Folder.select { $0.id }.limit(5)).count == 5)
        #expect(try db.fetchAll(Folder.select { ($0.id, $0.name) }).count == 12)
        let full = try db.count(Folder.all.fullJoin(Cover.self)), right = try db.count(Folder.all.rightJoin(Cover.self))
        let cross = try db.count(Folder.all.crossJoin(Cover.self))
        #expect(right == 8 && full >= 12 && cross == 96)
    }
}
