import ArgumentParser
import Foundation
import SQLCipherKit

struct KeyValueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv",
        abstract: "Read and write keys and values, such as settings.",
        discussion: """
            A database may have any number of key-value stores; --store names one, which the first kv set creates. Programs use \
            the same values with KeyValueStore.

            Values are text. With --as json they are JSON: null, numbers and strings become SQL values, true and false become 1 \
            and 0, and arrays and objects are stored as JSONB.

            EXAMPLES
              sqlcipherkit kv set notes.db theme dark
              sqlcipherkit kv set notes.db window '{"width": 800}' --as json
              sqlcipherkit kv set notes.db session - --store state --expires 12h < token
              sqlcipherkit kv get notes.db theme
              sqlcipherkit kv list notes.db --prefix win --json
              sqlcipherkit kv remove notes.db theme
            """,
        subcommands: [KeyValueGet.self, KeyValueSet.self, KeyValueList.self, KeyValueRemove.self])
}

/// The form of a value on the command line.
enum ValueForm: String, CaseIterable, ExpressibleByArgument { case text, json }

/// The store in a database.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The key-value store.", valueName: "name"))
    var store = "settings"

    /// Opens the store, and creates it if it does not exist.
    func open(in file: FileOptions) throws -> KeyValueStore { try KeyValueStore(store, in: file.open(.readWrite)) }

    /// Opens the store, which must exist: a mistyped name should not look like an empty store.
    func openExisting(in file: FileOptions, _ access: DatabaseConfiguration.Access) throws -> KeyValueStore {
        let db = try file.open(access)
        let names = try KeyValueStore.names(in: db.main)
        guard names.contains(where: { $0.utf8.elementsEqual(store.utf8) }) else {
            let others = names.isEmpty ? "the database has none" : "--store takes " + names.joined(separator: ", ")
            throw Failure("there is no key-value store \(store): \(others)")
        }
        return try KeyValueStore(store, in: db)
    }

    func missing(_ key: String) -> Failure { Failure("the store \(store) has no key \(key)") }
}

struct KeyValueGet: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show the value of a key.",
        discussion: """
            The status is 1 if there is no such key, or if it has expired.

            \(form)
            """)

    private static let form = JSONForm.object("store", "key", "value")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var store: StoreOptions
    @Argument(help: "The key.")
    var key: String
    @Option(name: .customLong("as"), help: "How to write the value: text or json, which tells 1 from \"1\".")
    var form = ValueForm.text
    @OptionGroup var report: ReportOptions

    func run() throws {
        let values = try store.openExisting(in: file, .readOnly)
        guard let value = try values.shown(key) else { throw store.missing(key) }
        if report.json { return try report.write(Self.form, [.string(store.store), .string(key), value.json]) }
        let text = try value.text(json: form == .json)
        Output.data(text)
    }
}

struct KeyValueSet: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the value of a key.",
        discussion: """
            An argument is visible in the list of processes; standard input is not. One line end at the end of standard input is \
            dropped. Put a value that begins with a hyphen after all options and --.

            \(form)
            """)

    private static let form = JSONForm.object("store", "key", "expires")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var store: StoreOptions
    @Argument(help: "The key.")
    var key: String
    @Argument(help: "The value; - reads it from standard input.")
    var value: String
    @Option(name: .customLong("as"), help: "What the value is: text or json.")
    var form = ValueForm.text
    @Option(
        help: ArgumentHelp(
            "How long to keep the key, such as 90s, 15m, 12h or 30d. Without it the key does not expire, even if it did before.",
            valueName: "duration"))
    var expires: Lifetime?
    @OptionGroup var report: ReportOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        let new = try KeyValue(parsing: text(), json: form == .json)
        let values = try store.open(in: file)
        let expiry = expires.map { Date(timeIntervalSinceNow: $0.seconds) }
        switch new {
        case .plain(let value): try values.set(key, to: value, expires: expiry)
        case .json(let value): try values.set(key, to: CodedJSON(value: value), expires: expiry)
        }
        try report.write(
            Self.form, [.string(store.store), .string(key), expiry.map { .string($0.formatted(.iso8601)) } ?? .null],
            "set \(key.onOneLine)")
    }

    private func text() throws -> String {
        guard value == "-" else { return value }
        var text = try StandardInput.text("the value")
        if text.last?.isNewline == true { text.removeLast() }
        return text
    }
}

struct KeyValueList: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the keys of a store with their values.",
        discussion: """
            Keys are in the order of their UTF-8 bytes. Expired keys are left out.

            \(form)
            """)

    private static let form = JSONForm.rows("key", "value")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("Show only the keys that begin with this text.", valueName: "text"))
    var prefix = ""
    @Option(
        name: .customLong("as"),
        help: "How to write the values: text or json, which tells 1 from \"1\". In JSON output, values are JSON.")
    var form = ValueForm.text
    @OptionGroup var output: OutputOptions

    func run() throws {
        let values = try store.openExisting(in: file, .readOnly)
        let writer = (output.format ?? .table).writer(Self.form.keys)
        try values.forEach(prefix: prefix) { entry in
            let value = try entry.shown()
            if let writer = writer as? any ObjectWriter {
                try writer.write([.string(entry.key), value.json])
            } else {
                try writer.write([.text(entry.key), form == .json ? .text(value.text(json: true)) : value.cell()])
            }
        }
        writer.finish()
    }
}

struct KeyValueRemove: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a key and its value.",
        discussion: """
            The status is 1 if there is no such key.

            \(form)
            """)

    private static let form = JSONForm.object("store", "key")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var store: StoreOptions
    @Argument(help: "The key.")
    var key: String
    @OptionGroup var report: ReportOptions

    func run() throws {
        guard try store.openExisting(in: file, .readWrite).remove(key) else { throw store.missing(key) }
        try report.write(Self.form, [.string(store.store), .string(key)], "removed \(key.onOneLine)")
    }
}
