import Foundation
import SQLCipherKit
import Testing

@Record
struct Label {
    @PrimaryKey var id: Int64?
    @Column(unique: true, collate: "NOCASE") var name: String
}

@Record(
    "record",
    indexes: [SQLIndex("record_year", on: ["year"])])
struct LongPlay {
    @PrimaryKey(autoincrement: true) var id: Int64?
    var title: String
    @Column("label_id") @References(Label.self, onDelete: .cascade)
    var label: Int64?
    var year: Int?
    @Column(default: 10, check: "tracks > 0")
    @ColumnDefault var tracks: Int?
    @Stored(dates: .integerSeconds) var added: Date
    var tags: [String] = []
    @Generated(as: "upper(title)") var shout: String?
    @Ignored var isPlaying = false
}

/// The examples of the article "Records by a macro", in its order.
@Suite struct ArticleTests {
    @Test func recordMacroArticleCodeWorks() throws {
        let db = try Connection(.memory)
        try db.create(Label.table)
        try db.create(LongPlay.table)
        var prestige = Label(name: "Prestige")
        try db.insert(&prestige)
        var play = LongPlay(title: "Relaxin'", label: prestige.id, added: .now)
        try db.insert(&play)
        print(play.tracks ?? 0, play.shout ?? "")       // 10 RELAXIN'
        let plays = try db.fetchAll(LongPlay.filter { $0.label == prestige.id })
        #expect(plays.map(\.title) == ["Relaxin'"])
        #expect(play.tracks == 10 && play.shout == "RELAXIN'")
        #expect(try catalogue(db) == ["Prestige: Relaxin'"])
    }
}

extension Label {
    static let plays = hasMany(LongPlay.self)
}

extension ArticleTests {
    private func catalogue(_ db: Connection) throws -> [String] {
        let catalogue = Label.order { $0.name }
            .including(Label.plays.order { $0.title })
        for (label, plays) in try db.fetchAll(catalogue) {
            print(label.name, plays.map(\.title))
        }
        return try db.fetchAll(catalogue).map { label, plays in "\(label.name): \(plays.map(\.title).joined())" }
    }
}
