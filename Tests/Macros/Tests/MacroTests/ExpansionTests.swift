import Testing

/// What the macro writes is what one would write by hand.
@Suite struct ExpansionTests {
    /// A conformance that is written out is not repeated.
    @Test(arguments: ["SQLRecord": ": SQLPositionalRecord", "SQLPositionalRecord": ": SQLRecord"])
    func declaredConformance(_ written: String, _ added: String) {
        let expansion = Expansion("@Record struct Album: \(written) { var id: Int64? }")
        #expect(expansion.problems.isEmpty)
        #expect(expansion.text.contains("\nextension Album\(added) {"))
    }

    @Test func allThatCanBeSaid() {
        let expansion = Expansion(#"""
            @Record("album", options: [.strict], constraints: [.unique("title", "artist_id")], indexes: [SQLIndex("by_year", on: ["year"])])
            public struct Album {
                @PrimaryKey(autoincrement: true) var id: Int64?
                @Column("artist_id") @References(Artist.self, onDelete: .cascade) var artist: Int64?
                @Column(notNull: true, unique: true, collate: "NOCASE") var title: String?, other: String
                @Column(default: 10, check: "tracks > 0") @ColumnDefault var tracks: Int?
                @Stored(dates: .integerSeconds) var added: Date
                @Stored(.sap) let key: UUID
                @Generated(as: "upper(title)", .stored) var shown: String?
                var year, `default`: Int
                @Ignored var cache = 0
            }
            """#.replacing(", other: String", with: ""))
        #expect(expansion.problems.isEmpty)
        #expect(expansion.text.hasSuffix(#"""

            extension Album: SQLPositionalRecord, SQLRecord {
                public static let tableName = "album"

                public static let recordColumns = SQLRecordColumns(
                    of: Album.self,
                    [
                        "id": \.id,
                        "artist_id": \.artist,
                        "title": \.title,
                        "tracks": \.tracks,
                        "added": \.added,
                        "key": \.key,
                        "shown": \.shown,
                        "year": \.year,
                        "default": \.`default`,
                    ])

                public static let table = SQLTable(of: Album.self, options: [.strict]) {
                    $0.id.primaryKey(autoincrement: true)
                    $0.artist.references(Artist.self, onDelete: .cascade)
                    $0.title.notNull().unique().collate("NOCASE")
                    $0.tracks.default(10).check("tracks > 0")
                    $0.added
                    $0.key
                    $0.shown.generated(as: "upper(title)", .stored)
                    $0.year
                    $0.`default`
                    SQLConstraint.unique("title", "artist_id")
                    SQLIndex("by_year", on: ["year"])
                }

                public static let columnProfiles: [String: ValueProfile] = ["added": ValueProfile(dates: .integerSeconds), "key": .sap]

                enum CodingKeys: String, CodingKey {
                    case id
                    case artist = "artist_id"
                    case title
                    case tracks
                    case added
                    case key
                    case shown
                    case year
                    case `default`
                }

                public init(columns: inout SQLColumnReader) throws {
                    self.id = try columns.next()
                    self.artist = try columns.next()
                    self.title = try columns.next()
                    _tracks = try columns.next()
                    self.added = try columns.next()
                    self.key = try columns.next()
                    self.shown = try columns.next()
                    self.year = try columns.next()
                    self.`default` = try columns.next()
                }

                public func write(to columns: inout SQLColumnWriter) throws {
                    try columns.put(self.id)
                    try columns.put(self.artist)
                    try columns.put(self.title)
                    try columns.put($tracks)
                    try columns.put(self.added)
                    try columns.put(self.key)
                    try columns.put(self.shown)
                    try columns.put(self.year)
                    try columns.put(self.`default`)
                }
            }
            """#), "\(expansion.text)")
    }

    @Test func aPlainStructNeedsNothing() {
        let expansion = Expansion("@Record struct Note { var id: Int64?\n var title = \"\" { didSet {} } }")
        #expect(expansion.problems.isEmpty)
        #expect(!expansion.text.contains("CodingKeys") && !expansion.text.contains("tableName") && !expansion.text.contains("columnProfiles"))
    }

    @Test func ownCodingKeysStay() {
        let expansion = Expansion("@Record struct A { @Column(\"x\") var a: Int\n enum CodingKeys: CodingKey { case a } }")
        #expect(!expansion.text.contains("enum CodingKeys: String"))
    }
}
