import Foundation
import SQLCipherKit

/// Stores of keys and values.
extension Cases {
    private struct Setting: Codable, Sendable, Equatable { var name: String, size: Int }

    private static func fill(_ t: Trial) throws {
        let store = try KeyValueStore("settings", in: t.schema)
        try store.setAll(["a": "first", "b": "second", "a.b": Secrets.value])
        try store.set("size", to: 3)
        try store.set("old", to: 1, expires: Date(timeIntervalSince1970: 1))
        try store.set("form", to: Setting(name: "form", size: 2))
    }

    /// On a queue or a pool the store is made through it, so that nothing else is open.
    private static func fillShared(_ t: Trial) throws {
        let store = try SharedKeyValueStore("settings", in: t.shared)
        try store.write { store in
            try store.setAll(["a": "first", "b": "second"])
            try store.set("form", to: Setting(name: "form", size: 2))
        }
    }

    static var keyValue: [ContractCase] {
        family("key-value-write",
            call("set", .writes, refusing: [.utf16], isStepwise: true) { t in
                let store = try KeyValueStore(t.text("name", "settings", .new), in: t.schema), key = t.text("key", "k"), value = t.text("value", Secrets.value)
                try store.set(key, to: value)
                t.then {
                    let there = try KeyValueStore(t.text("name", "settings", .new), in: t.schema)
                    try t.same(value, there.get(key))
                    try t.same(key, there.keys().first)
                    try t.same(t.text("name", "settings", .new), KeyValueStore.names(in: t.schema).first)
                }
                return store.name.utf8.count > 0
            },
            call("set in a store", .writes, refusing: [.utf16], prepare: fill) { t in
                try KeyValueStore("settings", in: t.schema).set(t.text("key", "a"), to: Setting(name: t.text("value", Secrets.value), size: 1), expires: Date(timeIntervalSinceNow: 1e6))
                t.then { try t.same(t.text("value", Secrets.value), KeyValueStore("settings", in: t.schema).get(t.text("key", "a"), as: Setting.self)?.name) }
                return 0
            },
            call("setAll", .writes, refusing: [.utf16], prepare: fill) { t in
                let store = try KeyValueStore("settings", in: t.schema)
                try store.setAll([(key: t.text("key", "k"), value: t.text("value", Secrets.value)), (key: "l", value: "l")])
                t.then { try t.same(t.text("value", Secrets.value), store.get(t.text("key", "k"))) }
                return 0
            },
            call("remove", .writes, refusing: [.utf16], prepare: fill) { t in try KeyValueStore("settings", in: t.schema).remove(t.text("key", "a")) },
            call("removeAll", .writes, refusing: [.utf16], prepare: fill) { t in try KeyValueStore("settings", in: t.schema).removeAll(prefix: t.text("prefix", "a")) },
            call("purgeExpired", .writes, refusing: [.utf16], prepare: fill) { t in try KeyValueStore("settings", in: t.schema).purgeExpired() })
        + family("key-value-read",
            call("get", refusing: [.utf16], prepare: fill) { t in
                let store = try KeyValueStore("settings", in: t.schema), key = t.text("key", "a")
                let missing = t.text("default", "d")
                try t.same(missing, store.get("missing", default: missing))
                do { _ = try store.get(key, as: Setting.self) } catch is DatabaseError {}
                return try (store.get(key, as: String.self) ?? "", store.get("size", default: 1), store.contains(key), store.get("form", as: Setting.self)?.name ?? "")
            },
            call("a store that is not there", prepare: { _ in }) { t in
                let store = try KeyValueStore(t.text("name", "other", .name), in: t.schema)
                return try (store.get(t.text("key", "a"), as: String.self) ?? "", store.keys(), store.count(), store.contains("a"), KeyValueStore.names(in: t.schema), store.connection.isOpen)
            },
            call("all", refusing: [.utf16], prepare: fill) { t in
                let store = try KeyValueStore("settings", in: t.schema), prefix = t.text("prefix", "a")
                var keys: [String] = []
                try store.forEach(prefix: prefix) { entry in keys.append("\(entry.key) \(entry.isNil) \(try entry.value(as: SQLValue.self))".prefix(4).description) }
                return try (store.all(as: String.self, prefix: "a").count, store.keys(prefix: prefix), store.count(prefix: prefix), keys)
            })
        + family("shared-key-value",
            call("set and get", .writes, on: .shared, refusing: [.utf16], isStepwise: true) { t in
                let store = try SharedKeyValueStore(t.text("name", "settings", .new), in: t.shared), key = t.text("key", "k"), value = t.text("value", Secrets.value)
                try store.set(key, to: value)
                try t.same(value, store.get(key, default: "other"))
                try store.set("form", to: Setting(name: value, size: 3))
                try t.same(value, store.get("form", as: Setting.self)?.name)
                return try (store.contains(key), store.remove(key), store.get(key, as: String.self) ?? "", store.database.isOpen)
            },
            call("set, async", .writes, on: .shared, refusing: [.utf16], isStepwise: true, waits: true) { t in
                let store = try SharedKeyValueStore("settings", in: t.shared), key = t.text("key", "k"), value = t.text("value", Secrets.value)
                let back: String = try waiting {
                    try await store.set(key, to: value)
                    let isThere = try await store.contains(key)
                    return isThere ? try await store.get(key, default: "") : ""
                }
                try t.same(value, back)
                return try waiting { try await store.remove(key) }
            },
            call("several at once", .writes, on: .shared, refusing: [.utf16], prepare: fillShared) { t in
                let store = try SharedKeyValueStore("settings", in: t.shared), value = t.text("value", Secrets.value)
                let count = try store.read { store in try store.count() }
                return try store.write { store in
                    try store.setAll(["k": value, "l": value])
                    return try store.count() - count
                }
            },
            call("observe", on: .shared, refusing: [.utf16], waits: true, prepare: fillShared) { t in
                let observation = try SharedKeyValueStore("settings", in: t.shared).observe(t.text("key", "a"), as: String.self)
                let first: String? = try waiting {
                    for try await value in observation { return value }
                    return nil
                }
                return first ?? ""
            })
    }
}
