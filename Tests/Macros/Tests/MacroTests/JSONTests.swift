import SQLCipherKit
import Testing

struct Hours: Codable, Equatable, Sendable {
    var open: Int
    var days: [String]
}

@Record
struct Venue: Equatable {
    @PrimaryKey var id: Int64?
    /// JSON text.
    var hours: Hours
    var later: Hours?
    /// JSONB.
    @Column("extra_hours") var extra: JSONColumn<Hours>
    var notes: [String: String] = [:]
}

/// Properties that are no single values.
@Suite struct JSONTests {
    @Test func compositePropertiesAreStoredAsJSON() throws {
        let db = try Connection(.memory)
        try db.create(Venue.table)
        let hours = Hours(open: 9, days: ["Mo", "D'i\""]), extra = Hours(open: 20, days: [])
        var venue = Venue(hours: hours, extra: JSONColumn(extra), notes: ["a": "é"])
        try db.insert(&venue)
        #expect(try db.fetchOne(Venue.self, id: 1) == venue && venue.later == nil)
        let stored = try db.fetchOne(
            (String, String, String, Int).self,
            "SELECT typeof(hours), typeof(extra_hours), json(extra_hours), hours ->> '$.open' FROM venue")
        #expect(stored?.0 == "text" && stored?.1 == "blob" && stored?.2 == #"{"open":20,"days":[]}"# && stored?.3 == 9)

        let before = venue
        venue.later = extra
        venue.extra.value.open = 21
        #expect(try db.updateChanges(venue, from: before).sorted() == ["extra_hours", "later"])
        #expect(try db.fetchAll(Venue.filter { $0.hours == hours && $0.later == extra }) == [venue])
        #expect(try db.fetchAll(Venue.filter { $0.extra == JSONColumn(Hours(open: 21, days: [])) }) == [venue])
        #expect(try db.fetchAll(Venue.filter { $0.extra.json(\.open) == 21 && $0.hours.json(\.open) < 10 }) == [venue])
        #expect(try db.fetchAll(Venue.filter { $0.extra == JSONColumn(extra) }).isEmpty)
        try db.updateAll(Venue.all) { _, set in set(\.hours, to: extra); set(\.extra, to: JSONColumn(hours)) }
        let changed = try db.fetchOne(Venue.self, id: 1)
        #expect(changed?.hours == extra && changed?.extra.value == hours && changed?.notes == ["a": "é"])
    }
}
