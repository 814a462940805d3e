import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private typealias Folder = Library.Folder
private typealias Tag = Library.Tag

/// Text by its bytes, which a database compares.
private func bytes(_ tags: [Tag]) -> [[UInt8]] { tags.map { Array($0.name.utf8) }.sorted { $0.lexicographicallyPrecedes($1) } }

/// The results of fetches with associations, against the same computed in Swift from random rows.
@Suite struct AssociationTests {
    private func made(_ seed: UInt64) throws -> (EncryptedDatabase, Library.Content) {
        let made = try EncryptedDatabase()
        let content = Library.Content(seed: seed)
        try content.insert(into: made.db)
        return (made, content)
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func includedAssociationsMatchModel(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        let query = Folder.order { $0.id }.including(
            Folder.notes.order { $0.id }, Folder.up, Folder.cover.order { $0.id }, Folder.children.order { $0.id.descending })
        var rows: [(Folder, [Library.Note], Folder?, Library.Cover?, [Folder])] = []
        let statements = try db.statements { rows = try db.fetchAll(query) }
        #expect(statements.count == 5)
        #expect(rows.map(\.0) == content.folders)
        for (folder, notes, up, cover, children) in rows {
            #expect(notes == content.notes(of: folder))
            #expect(up == content.folders.first { $0.id == folder.parent && folder.parent != nil })
            #expect(cover == content.covers.first { $0.folder == folder.id })
            #expect(children == content.folders.filter { $0.parent == folder.id }.reversed())
        }
        // Conditions, an order and a limit on the records, and one of them alone.
        let some = try db.fetchAll(query.filter { $0.name == "f2" }.limit(2))
        #expect(some.map(\.0) == Array(content.folders.filter { $0.name == "f2" }.prefix(2)))
        #expect(some.map(\.1) == some.map { content.notes(of: $0.0) })
        let one = try #require(try db.fetchOne(query.filter { $0.id > 3 }))
        #expect(one.0.id == 4 && one.1 == content.notes(of: one.0))
        #expect(try db.fetchOne(query.filter { $0.id > 300 }) == nil && db.fetchAll(query.filter { $0.id > 300 }).isEmpty)
        #expect(try db.count(query) == 12 && db.exists(query))
        #expect(throws: DatabaseError.self) { try db.cursor(query).next() }
        #expect(throws: DatabaseError.self) { try db.fetchAll(query.selection.union(query)) }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func associationFilterOrderAndLimitApplyPerRecord(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        for (limit, offset) in [(3, 0), (2, 1), (0, 0), (.max, 2), (1, .max)] as [(Int, Int)] {
            let notes = Folder.notes.filter { $0.stars > 1 }.order { $0.stars.descending; $0.id }.limit(limit, offset: offset)
            let tags = Library.Note.tags.filter { $0.color > 0 }.order { $0.name }.limit(limit, offset: offset)
            func part<T>(_ list: [T]) -> [T] { Array(list.dropFirst(offset).prefix(limit)) }
            for (folder, found) in try db.fetchAll(Folder.order { $0.id }.including(notes)) {
                let expected = content.notes(of: folder).filter { $0.stars > 1 }.sorted { (-$0.stars, $0.id!) < (-$1.stars, $1.id!) }
                #expect(found == part(expected))
            }
            for (note, found) in try db.fetchAll(Library.Note.order { $0.id }.including(tags)) {
                let expected = bytes(content.tags(of: note).filter { $0.color > 0 })
                #expect(found.map { Array($0.name.utf8) } == part(expected))
            }
        }
        #expect(throws: DatabaseError.self) { try db.fetchAll(Folder.including(Folder.notes.limit(-1))) }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func nestedAssociationsMatchModel(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        let query = Folder.order { $0.id }.including(
            Folder.notes.including(Library.Note.tags, Library.Note.inside, Library.Note.comments.order { $0.id }.including(Library.Comment.note))
                .filter { $0.stars > 0 }.order { $0.id }.limit(4),
            Folder.up.including(Folder.notes.order { $0.id }))
        var rows: [(Folder, [(Library.Note, [Tag], Folder?, [(Library.Comment, Library.Note?)])], (Folder, [Library.Note])?)] = []
        #expect(try db.statements { rows = try db.fetchAll(query) }.count == 8)
        for (folder, notes, up) in rows {
            let expected = content.notes(of: folder).filter { $0.stars > 0 }.prefix(4)
            #expect(notes.map(\.0) == Array(expected))
            for (note, tags, inside, comments) in notes {
                #expect(bytes(tags) == bytes(content.tags(of: note)) && inside == folder)
                #expect(comments.map(\.0) == content.comments.filter { $0.note == note.id })
                #expect(comments.allSatisfy { $0.1 == note })
            }
            #expect(up?.0.id == folder.parent && up?.1 == up.map { content.notes(of: $0.0) })
        }
        // Through a table that the target refers to, and through one that refers to the target.
        for (folder, comments, tags) in try db.fetchAll(Folder.including(Folder.comments.order { $0.id }, Folder.tags)) {
            let ids = content.notes(of: folder).map(\.id)
            #expect(comments == content.comments.filter { ids.contains($0.note) })
            let names = content.notes(of: folder).compactMap { $0.mainTag.map { Array($0.utf8) } }
            #expect(bytes(tags) == bytes(content.tags.filter { names.contains(Array($0.name.utf8)) }))
        }
        for (tag, notes, mains) in try db.fetchAll(Tag.including(Tag.notes.order { $0.id }, Tag.mains.order { $0.id })) {
            #expect(notes == content.notes.filter { content.tags(of: $0).contains { Array($0.name.utf8) == Array(tag.name.utf8) } })
            #expect(mains == content.notes.filter { $0.mainTag.map { Array($0.utf8) } == Array(tag.name.utf8) })
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func annotatedAssociationValuesMatchModel(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        let query = Folder.order { $0.id }.annotated { folder in
            let notes = Folder.notes.of(folder).filter { $0.stars > 2 }
            return (notes.count, notes.select { $0.stars.max() }.scalarSubquery(), Folder.comments.of(folder).count)
        }
        var rows: [((Folder, Int, Int?, Int), [Folder])] = []
        let statements = try db.statements { rows = try db.fetchAll(query.including(Folder.children.order { $0.id })) }
        #expect(statements.count == 2)
        for ((folder, count, best, comments), children) in rows {
            let notes = content.notes(of: folder)
            #expect(count == notes.filter { $0.stars > 2 }.count && best == notes.map(\.stars).filter { $0 > 2 }.max())
            #expect(comments == content.comments.filter { comment in notes.contains { $0.id == comment.note } }.count)
            #expect(children == content.folders.filter { $0.parent == folder.id })
        }
        #expect(try db.fetchAll(query).map(\.0) == content.folders && db.count(query) == 12)
        #expect(try db.cursor(query).next()?.0 == content.folders[0])
        #expect(try db.fetchAll(query.filter { $0.id == 3 }).map(\.0.id) == [3])
        let (most, count) = try #require(try db.fetchOne(Folder.annotated { Folder.notes.of($0).count }.order { Folder.notes.of($0).count.descending }))
        #expect(count == content.folders.map { content.notes(of: $0).count }.max() && content.notes(of: most).count == count)
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func associationsWorkAsFilterConditions(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        let full = Folder.filter { Folder.notes.of($0).count > 3 }.order { $0.id }
        #expect(try db.fetchAll(full) == content.folders.filter { content.notes(of: $0).count > 3 })
        #expect(try db.fetchAll(Folder.filter { Folder.notes.of($0).limit(2).count == 2 }.order { $0.id })
            == content.folders.filter { content.notes(of: $0).count >= 2 })
        // Of the same table, with conditions inside and outside, and one within another.
        let named = Folder.children.filter { $0.name != "f1" }
        #expect(try db.fetchAll(Folder.filter { named.of($0).exists }.order { $0.id }) == content.folders.filter { folder in
            content.folders.contains { $0.parent == folder.id && $0.name != "f1" }
        })
        let grand = Folder.filter { folder in Folder.children.filter { $0.id > folder.id }.of(folder).filter { Folder.children.of($0).exists }.exists }
        #expect(try db.fetchAll(grand.order { $0.id }) == content.folders.filter { folder in
            content.folders.contains { child in
                child.parent == folder.id && child.id! > folder.id! && content.folders.contains { $0.parent == child.id }
            }
        })
        #expect(throws: DatabaseError.self) { try db.fetchAll(Folder.filter { named.limit(1).of($0).exists }) }
        #expect(try db.fetchAll(Folder.filter { Folder.children.limit(1).of($0).exists }).count == Set(content.folders.compactMap(\.parent)).count)
        for tag in content.tags {
            let notes = content.notes.filter { content.tags(of: $0).contains { Array($0.name.utf8) == Array(tag.name.utf8) } }
            #expect(try db.fetchAll(Tag.notes.of(tag).order { $0.id }) == notes)
            #expect(try db.count(Tag.notes.of(tag).filter { $0.stars > 2 }) == notes.filter { $0.stars > 2 }.count)
        }
        for note in content.notes {
            #expect(try db.fetchOne(Library.Note.inside.of(note)) == content.folders.first { $0.id == note.folder && note.folder != nil })
        }
        let counted = try db.fetchAll(Library.Note.order { $0.id }.annotated { Library.Note.tags.of($0).count })
        #expect(counted.map(\.1) == content.notes.map { content.tags(of: $0).count })
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func positionalRecordsFetchAssociations(seed: UInt64) throws {
        let (database, content) = try made(seed)
        let db = database.db
        let query = Library.QuickFolder.order { $0.id }.including(
            Library.QuickFolder.notes.order { $0.id.descending }.limit(3).including(Library.QuickNote.folderOf))
        var rows: [(Library.QuickFolder, [(Library.QuickNote, Library.QuickFolder?)])] = []
        #expect(try db.statements { rows = try db.fetchAll(query) }.count == 3)
        for (row, folder) in zip(rows, content.folders) {
            #expect(row.0.id == folder.id && row.0.label == folder.name)
            #expect(row.1.map(\.0.id) == content.notes(of: folder).reversed().prefix(3).map(\.id))
            #expect(row.1.allSatisfy { $0.1 == row.0 })
            #expect(try db.count(Library.QuickFolder.notes.of(row.0)) == content.notes(of: folder).count)
        }
        let counts = try db.fetchAll(Library.QuickFolder.order { $0.id }.annotated { Library.QuickFolder.notes.of($0).count })
        #expect(counts.map(\.1) == content.folders.map { content.notes(of: $0).count })
    }
}
