import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitReplication

struct ReplicateCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicate",
        abstract: "Keep a copy of a database in a store while programs use it.",
        discussion: """
            \(ReplicaStoreName.help) Pages are stored as they are, encrypted. Runs until it is interrupted, and then stores the \
            remaining commits. The database needs a write-ahead log: PRAGMA journal_mode = WAL sets this for good. A \
            second replicate on the same store ends the first. A file beside the database with the suffix -replicated- records \
            its place in the store: if another machine has stored more, replicate ends with the status 5.

            EXAMPLES
              sqlcipherkit replicate notes.db /backup/notes
              sqlcipherkit replicate notes.db /backup/notes --once
              sqlcipherkit query notes.db 'PRAGMA journal_mode = WAL' --write

            \(form)
            """)

    private static let form = JSONForm.object("file", "store", "position")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("Where the replica is.", valueName: "store"), completion: .directory)
    var target: String

    @Flag(help: "Store what is committed now, and end.")
    var once = false

    @Option(help: ArgumentHelp("How often to look for commits, in milliseconds; longer is cheaper.", valueName: "number"))
    var interval = 500

    @Option(help: ArgumentHelp("The number of hours for which any commit can be restored.", valueName: "number"))
    var retention = 7 * 24

    @Option(help: ArgumentHelp("How many seconds --once tries while the store fails.", valueName: "number"))
    var timeout = 30

    @OptionGroup var report: ReportOptions

    func validate() throws {
        if !(0...3_600_000).contains(timeout) { throw ValidationError("--timeout takes 0 to 3600000 seconds") }
        if !(1...3_600_000).contains(interval) { throw ValidationError("--interval takes 1 to 3600000 milliseconds") }
        if !(0...876_000).contains(retention) { throw ValidationError("--retention takes 0 to 876000 hours") }
    }

    func run() throws {
        guard let key = try file.unlock(.readWrite) else {
            throw Failure("\(file.path) is not encrypted: sqlcipherkit encrypt encrypts it")
        }
        try requireLog(key)
        let store = try ReplicaStoreName.store(target, isNew: true)
        var options = Replicator.Options()
        options.interval = .milliseconds(interval)
        options.retention = .seconds(3600 * retention)
        let (path, isOnce, settings, patience) = (file.path, once, options, Duration.seconds(timeout))
        let note = report.json ? nil : "\(file.path.onOneLine) is in \(target.onOneLine); new commits follow until you interrupt"
        Interruption.catchSignals()
        let position = try waiting {
            let replica = try await Replicator(of: .file(path), key: key, in: store, options: settings)
            if isOnce {
                let result = await Self.storeOnce(replica, patience)
                await replica.stop()
                return try result.get() as Replicator.Position?
            }
            var known: String?, isNoted = note == nil
            while !Task.isCancelled, await !replica.currentStatus.isEnded {
                try? await Task.sleep(for: .milliseconds(200))
                // Each error once, while the replica goes on.
                let error = await replica.currentStatus.error.map { "\($0)" }
                if let error, error != known { Output.error("sqlcipherkit: " + error.onOneLine) }
                known = error
                if !isNoted, await replica.currentStatus.stored != nil {
                    Output.error(note ?? "")
                    isNoted = true
                }
            }
            await replica.stop()
            let status = await replica.currentStatus
            if let error = status.error { throw error }
            return status.stored
        }
        let text = position?.description ?? ""
        try report.write(
            Self.form, [.string(file.path), .string(target), .string(text)],
            "stored \(file.path.onOneLine) in \(target.onOneLine), up to \(text)")
    }

    /// Checked before the store is created.
    private func requireLog(_ key: DatabaseKey) throws {
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let db = try Connection(.file(file.path), key: key, configuration: configuration)
        defer { db.close() }
        guard try db.fetchOne(String.self, "PRAGMA journal_mode") != "wal" else { return }
        throw Failure(
            "\(file.path) has no write-ahead log, which replication reads: "
                + "sqlcipherkit query \(file.path) 'PRAGMA journal_mode = WAL' --write sets it")
    }

    /// Waits as long as the replica makes progress, and for a time while the store fails.
    private static func storeOnce(_ replica: Replicator, _ patience: Duration) async -> Result<Replicator.Position, any Error> {
        var failing: ContinuousClock.Instant?
        while true {
            do { return .success(try await replica.waitUntilStored(timeout: .milliseconds(500))) } catch {
                guard (error as? DatabaseError)?.reason == .timeout else { return .failure(error) }
            }
            guard let error = await replica.currentStatus.error else {
                failing = nil
                continue
            }
            let since = failing ?? .now
            failing = since
            if .now - since >= patience { return .failure(error) }
        }
    }
}

struct ReplicasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicas",
        abstract: "List the states that can be restored from a store.",
        discussion: """
            \(ReplicaStoreName.help) Positions are a generation and a number of commits. Times are by the clock of the machine \
            that stored the replica. After a change of the key, former states stay for the retention and need the former key; \
            --remove-former-keys removes them at once.

            EXAMPLES
              sqlcipherkit replicas /backup/notes
              sqlcipherkit replicas /backup/notes --remove-former-keys
              sqlcipherkit restore notes.db --from /backup/notes --position 1:512

            \(form)
            """)

    private static let form = JSONForm.rows("generation", "first", "last", "first_time", "last_time", "bytes")

    @Argument(help: ArgumentHelp("Where the replica is.", valueName: "store"), completion: .directory)
    var target: String

    @OptionGroup(title: "Key") var key: KeyOptions

    @Flag(help: "First remove everything that only former keys of the database open.")
    var removeFormerKeys = false

    @OptionGroup var output: OutputOptions

    func run() throws {
        let store = try ReplicaStoreName.store(target), encryption = try key.reference.key(for: "the replica \(target)")
        if removeFormerKeys {
            Interruption.catchSignals()
            let count = try waiting { try await Replicator.removeContentOfFormerKeys(in: store, key: encryption) }
            if output.format == nil { Output.line("removed \(count.counted("object")) of former keys") }
        }
        let ranges = try waiting { try await Replicator.generations(in: store, key: encryption) }
        if ranges.isEmpty, output.format == nil {
            return Output.line("nothing can be restored yet: the first snapshot is not complete")
        }
        try output.write(
            Self.form.keys,
            ranges.map { range in
                [
                    .integer(Int64(range.first.generation)), .text(range.first.description), .text(range.last.description),
                    .text(range.firstTime.ISO8601Format()), .text(range.lastTime.ISO8601Format()), .integer(Int64(range.size)),
                ]
            })
    }
}

/// The names of stores on the command line.
enum ReplicaStoreName {
    #if S3
        static let help = """
            A store is a folder, or s3://BUCKET/PREFIX with credentials, AWS_REGION and AWS_ENDPOINT_URL from where Amazon's tools \
            take them. A server must support conditional writes, which two writers need; for others, make sure that there is only \
            one writer, and set SQLCIPHERKIT_S3_SINGLE_WRITER to 1.
            """
    #else
        static let help = "A store is a folder."
    #endif

    /// - Parameter isNew: whether a missing folder is created.
    static func store(_ name: String, isNew: Bool = false) throws -> any ObjectStore {
        if name.hasPrefix("s3://") {
            #if S3
                do {
                    var store = try S3Store(name)
                    if Invocation.current.environment["SQLCIPHERKIT_S3_SINGLE_WRITER"] == "1" { store.conditions = .client }
                    return store
                } catch { throw Failure("\(error)", status: .usage) }
            #else
                throw Failure("this build has no object stores: build it with the package trait S3", status: .usage)
            #endif
        }
        if name.contains("://") { throw Failure("\(name) is not a store: a folder is, or s3://BUCKET/PREFIX", status: .usage) }
        var info = stat()
        if stat(name, &info) == 0 {
            guard info.st_mode & S_IFMT == S_IFDIR else { throw Failure("\(name) is a file, and not a folder") }
        } else if !isNew {
            throw Failure("there is no folder \(name)")
        }
        return try FolderStore(name)
    }
}
