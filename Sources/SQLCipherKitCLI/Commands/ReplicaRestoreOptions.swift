import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Which state of a replica to restore.
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

    private var moment: Replica.Moment {
        get throws {
            if time != nil, position != nil { throw ValidationError("only one of --time and --position can be given") }
            if let time {
                guard let date = try? Date(time, strategy: .iso8601) else {
                    throw ValidationError("--time takes a time like 2026-11-23T10:00:00Z")
                }
                return .time(date)
            }
            guard let position else { return .newest }
            guard let place = Replica.Position(position) else { throw ValidationError("--position takes two numbers, as 1:512") }
            return .position(place)
        }
    }

    func restore(_ file: FileOptions) throws -> Replica.Position {
        let name = store ?? "", source = try ReplicaStoreName.store(name), moment = try moment
        if !replace { try FileOptions.requireNothing(at: file.path, advice: "give another name, or --replace") }
        let key = try file.key.reference.key(for: "the replica \(name)"), (path, replaces) = (file.path, replace)
        Interruption.catchSignals()
        let bar = RestoreBar()
        return try waiting {
            try await Replica.restore(
                to: path, from: source, key: key, at: moment, replacing: replaces,
                progress: bar.show)
        }
    }
}

/// The progress of a restore, which one thread at a time reports.
private final class RestoreBar: @unchecked Sendable {
    // Sendable: the calls come one after the other.
    private let bar = ProgressBar("Restoring")

    func show(_ progress: RewriteProgress) {
        let text = "\(progress.done.grouped) of \(progress.total.counted("byte"))"
        bar.show(progress.total == 0 ? nil : progress.fraction, text)
        if progress.done == progress.total { bar.clear() }
    }
}
