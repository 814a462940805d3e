import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync
import SQLCipherKitVectors

struct SyncCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Exchange changes with other copies of a database through a store.",
        discussion: """
            \(ReplicaStoreName.help) Each copy is changed on its own; sync receives the changes of the others, and stores the \
            changes that they lack. When all have done so, they have the same rows. Run it on each copy from time to time. You can \
            interrupt it at any point.

            The first sync of a database creates a log in it, to which every later change of the logged tables is added, made by \
            any program. Each of these tables needs a primary key, whose values no two copies choose for different rows. A copy \
            begins with empty tables of the same definition; --existing on the first copy alone gives its rows to the others.

            A copy that was restored from a backup is refused until --restored says how it continues.

            EXAMPLES
              sqlcipherkit sync notes.db /shared/notes --table note --table tag --existing
              sqlcipherkit sync notes.db /shared/notes
              sqlcipherkit sync notes.db s3://bucket/notes --store-key file:shared.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "store", "peer", "received", "sent", "renewed", "pruned", "complete")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("Where the copies leave their changes.", valueName: "store"), completion: .directory)
    var target: String

    @Option(help: ArgumentHelp("A table to synchronize. By default, the tables of the log, or all tables.", valueName: "name"))
    var table: [String] = []

    @Option(help: ArgumentHelp("A table in which the later of two changes wins with all its columns.", valueName: "name"))
    var wholeRow: [String] = []

    @Option(help: ArgumentHelp("The name of this copy, for a new log. By default, a random name.", valueName: "name"))
    var peer: String?

    @Flag(help: "Also log the rows that the tables have already.")
    var existing = false

    enum Restored: String, CaseIterable, ExpressibleByArgument { case take, keep }

    @Option(
        help: """
            How a copy that was restored from a backup continues: it takes the rows of the others, or keeps its rows, which then \
            replace the rows of the others.
            """)
    var restored: Restored?

    @Option(
        help: ArgumentHelp(
            "Where the key of the store comes from, which all copies share: \(KeyReference.grammar). By default it is the "
                + "database's passphrase or raw key.",
            valueName: "source"))
    var storeKey: String?

    @OptionGroup var report: ReportOptions

    func validate() throws { _ = try storeKey.map { try KeyReference.parse($0, option: "--store-key") } }

    func run() throws {
        let key = try file.unlock(.readWrite)
        let other = try storeKey.map { try KeyReference.parse($0, option: "--store-key").key(for: "the store \(target)") }
        guard let shared = other ?? key else {
            throw Failure("\(file.path) is not encrypted: --store-key names the key that the copies share", status: .usage)
        }
        var configuration = DatabaseConfiguration()
        configuration.safeguards = .ofTheTool(for: file.path)
        Interruption.catchSignals()
        configuration.prepareDatabase = { db in try db.settings.setProgressHandler { !Interruption.isWanted } }
        let queue = try DatabaseQueue(.file(file.path), key: key, configuration: configuration)
        defer { try? queue.close() }
        let log = try log(queue)
        if existing { try log.withLog { _ = try $0.addExistingRows() } }
        let store = ChangeStore(try ReplicaStoreName.store(target, isNew: true), key: shared)
        if let restored { try log.withLog { try $0.resolveRestore(restored == .take ? .takingOthers : .keepingThisState) } }
        let outcome: ChangeStore.Outcome
        do { outcome = try waiting { try await log.synchronize(with: store) } } catch let error as DatabaseError
            where error.reason == .copyRestored
        {
            throw Failure(
                "other copies have changes of \(file.path) that it lacks, as after a restore from a backup: --restored take "
                    + "takes their rows, and --restored keep replaces them by the rows of this copy")
        }
        let received = outcome.received
        let rows = received.tables.reduce(0) { $0 + $1.applied }
        try report.write(
            Self.form,
            [
                .string(file.path), .string(target), .string(log.localPeer), .integer(Int64(received.received)),
                .integer(Int64(outcome.sent)), .integer(Int64(received.renewed)), .integer(Int64(outcome.pruned)),
                .bool(outcome.isComplete),
            ],
            "received \(received.received.counted("entry", plural: "entries")), which changed \(rows.counted("row")), and stored "
                + "\(outcome.sent)" + (outcome.isComplete ? "" : "; another copy has not stored everything: run it again later"))
    }

    /// The log as it is, or a new one.
    private func log(_ queue: DatabaseQueue) throws -> SharedChangeLog {
        let known = try queue.read { db in try ChangeLog.settings(in: db) }
        if let known, let peer, peer != known.localPeer {
            throw Failure("the log of \(file.path) belongs to the peer \(known.localPeer)", status: .usage)
        }
        var rules = known?.mergePolicies ?? [:]
        for name in wholeRow { rules[name] = .row }
        var tables = table.isEmpty ? known?.tables ?? [] : table
        if tables.isEmpty {
            tables = try queue.read { db in
                // Each copy makes its own vectors: their tables follow from the rows.
                let vectors = Set(try db.main.vectorIndexes().flatMap(\.tableNames))
                return try db.main.tables().filter { $0.kind == .table && !$0.name.hasPrefix("kv_") && !vectors.contains($0.name) }
                    .map(\.name)
            }
        }
        return try SharedChangeLog(
            queue, tables: tables, localPeer: known?.localPeer ?? peer ?? UUID().uuidString, mergePolicies: rules
        )
    }
}
