// What @Record writes for the record of ExpansionTests, which compares it. RecordMacroTests compiles it as a program would.

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

    public static let columnProfiles: [String: ValueProfile] = [columnNaming("added"): ValueProfile(dates: .integerSeconds), columnNaming("key"): .sap]

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
