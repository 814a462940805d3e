import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

struct Artist: SQLRecord {
    var id: Int64?
    var name: String
    var country: String?
}

extension Artist {
    static let table = SQLTable(of: Artist.self) {
        $0.id.primaryKey()
        $0.name.unique().collate("NOCASE")
        $0.country
    }
}

struct Album: SQLRecord {
    var id: Int64?
    var title: String
    var artist: Int64?
    var year: Int?
    @ColumnDefault var tracks: Int?

    static let table = SQLTable(of: Album.self) {
        $0.id.primaryKey()
        $0.title
        $0.artist.references(Artist.self, onDelete: .cascade)
        $0.year
        $0.tracks.named("tracks").default(10).check("tracks > 0")
        SQLIndex(
            "album_artist",
            on: [
                .column($0.artist),
                .column($0.year, isDescending: true),
            ])
    }
}

struct Concert: SQLRecord {
    static let columnNaming = ColumnNaming.snakeCase
    var id: Int64?
    var artistID: Int64
    var playedAt: Date
}

/// The examples of the article "Records", in its order.
@Suite struct RecordsArticleTests {
    /// The rows that the article has written before it asks.
    private func written() throws -> (db: Connection, monk: Artist) {
        let db = try Connection(.memory, key: .passphrase("secret").quick)
        try db.create(Artist.table)
        try db.create(Album.table)

        var monk = Artist(name: "Monk", country: "US")
        try db.insert(&monk)            // monk.id is 1
        var albums = [
            Album(title: "Misterioso", artist: monk.id, year: 1958),
            Album(title: "Underground", artist: monk.id, year: 1968, tracks: 7),
        ]
        try db.insertAll(&albums)       // both or none
        print(albums[0].tracks ?? 0)    // 10

        let before = albums[0]
        albums[0].tracks = 6
        // UPDATE "album" SET "tracks" = ? WHERE "id" = ?
        try db.updateChanges(albums[0], from: before)
        try db.updateChanges(&albums[0]) { $0.year = 1958 }
        try db.update(albums[0], columns: \.title, \.year)
        try db.upsert(&monk, onConflict: ["name"])
        let same = try db.findOrInsert(monk, on: \.name)
        try db.refresh(&albums[0])
        #expect(same.id == 1)
        #expect(try db.sql(of: Concert.filter { $0.artistID == 1 }).text.contains("artist_id"))
        let byName = SQLUpsert<Artist>(on: \.name)
            .updating(\.country)
            .where { artist, new in artist.country == nil }
        let isWritten = try db.upsert(&monk, byName)
        #expect(!isWritten)
        #expect(monk.id == 1 && albums.map(\.id) == [1, 2] && albums[0].tracks == 6 && albums[1].tracks == 7)
        return (db, monk)
    }

    struct Meta: Codable, Sendable { var city: String }
    struct Place: SQLRecord {
        var id: Int64?
        var meta: JSONColumn<Meta>
        var tags: [String]
    }

    @Test func recordsArticleJSONCodeWorks() throws {
        let db = try Connection(.memory, key: .passphrase("secret").quick)
        try db.execute("CREATE TABLE place(id INTEGER PRIMARY KEY, meta BLOB, tags TEXT)")
        let meta = JSONColumn(Meta(city: "Roma"))
        try db.insert(Place(meta: meta, tags: ["food"]))
        let romans = try db.fetchAll(Place.filter {
            $0.meta.json("city", as: String.self) == "Roma"
        })
        try db.updateAll(Place.all) { _, set in
            set(\.tags, to: ["food", "river"])
        }
        #expect(try romans.map(\.tags) == [["food"]] && db.fetchAll(Place.all).map(\.tags) == [["food", "river"]])
    }

    @Test func recordsArticleQueryCodeWorks() throws {
        let (db, _) = try written()
        let query = Album
            .filter { $0.year > 1950 && $0.title.like(.hasPrefix("M")) }
            .order { $0.year.descending; $0.title }
            .limit(10)
        let found = try db.fetchAll(query)
        let first = try db.fetchOne(Album.self, id: 1)
        let fifties = try db.count(
            Album.filter { $0.year.between(1950, and: 1959) })
        let hasItalians = try db.exists(Artist.filter { $0.country == "IT" })
        #expect(found.map(\.title) == ["Misterioso"] && first?.tracks == 6 && fifties == 1 && !hasItalians)
        #expect(try db.sql(of: query).text == """
            SELECT "album"."id", "album"."title", "album"."artist", "album"."year", "album"."tracks" FROM "album" \
            WHERE "album"."year" > ? AND "album"."title" LIKE ? ESCAPE '\\' \
            ORDER BY "album"."year" DESC, "album"."title" LIMIT ?
            """)

        let long = Album.filter {
            ($0.tracks ?? 0) * 2 + 1 > 20 && $0.year.in(1950..<1970)
        }
        let labels = try db.fetchAll(Album.order { $0.id }.select { album in
            SQLCase(when: album.year < 1960, then: "early: ")
                .otherwise("late: ") + album.title.uppercased()
        })
        #expect(try db.count(long) == 0 && labels == ["early: MISTERIOSO", "late: UNDERGROUND"])

        let even = Album.filter {
            SQLPredicate("\($0.tracks) | 1 = \(7)") && $0.year != nil
        }
        #expect(try db.count(even) == 2)

        let others = Album.filter { !($0.year == 1958) && $0.title != "Solo" }
        let unknown = Album.filter { !$0.year.in([1958, 1968]) }    // nil too
        let page = Album.filter { SQLRowValue($0.year, $0.id) > (1958, 1) }
            .order { $0.year; $0.id }.limit(20)
        #expect(try db.count(others) == 1 && db.count(unknown) == 0 && db.fetchAll(page).map(\.title) == ["Underground"])

        let pairs = Artist.leftJoin(Album.self).order { $0.name; $1.year }
        for (artist, album) in try db.fetchAll(pairs) {
            print(artist.name, album?.title ?? "nothing yet")
        }
        let early = Artist.join(Album.self) { artist, album in
            artist.id == album.artist && album.year < 1960
        }
        #expect(try db.count(early) == 1)
    }
}

extension Artist {
    static let albums = hasMany(Album.self)
}

extension RecordsArticleTests {
    @Test func recordsArticleAssociationCodeWorks() throws {
        let (db, _) = try written()
        let shelf = Artist.order { $0.name }
            .including(Artist.albums.order { $0.year }.limit(3))
        for (artist, albums) in try db.fetchAll(shelf) {
            print(artist.name, albums.map(\.title))
        }
        let sizes = try db.fetchAll(
            Artist.annotated { Artist.albums.of($0).count })
        #expect(sizes.map(\.1) == [2])

        let titles = try db.fetchAll(
            Album.order { $0.title }.select { $0.title })
        let perArtist = try db.fetchAll(
            Artist.join(Album.self)
                .group { artist, _ in artist.id }
                .having { $1.tracks.total() > 10 && $0.country != nil }
                .select { ($0.name, .countAll, $1.year.max()) })
        let busy = try db.fetchAll(Artist.filter { artist in
            Album.filter { $0.artist == artist.id }.exists
        })
        #expect(titles == ["Misterioso", "Underground"] && busy.map(\.name) == ["Monk"])
        #expect(perArtist.map(\.0) == ["Monk"] && perArtist.map(\.1) == [2] && perArtist.map(\.2) == [1968])

        let places = try db.fetchAll(Album.all.select { album in
            let window = SQLWindow(
                partition: album.artist, order: album.year.ascending)
            return (
                album.title, .rowNumber().over(window),
                album.tracks.sum().over(window)
            )
        })
        let counts = try db.fetchAll(Artist.all.select { artist in
            let albums = Album.filter { $0.artist == artist.id }
            return (
                artist.name,
                albums.select { _ in .countAll }.scalarSubquery(),
                albums.select { $0.title.groupConcat(separator: ", ") }
                    .scalarSubquery()
            )
        })
        #expect(places.map(\.1) == [1, 2] && places.map(\.2) == [6, 13] && counts.map(\.1) == [2])
    }

    @Test func recordsArticleSQLRowCodeWorks() throws {
        let (db, _) = try written()
        let late = try db.fetchAll(Album.self, """
            SELECT * FROM album WHERE year > \(1960) ORDER BY year
            """)
        struct Line: Decodable {
            var title: String
            var age: Int
        }
        let lines = try db.fetchAll(Line.self, """
            SELECT title, 2000 - year AS age FROM album ORDER BY age
            """)
        struct Credit: Decodable {
            var album: Album
            var artist: Artist?
        }
        let credits = try db.fetchAll(Credit.self, """
            SELECT \(columns: Album.self, of: "b", as: "album"),
                \(columns: Artist.self, of: "a", as: "artist")
            FROM album AS b LEFT JOIN artist AS a ON a.id = b.artist
            """)
        #expect(late.map(\.title) == ["Underground"] && lines.map(\.age) == [32, 42])
        #expect(credits.map(\.artist?.name) == ["Monk", "Monk"] && credits.map(\.album.title) == ["Misterioso", "Underground"])
    }

    @Test func recordsArticleSubqueryCodeWorks() throws {
        let (db, artist) = try written()
        var monk = artist
        struct Folder: SQLRecord {
            var id: Int64?
            var parent: Int64?
            var name: String
        }
        try db.execute("""
            CREATE TABLE folder(
                id INTEGER PRIMARY KEY, parent INTEGER, name TEXT)
            """)
        try db.insertAll([Folder(name: "Music"), Folder(parent: 1, name: "Jazz"), Folder(parent: 2, name: "Bop"), Folder(name: "Maps")])
        let inside = Folder.filter { $0.name == "Music" }
            .recursive { folder, found in folder.parent == found.id }
        let folders = try db.fetchAll(inside.order { $0.name })
        let newest = Album.order { $0.year.descending }.limit(10)
            .subquery.filter { $0.tracks > 5 }
        let names = Album.all.select { $0.title }
            .union(Artist.all.select { $0.name }).order(byColumn: 1)
        #expect(try folders.map(\.name) == ["Bop", "Jazz", "Music"] && db.count(newest) == 2)
        #expect(try db.fetchAll(names) == ["Misterioso", "Monk", "Underground"])
        struct Total: SQLRecord {
            var artist: Int64
            var tracks: Int
        }
        let totals = Album.filter { $0.artist != nil }
            .group { $0.artist }
            .select { ($0.artist, $0.tracks.sum() ?? 0) }
        let busiest = Artist.with(Total.self, as: totals)
            .join(Total.self) { $0.id == $1.artist && $1.tracks > 12 }
        struct Level: SQLRecord {
            var folder: Int64?
            var depth: Int
        }
        let levels = Folder.filter { $0.parent == nil }
            .select { ($0.id, SQLExpression<Int>("0")) }
            .unionAll(Folder.join(Level.self) { $0.parent == $1.folder }
                .select { ($0.id, $1.depth + 1) })
        let deep = Level.with(Level.self, as: levels)
            .filter { $0.depth > 1 }
        #expect(try db.fetchAll(busiest).map(\.1.tracks) == [13] && db.fetchAll(deep).map(\.folder) == [3])

        try db.updateAll(Album.filter { $0.artist == monk.id }) { album, set in
            set(\.tracks, to: SQLExpression("\(album.tracks) + 1"))
        }
        try db.deleteAll(Album.filter { $0.year < 1900 })
        #expect(try db.fetchAll(Album.order { $0.id }.select { $0.tracks }) == [7, 8])
        let changed = try db.updateAll(
            Album.filter { $0.year > 1960 }, returning: { $0.title }
        ) { _, set in set(\.tracks, to: 9) }
        #expect(changed == ["Underground"])

        try db.attach(.memory, as: "archive", key: .plaintext)
        let archive = try db.schema("archive")
        try archive.create(Artist.table)
        try db.insert(&monk, in: archive)
        let archived = try db.fetchAll(Artist.in(archive).order { $0.name })
        #expect(archived.map(\.name) == ["Monk"])
    }

    struct Sleeve: SQLPositionalRecord {
        var id: Int64?
        var front: String

        static let recordColumns = SQLRecordColumns(
            of: Sleeve.self, ["id": \.id, "front_side": \.front])
        static let table = SQLTable(of: Sleeve.self) {
            $0.id.primaryKey()
            $0.front
        }

        init(columns: inout SQLColumnReader) throws {
            id = try columns.next()
            front = try columns.next()
        }

        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(front)
        }
    }

    @Test func recordsArticleHandwrittenTableWorks() throws {
        let db = try Connection(.memory)
        try db.create(Sleeve.table)
        try db.execute("INSERT INTO sleeve(front_side) VALUES ('a')")
        #expect(try db.fetchOne(Sleeve.filter { $0.front == "a" })?.id == 1)
    }

    @Test func recordsArticleCallbackCodeWorks() throws {
        let (db, artist) = try written()
        try db.execute("""
            CREATE TRIGGER album_alone BEFORE INSERT ON album
            WHEN new.artist IS NULL BEGIN
                SELECT RAISE(ABORT, 'an album needs an artist');
            END
            """)
        var written: [Int64] = []
        let token = try db.addUpdateHook { change in
            if change.table == "album" { written.append(change.rowID) }
        }
        defer { token.remove() }
        try db.insert(Album(title: "Solo", artist: artist.id))
        let error = #expect(throws: DatabaseError.self) { try db.insert(Album(title: "x")) }
        #expect(error?.message.contains("an album needs an artist") == true)
        #expect(try written == [3] && db.count(Album.all) == 3)
    }

    /// The calls of the table for those that know other packages.
    @Test func recordsArticlePeerCallTableWorks() async throws {
        let (db, artist) = try written()
        var monk = artist
        try db.save(&monk)
        let byName = SQLUpsert<Artist>(on: \.name)
        try db.upsert(&monk, byName)
        let query = Album.order { $0.year.descending }
        #expect(try db.fetchAll(Album.self, ids: [2, 1]).map(\.id) == [2, 1] && db.count(query) == 2)
        #expect(try db.fetchAll(Album.filter { $0.year > 1950 }).count == 2 && db.fetchAll(Album.select { $0.title }).count == 2)
        #expect(try db.fetchAll(Artist.including(Artist.albums)).map(\.1.count) == [2])
        #expect(try db.fetchAll(Artist.albums.of(monk)).count == 2)
        let early = Album.filter { $0.year < 1960 }
        #expect(try db.deleteAll(early, returning: Album.self).map(\.title) == ["Misterioso"])

        let files = try TemporaryFolder()
        let pool = try DatabasePool(.file(files.path("a.db")), key: .passphrase("secret").quick)
        try await pool.write { db in
            try db.create(Artist.table)
            try db.create(Album.table)
        }
        let observation = pool.observe { db in try db.fetchAll(Album.all) }
        var elements = observation.makeAsyncIterator()
        #expect(try await elements.next()?.isEmpty == true)

        // All of them stand above.
        func packed(_ text: some StringProtocol) -> String { String(text).filter { !$0.isWhitespace } }
        func text(_ file: String) throws -> String { try String(contentsOf: Repository.file(file), encoding: .utf8) }
        let source = packed(try text("Tests/SQLCipherKitRecordsTests/Records/RecordsArticleTests.swift"))
        let article = try text("Sources/SQLCipherKit/Documentation.docc/BesideGRDB.md")
        let rows = article.split(separator: "\n").drop { !$0.hasPrefix("| to |") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
        #expect(rows.count == 19)
        for row in rows {
            let cell = try #require(row.split(separator: "|").last { !packed($0).isEmpty })
            for call in cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter({ $0.offset % 2 == 1 }).map(\.element)
            where call != "@Record" {
                #expect(source.contains(packed(call)), "\(call)")
            }
        }
    }
}
