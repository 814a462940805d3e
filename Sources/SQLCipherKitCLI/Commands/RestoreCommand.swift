import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitReplication

struct RestoreCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace everything in a database with the content of a backup, or restore a replica.",
        discussion: """
            The backup is checked before anything is written, and the content is replaced in one transaction: if interrupted, the \
            database is unchanged. The database keeps its key. If it does not exist, it is created with the backup's key.

            With --from, the database is a new file, and comes from a replica: the newest or an earlier state. It gets its \
            name when every page has been checked. The key is the replicated database's key. If interrupted, the same command \
            continues.

            EXAMPLES
              sqlcipherkit restore notes.db monday.db
              sqlcipherkit restore notes.db --from /backup --time 2026-11-23T10:00:00Z
              sqlcipherkit restore notes.db handover.db --backup-key file:handover.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "backup", "position")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("The backup's file, without --from.", valueName: "backup"), completion: .file())
    var backupFile: String?

    @OptionGroup(title: "Replica") var replica: ReplicaRestoreOptions

    @Option(
        name: .customLong("backup-key"),
        help: ArgumentHelp(
            "Where the backup's key comes from, if it differs: \(KeyReference.grammar); none for plaintext.",
            valueName: "source"))
    var source: String?

    @OptionGroup var report: ReportOptions

    func validate() throws {
        _ = try reference
        guard (replica.store == nil) == (backupFile != nil) else {
            throw ValidationError("restore needs the file of a backup, or --from with the store of a replica")
        }
        if replica.store != nil, source != nil { throw ValidationError("--backup-key is for the file of a backup") }
    }

    private var backup: String { backupFile ?? "" }

    private var reference: KeyReference? {
        get throws { try source.flatMap { try $0 == "none" ? nil : KeyReference.parse($0, option: "--backup-key") } }
    }

    func run() throws {
        if let store = replica.store {
            let position = try replica.restore(file)
            return try report.write(
                Self.form, [.string(file.path), .string(store), .string(position.description)],
                "restored \(file.path.onOneLine) from \(store.onOneLine), as it was at \(position)")
        }
        try FileOptions.requireDatabase(backup)
        guard FileOptions.exists(file.path) else { return try restoreNewFile() }
        let db = try file.open(.readWrite)
        // The source is none if it has no reference.
        let key = try reference.map { try UnlockedKey($0, to: backup).key } ?? (source == nil ? nil : .plaintext)
        try db.main.restore(fromFileAt: backup, key: key, progress: ProgressBar.rewriting("Restoring"))
        try say()
    }

    private func say() throws {
        try report.write(
            Self.form, [.string(file.path), .string(backup), .null], "restored \(file.path.onOneLine) from \(backup.onOneLine)")
    }

    /// Copies the backup to where no database exists, with the backup's key.
    private func restoreNewFile() throws {
        guard source == nil else {
            throw Failure(
                "the database \(file.path) does not exist, and gets the backup's key: leave out --backup-key, "
                    + "and give that key with --key-file and the like",
                status: .usage)
        }
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let unlocked = try file.key.access(to: backup, configuration)
        let db = try Connection(.file(backup), key: unlocked?.key, configuration: configuration)
        try Interruption.stop(db)
        try db.main.backup(toFileAt: file.path, progress: ProgressBar.rewriting("Restoring"))
        try say()
    }
}

/// The state of a replica to restore.
struct ReplicaRestoreOptions: ParsableArguments {
    @Option(name: .customLong("from"), help: ArgumentHelp("Restore from a replica.", valueName: "store"), completion: .directory)
    var store: String?

    @Option(help: ArgumentHelp("The last state at or before a time, as 2026-11-23T10:00:00Z.", valueName: "time"))
    var time: String?

    @Option(help: ArgumentHelp("The state after a commit, as sqlcipherkit replicas lists it.", valueName: "position"))
    var position: String?

    @Flag(help: "Replace an existing database, which no program may have open. Only with --from.")
    var replace = false

    func validate() throws {
        if store == nil, time != nil || position != nil || replace {
            throw ValidationError("--time, --position and --replace need --from")
        }
        _ = try moment
    }

    private var moment: Replicator.RestorePoint {
        get throws {
            if time != nil, position != nil { throw ValidationError("only one of --time and --position can be given") }
            if let time {
                guard let date = try? Date(time, strategy: .iso8601) else {
                    throw ValidationError("--time takes a time like 2026-11-23T10:00:00Z")
                }
                return .time(date)
            }
            guard let position else { return .newest }
            guard let place = Replicator.Position(position) else { throw ValidationError("--position takes two numbers, as 1:512") }
            return .position(place)
        }
    }

    func restore(_ file: FileOptions) throws -> Replicator.Position {
        let name = store ?? "", source = try ReplicaStoreName.store(name), moment = try moment
        if !replace { try FileOptions.requireNothing(at: file.path, advice: "give another name, or --replace") }
        let key = try file.key.reference.key(for: "the replica \(name)"), (path, replaces) = (file.path, replace)
        Interruption.catchSignals()
        let bar = RestoreBar()
        return try waiting {
            try await Replicator.restore(
                to: path, from: source, key: key, at: moment, replacing: replaces,
                progress: bar.show)
        }
    }
}

/// The progress of a restore, which one thread at a time reports.
private final class RestoreBar: @unchecked Sendable {
    // Sendable: the calls come one after the other.
    private let bar = ProgressBar("Restoring")

    func show(_ progress: DatabaseProgress) {
        let text = "\(progress.completed.grouped) of \(progress.total.counted("byte"))"
        bar.show(progress.total == 0 ? nil : progress.fractionCompleted, text)
        if progress.completed == progress.total { bar.clear() }
    }
}
