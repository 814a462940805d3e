import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitRecords
import SQLCipherKitSearch
import Testing
import TestSupport

/// A report's statements about columns, and the effect of converting them.
@Suite struct ValueReportTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    private func column(_ declaration: String, _ values: String) throws -> Schema.ValueReport.Column {
        try db.execute("DROP TABLE IF EXISTS t")
        try db.execute(SQL(raw: "CREATE TABLE t(\(declaration))"))
        try db.execute(SQL(raw: "INSERT INTO t VALUES \(values)"))
        return try #require(try db.main.valueReport().columns.first)
    }

    @Test func valueReportDetectsColumnContent() throws {
        typealias Content = Schema.ValueReport.Content
        let cases: [(String, String, Content, [Schema.ValueReport.Form], Bool)] = [
            ("created TEXT", "('2026-11-21T08:30:00.250Z'), (NULL)", .dates, [.date(.iso8601)], false),
            ("x", "('2026-11-21 08:30:00')", .dates, [.date(.text(.currentTimestamp))], false),
            ("x", "('2026-11-21T08:30:00+00:00')", .dates, [.date(.text(DateTextFormat(fraction: .none, zone: .offset)))], false),
            ("day", "('2026-11-21')", .dates, [.otherDate], false),
            ("x", "('2026-11-21'), ('2026-11-21 08:30:00')", .dates, [.otherDate, .date(.text(.currentTimestamp))], true),
            ("createdAt INTEGER", "(1795249800)", .dates, [.date(.integerSeconds)], false),
            ("created REAL", "(1795249800.25)", .dates, [.date(.realSeconds)], false),
            ("x", "('2026-11-21T08:30:00Z'), (1795249800)", .dates, [.date(.integerSeconds), .date(.text(.iso8601Seconds))], true),
            ("created INTEGER", "(1795249800250)", .dates, [.date(.milliseconds)], false),
            ("created REAL", "(816942600.25)", .dates, [.date(.secondsSince2001)], false),
            ("created", "(2461365.8541667)", .dates, [.date(.julianDays)], false),
            ("size INTEGER", "(1795249800250)", .numbers, [.integer], false),
            ("x", "('{\"$date\":{\"$numberLong\":\"1795249800250\"}}')", .dates, [.extendedJSONDate], false),
            ("bytes_written INTEGER", "(1795249800)", .numbers, [.integer], false),
            ("id TEXT", "('0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0')", .uuids, [.uuid(.uppercaseText)], false),
            ("id TEXT", "('0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0')", .uuids, [.uuid(.lowercaseText)], false),
            ("id BLOB", "(x'0F1E2D3C4B5A69788796A5B4C3D2E1F0')", .uuids, [.uuid(.blob)], false),
            ("salt BLOB", "(x'0F1E2D3C4B5A69788796A5B4C3D2E1F0')", .bytes, [.blob], false),
            ("author UNIQUE REFERENCES t(author)", "(x'0F1E2D3C4B5A69788796A5B4C3D2E1F0')", .uuids, [.uuid(.blob)], false),
            ("x", "(x'0F1E2D3C4B5A69788796A5B4C3D2E1F0'), ('0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F1')", .uuids,
                [.uuid(.blob), .uuid(.uppercaseText)], true),
            ("done", "(0), (1), (1)", .booleans, [.integer], false),
            ("done BOOLEAN", "(0), (1), ('true')", .booleans, [.integer, .booleanText], true),
            ("price NUMERIC", "(1), (2.5)", .numbers, [.integer, .real], false),
            ("price", "('12.50')", .numbers, [.numericText], false),
            ("price", "('12.50'), (3), (4)", .numbers, [.integer, .numericText], true),
            ("zip TEXT", "('12345')", .text, [.text], false),
            ("title TEXT", "('2026-11-21'), ('a'), ('b')", .text, [.text], false),
            ("x", "(1), ('a'), (x'00')", .anything, [.blob, .integer, .text], true),
            ("x", "(NULL)", .nothing, [], false),
        ]
        for (declaration, values, content, forms, isMixed) in cases {
            let found = try column(declaration, values)
            #expect(found.content == content, "\(declaration) \(values): \(found)")
            #expect(Set(found.forms.map(\.form)) == Set(forms), "\(declaration) \(values): \(found)")
            #expect(found.isMixed == isMixed, "\(declaration) \(values)")
        }
    }

    @Test func valueReportSamplesReachTheLastRows() throws {
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, created)")
        try db.execute("""
            WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 1000)
            INSERT INTO t SELECT n, iif(n < 999, 1795249800 + n, '2026-11-21 08:30:00') FROM c
            """)
        let report = try db.main.valueReport(sampling: 10)
        #expect(report["T", "CREATED"]?.forms.reduce(0) { $0 + $1.count } == 10)
        #expect(report.mixedColumns.map(\.name) == ["created"])
        #expect(try db.main.valueReport(sampling: nil)["t", "created"]?.forms.map(\.count) == [998, 2])
        #expect(throws: DatabaseError.self) { try db.main.valueReport(sampling: 0) }
        // Tables without row ids, odd names, text that is no text, and what is no table of the user's.
        try db.execute("CREATE TABLE \"odd \"\" name\"(\"a \"\" b\" PRIMARY KEY) WITHOUT ROWID")
        try db.execute("INSERT INTO \"odd \"\" name\" VALUES (CAST(x'ff' AS TEXT)), ('é')")
        try db.execute("CREATE VIEW v AS SELECT * FROM t")
        try db.create(FTS5Table("f", columns: ["a"]))
        try KeyValueStore("s", in: db).set("a", to: 1)
        #expect(try Set(db.main.valueReport(sampling: 1).columns.map(\.table)) == ["t", "odd \" name"])
    }

    @Test func convertValuesIsOneTransaction() throws {
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try db.execute("""
            INSERT INTO t(x) VALUES ('2026-11-21 08:30:00'), (1795249801), ('2026-11-21T08:30:02.5Z'), (NULL), (1795249803.25)
            """)
        func values() throws -> [SQLValue] { try db.fetchAll("SELECT x FROM t ORDER BY id") }
        let before = try values()
        // A fraction that the form has no room for is kept.
        #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "x", in: "t", to: .dates(.integerSeconds, numbers: .realSeconds)) }
        #expect(try values() == before)
        // Numbers are not guessed.
        let asked = #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "x", in: "t", to: .dates(.iso8601)) }
        #expect(asked?.message.contains("numbers:") == true)
        #expect(try values() == before)
        #expect(try db.main.convertValues(of: "X", in: "T", to: .dates(.iso8601, numbers: .realSeconds)) == 4)
        #expect(try values() == [
            "2026-11-21T08:30:00.000Z", "2026-11-21T08:30:01.000Z", "2026-11-21T08:30:02.500Z", nil, "2026-11-21T08:30:03.250Z",
        ])
        #expect(try db.main.convertValues(of: "x", in: "t", to: .dates(.iso8601)) == 0)
        #expect(try db.main.convertValues(of: "x", in: "t", to: .dates(.integerSeconds), allowingRounding: true) == 4)
        #expect(try values() == [1_795_249_800, 1_795_249_801, 1_795_249_802, nil, 1_795_249_803])
        // One value that is none of the kind.
        try db.execute("INSERT INTO t(x) VALUES ('tomorrow')")
        let error = #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "x", in: "t", to: .dates(.iso8601)) }
        #expect(error?.reason == .invalidArgument && error?.message.contains("tomorrow") == false)
        let known = #expect(throws: DatabaseError.self) {
            try db.main.convertValues(of: "x", in: "t", to: .dates(.iso8601, numbers: .integerSeconds))
        }
        #expect(known?.reason == .invalidArgument && known?.message.contains("1 values") == true)
        #expect(try values().first == 1_795_249_800)
        for (column, table) in [("y", "t"), ("x", "u")] {
            #expect(throws: DatabaseError.self) { try db.main.convertValues(of: column, in: table, to: .booleans) }
        }
        // Nothing is left behind.
        #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT sqlcipherkit_converted(1)") }
    }

    /// Values that become equal delete no row and are not left as they were, whatever the constraint says.
    @Test(arguments: ["REPLACE", "IGNORE"]) func convertValuesThatCollideThrow(clause: String) throws {
        try db.execute(SQL(raw: "CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE ON CONFLICT \(clause))"))
        try db.execute("INSERT INTO t(x) VALUES ('2026-11-21 08:30:00'), ('2026-11-21T08:30:00Z')")
        let error = #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "x", in: "t", to: .dates(.integerSeconds)) }
        #expect(error?.code == .constraintUnique)
        #expect(try db.fetchAll(String.self, "SELECT x FROM t ORDER BY id") == ["2026-11-21 08:30:00", "2026-11-21T08:30:00Z"])
    }

    @Test func convertValuesHandlesUUIDsBooleansAndDecimals() throws {
        try db.execute("CREATE TABLE t(id TEXT COLLATE NOCASE PRIMARY KEY, done, price NUMERIC, note TEXT)")
        try db.execute("""
            INSERT INTO t VALUES ('0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0', 'true', '12.50', '2026-11-21'), (NULL, 0, 3, NULL)
            """)
        #expect(try db.main.convertValues(of: "id", in: "t", to: .uuids(.lowercaseText)) == 1)
        #expect(try db.fetchOne(String.self, "SELECT max(id) FROM t") == "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")
        #expect(try db.main.convertValues(of: "done", in: "t", to: .booleans) == 1)
        #expect(try db.fetchAll(Int.self, "SELECT done FROM t") == [1, 0])
        try db.execute("UPDATE t SET done = iif(id IS NULL, 0.0, 1.0)")
        #expect(try db.main.convertValues(of: "done", in: "t", to: .booleans) == 2)
        #expect(try db.fetchAll(SQLValue.self, "SELECT done FROM t") == [1, 0])
        // A conversion that the declared type would undo is refused, and not half done.
        for (column, conversion) in [("price", Schema.ValueConversion.decimals(.text)), ("note", .dates(.integerSeconds))] {
            let error = #expect(throws: DatabaseError.self) { try db.main.convertValues(of: column, in: "t", to: conversion) }
            #expect(error?.reason == .invalidArgument && error?.message.contains("declared type") == true)
        }
        #expect(try db.fetchAll(SQLValue.self, "SELECT note FROM t") == ["2026-11-21", nil])
        #expect(try db.main.convertValues(of: "price", in: "t", to: .decimals(.number)) == 0)
    }

    @Test func convertValuesHandlesKeysAndForeignKeys() throws {
        try db.execute(SQLScript("""
            CREATE TABLE author(id PRIMARY KEY);
            CREATE TABLE book(author REFERENCES author);
            INSERT INTO author VALUES ('0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0');
            INSERT INTO book VALUES ('0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0');
            """))
        #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "id", in: "author", to: .uuids(.blob)) }
        try db.transaction { db in
            try db.execute("PRAGMA defer_foreign_keys = ON")
            try db.main.convertValues(of: "id", in: "author", to: .uuids(.blob))
            try db.main.convertValues(of: "author", in: "book", to: .uuids(.blob))
        }
        #expect(try db.fetchAll(Int.self, "SELECT count(*) FROM author JOIN book ON author = id WHERE typeof(id) = 'blob'") == [1])
    }

    @Test func valueReportRecognizesCoreDataAndRoom() throws {
        try db.execute(SQLScript("""
            CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
            CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, ZSENT TIMESTAMP, ZSIZE INTEGER);
            INSERT INTO ZNOTE VALUES (1, 816942600.25, 5), (2, 0, 6);
            """))
        let report = try db.main.valueReport()
        #expect(report.origin == .coreData && report.profileNames == ["coreData"])
        let sent = try #require(report["ZNOTE", "ZSENT"])
        #expect(sent.forms.map(\.form) == [.date(.secondsSince2001)] && sent.reason?.contains("Core Data") == true)
        #expect(sent.reason?.hasPrefix("a guess") == false && report["ZNOTE", "ZSIZE"]?.reason == nil)
        // Not even here is a number taken for a date without being told.
        #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "ZSENT", in: "ZNOTE", to: .dates(.iso8601)) }
        let conversion = Schema.ValueConversion.dates(.iso8601, numbers: .secondsSince2001)
        #expect(try db.main.convertValues(of: "ZSENT", in: "ZNOTE", to: conversion) == 2)
        #expect(try db.fetchAll(String.self, "SELECT ZSENT FROM ZNOTE") == ["2026-11-21T08:30:00.250Z", "2001-01-01T00:00:00.000Z"])

        let room = try Connection(.memory)
        try room.execute(SQLScript("""
            CREATE TABLE room_master_table(id INTEGER PRIMARY KEY, identity_hash TEXT);
            CREATE TABLE note(id INTEGER PRIMARY KEY, createdAt INTEGER NOT NULL);
            INSERT INTO note VALUES (1, 1795249800250);
            """))
        let found = try room.main.valueReport()
        #expect(found.origin == .room && found["note", "createdAt"]?.reason?.hasPrefix("a guess") == true)
        #expect(found["note", "createdAt"]?.forms.map(\.form) == [.date(.milliseconds)])
    }

    /// The bytes that `NSKeyedArchiver` writes for an `NSDate` on a Mac.
    private func archive(_ seconds: Double) throws -> Data {
        try PropertyListSerialization.data(
            fromPropertyList: [
                "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": 1],
                "$objects": ["$null", ["NS.time": seconds], ["$classname": "NSDate", "$classes": ["NSDate", "NSObject"]]] as [Any],
            ] as [String: Any], format: .binary, options: 0)
    }

    @Test func convertValuesReadsArchivedAndExtendedJSONDates() throws {
        let found = try column("sent", "(x'\(archive(816_942_600.25).map { String(format: "%02x", $0) }.joined())')")
        #expect(found.content == .dates && found.forms.map(\.form) == [.archivedDate] && found.reason == nil)
        try db.execute("""
            INSERT INTO t VALUES ('{"$date":"2026-11-21T08:30:00.250Z"}'), ('{"$date":{"$numberLong":"1795249800250"}}'),
                ('{"$date":1795249800250}')
            """)
        #expect(try db.main.convertValues(of: "sent", in: "t", to: .dates(.timestamp)) == 4)
        #expect(try db.fetchAll(String.self, "SELECT DISTINCT sent FROM t") == ["2026-11-21 08:30:00.250"])
        // Bytes that are no archive are refused, and damage nothing.
        for other in [Data("bplist00".utf8), Data("bplist00".utf8) + Data(repeating: 255, count: 200), try archive(.infinity)] {
            try db.execute("DELETE FROM t")
            try db.execute("INSERT INTO t VALUES (\(other))")
            #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "sent", in: "t", to: .dates(.timestamp)) }
            #expect(try db.fetchAll(Data.self, "SELECT sent FROM t") == [other])
        }
        for text in ["{}", "{\"$date\":1,\"a\":2}", "{\"$date\":\"soon\"}", "{\"$date\":{\"$numberLong\":\"x\"}}"] {
            try db.execute("DELETE FROM t")
            try db.execute("INSERT INTO t VALUES (\(text))")
            #expect(throws: DatabaseError.self) { try db.main.convertValues(of: "sent", in: "t", to: .dates(.timestamp)) }
        }
    }

    /// Each strategy's numbers, told, become the same date in each other's form.
    @Test func convertValuesSupportsEveryDateStrategy() throws {
        let strategies: [DateStrategy] = [
            .timestamp, .iso8601, .text(.currentTimestamp), .realSeconds, .integerSeconds, .milliseconds, .secondsSince2001,
            .julianDays,
        ]
        let date = Date(timeIntervalSince1970: 1_795_249_800)
        for from in strategies {
            for to in strategies {
                try db.execute("DROP TABLE IF EXISTS t")
                try db.execute("CREATE TABLE t(x)")
                try db.execute("INSERT INTO t VALUES (\(try date.sqlValue(from)))")
                try db.main.convertValues(of: "x", in: "t", to: .dates(to, numbers: from))
                #expect(try db.fetchOne(SQLValue.self, "SELECT x FROM t") == date.sqlValue(to), "\(from) \(to)")
            }
        }
    }

    /// A conversion throws if, and only if, the form cannot hold the date, counted in whole microseconds.
    @Test func convertValuesThrowsRatherThanDropFractions() throws {
        let forms: [(DateStrategy, Int)] = [
            (.timestamp, 1000), (.iso8601, 1000), (.text(.currentTimestamp), 1_000_000), (.realSeconds, 1), (.integerSeconds, 1_000_000),
            (.milliseconds, 1000), (.secondsSince2001, 1), (.julianDays, 1000),
        ]
        var refused = 0
        for micros in [0, 500_000, 250_000, 123_000, 999_000, 1_000, 123_400, 400, 999_600, 123_456, 600] {
            let text = "2026-11-21 08:30:00." + String(1_000_000 + micros).dropFirst()
            let number = 1_795_249_800 + Double(micros) / 1_000_000
            for (to, unit) in forms {
                for value in [SQLValue.text(text), .real(number), .real(number - 978_307_200)] {
                    let numbers: DateStrategy = value == .real(number) ? .realSeconds : .secondsSince2001
                    try db.execute(SQLScript("DROP TABLE IF EXISTS t; CREATE TABLE t(x)"))
                    try db.execute("INSERT INTO t VALUES (\(value))")
                    let fits = micros % unit == 0
                    refused += fits ? 0 : 1
                    do {
                        try db.main.convertValues(of: "x", in: "t", to: .dates(to, numbers: numbers))
                        #expect(fits, "\(value) to \(to)")
                    } catch let error as DatabaseError {
                        #expect(!fits && error.reason == .invalidArgument, "\(value) to \(to): \(error)")
                        #expect(try db.fetchOne(SQLValue.self, "SELECT x FROM t") == value)
                        try db.main.convertValues(of: "x", in: "t", to: .dates(to, numbers: numbers), allowingRounding: true)
                    }
                    let date = try #require(try Date(sqlValue: db.fetchOne(SQLValue.self, "SELECT x FROM t") ?? .null, in: ValueProfile(dates: to)))
                    #expect(abs(date.timeIntervalSince1970 - number) < Double(unit) / 1_000_000 + 0.000_001)
                }
            }
        }
        #expect(refused > 50)
        // Values that a `Date` itself cannot hold.
        let odd: [(SQLValue, Schema.ValueConversion)] = [
            ("2026-11-21 08:30:00.000000123", .dates(.realSeconds)), (9_007_199_254_740_993, .dates(.integerSeconds, numbers: .integerSeconds)),
            (.real(2_461_365.854166667 + 3e-9), .dates(.milliseconds, numbers: .julianDays)), ("0.12345678901234567890123", .decimals(.number)),
        ]
        for (value, conversion) in odd {
            try db.execute(SQLScript("DROP TABLE IF EXISTS t; CREATE TABLE t(x)"))
            try db.execute("INSERT INTO t VALUES (\(value))")
            #expect(throws: DatabaseError.self, "\(value)") { try db.main.convertValues(of: "x", in: "t", to: conversion) }
            #expect(try db.fetchOne(SQLValue.self, "SELECT x FROM t") == value)
        }
    }

    /// Every declared type × form: the values have the form afterwards, or nothing has changed.
    @Test func convertValuesRefusesTypesThatChangeTheForm() throws {
        let date = Date(timeIntervalSince1970: 1_795_249_800)
        let forms: [DateStrategy] = [.timestamp, .realSeconds, .integerSeconds, .milliseconds, .secondsSince2001, .julianDays]
        var refused = 0
        for type in ["", "TEXT", "REAL", "INTEGER", "DATETIME", "BLOB"] {
            for form in forms {
                try db.execute(SQLScript("DROP TABLE IF EXISTS t; CREATE TABLE t(x \(type))"))
                try db.execute("INSERT INTO t VALUES ('2026-11-21 08:30:00'), ('2026-11-21 08:30:00Z')")
                let wanted = try date.sqlValue(form)
                do {
                    try db.main.convertValues(of: "x", in: "t", to: .dates(form))
                    // The same number, which a column for numbers stores as an integer if it is whole.
                    let found = try #require(try db.fetchOne(SQLValue.self, "SELECT x FROM t"))
                    #expect(found == wanted || found == .integer(1_795_249_800) || found == .integer(816_942_600), "\(type) \(form)")
                    #expect(type != "TEXT" || form == .timestamp)
                } catch let error as DatabaseError {
                    refused += 1
                    #expect(error.reason == .invalidArgument && ["TEXT", "REAL"].contains(type), "\(type) \(form): \(error)")
                    #expect(try db.fetchAll(String.self, "SELECT x FROM t") == ["2026-11-21 08:30:00", "2026-11-21 08:30:00Z"])
                }
            }
        }
        // Numbers in TEXT, and the two forms of integers in REAL.
        #expect(refused == 7)
    }
}
