/// Names of the tables that the package makes in a database when they are first needed. No migration creates these.
package enum TablesMadeLater {
    /// The beginning of the name of a key-value store's table.
    package static let storePrefix = "kv_"
    /// The tables of a change log.
    package static let changeLog = [
        "changelog", "changelog_name", "changelog_row", "changelog_peer", "changelog_chain", "changelog_state",
        "changelog_conflict",
    ]

    package static func contain(_ table: String) -> Bool {
        table.hasNamePrefix(storePrefix) || table.hasNamePrefix("changelog_outside_") || changeLog.contains(name: table)
    }
}
