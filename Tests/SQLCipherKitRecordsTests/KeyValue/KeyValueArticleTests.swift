import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// The examples of the article "Keys and values", in its order.
@Suite(.timeLimit(.minutes(60))) struct KeyValueArticleTests {
    struct Frame: Codable, Sendable { var x: Int, y: Int, width: Int, height: Int }

    @Test func keyValueArticleCodeWorks() async throws {
        let db = try Connection(.memory)
        let settings = try KeyValueStore("settings", in: db)
        try settings.set("launches", to: 3)
        try settings.set(
            "window", to: Frame(x: 0, y: 0, width: 800, height: 600))

        let launches = try settings.get("launches", default: 0)
        let frame = try settings.get("window", as: Frame.self)
        #expect(launches == 3 && frame?.width == 800)
        #expect(try db.fetchOne(Int.self, "SELECT json->>'$.width' FROM kv_settings WHERE json NOT NULL") == 800)

        try settings.set("nickname", to: String?.none)
        // .some(nil)
        let nickname = try settings.get("nickname", as: String?.self)
        let missing = try settings.get("no such key", as: String?.self)  // nil
        try settings.remove("nickname")
        #expect(nickname == .some(nil) && missing == nil)

        try settings.setAll(["volume": 7, "mode": "night"])
        try db.transaction { _ in
            try settings.set("theme", to: "dark")
            try settings.remove("volume")
        }
        #expect(try settings.keys() == ["launches", "mode", "theme", "window"])

        try settings.setAll(["color.text": "black", "color.page": "white"])
        let colors = try settings.all(as: String.self, prefix: "color.")
        let count = try settings.count(prefix: "color.")
        var entries = 0
        func show(_ key: String, _ isNil: Bool) { entries += isNil ? 0 : 1 }
        try settings.forEach { entry in show(entry.key, entry.isNil) }
        #expect(colors.map(\.value) == ["white", "black"] && count == 2 && entries == 6)

        let token = "abc"
        try settings.set(
            "session", to: token, expires: Date(timeIntervalSinceNow: 3600))
        let removed = try settings.purgeExpired()
        #expect(removed == 0)

        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("key").quick)
        let shared = try SharedKeyValueStore("settings", in: pool)
        try await shared.set("theme", to: "dark")
        let theme = try await shared.get("theme", default: "light")
        var seen: [String] = []
        func show(_ theme: String) { seen.append(theme) }
        for try await theme in shared.observe("theme", as: String.self) {
            show(theme ?? "light")
            if seen.count == 1 { try await shared.set("theme", to: "bright") }
            if seen.count == 2 { try await shared.remove("theme") }
            if seen.count == 3 { break }
        }
        #expect(theme == "dark" && seen == ["dark", "bright", "light"])
    }
}
