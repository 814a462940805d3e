import Foundation
import Testing

/// The macro writes the code that a person would write by hand.
@Suite struct ExpansionTests {
    /// A conformance that is written out is not repeated.
    @Test(arguments: ["SQLRecord": ": SQLPositionalRecord", "SQLPositionalRecord": ": SQLRecord"])
    func declaredConformanceIsNotRepeated(_ written: String, _ added: String) {
        let expansion = Expansion("@Record struct Album: \(written) { var id: Int64? }")
        #expect(expansion.problems.isEmpty)
        #expect(expansion.text.contains("\nextension Album\(added) {"))
    }

    /// `Written.swift` is compiled by the tests of the package: all names in it must be there for others.
    @Test func fullRecordExpandsToWrittenSource() throws {
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
                public static let columnNaming = ColumnNaming.snakeCase
            }
            """#.replacing(", other: String", with: ""))
        #expect(expansion.problems.isEmpty)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Written.swift")
        let written = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        let wanted = written[(written.firstRange(of: "extension")?.lowerBound ?? written.endIndex)...]
        #expect(wanted.count > 1_000 && expansion.text.hasSuffix(wanted), "\(expansion.text)")
    }

    @Test func plainRecordExpandsWithoutOptionalMembers() {
        let expansion = Expansion("@Record struct Note { var id: Int64?\n var title = \"\" { didSet {} } }")
        #expect(expansion.problems.isEmpty)
        #expect(!expansion.text.contains("CodingKeys") && !expansion.text.contains("tableName") && !expansion.text.contains("columnProfiles"))
    }

    @Test func declaredCodingKeysAreKept() {
        let expansion = Expansion("@Record struct A { @Column(\"x\") var a: Int\n enum CodingKeys: CodingKey { case a } }")
        #expect(!expansion.text.contains("enum CodingKeys: String"))
    }
}
