import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// The change log of a queue's or a pool's database, usable from any thread and any task.
///
/// ```swift
/// let log = try await SharedChangeLog(pool, tables: ["note", "tag"], localPeer: "laptop")
/// try await log.write { db in try db.execute("UPDATE note SET title = 'x' WHERE id = 1") }
/// let outcome = try await log.receive(message)
/// ```
/// It has the calls that ``ChangeLog`` describes. Each call runs in its own transaction, on the connection that writes; reads of a
/// pool continue. Each call also has an asynchronous form. Observations see received changes, like any other change.
public struct SharedChangeLog: Sendable {
    /// The queue or the pool.
    public let database: DatabaseWriter
    /// The name of this copy.
    public let localPeer: String
    /// The triggers that run in `receive(_:)`, as ``ChangeLog/triggers`` describes.
    public var triggers = Changeset.Triggers.essentialOnly
    /// The treatment of changes made outside of `write(_:)`, as ``ChangeLog/outsideChanges-swift.property`` describes.
    public var outsideChanges = ChangeLog.OutsideChanges.logged
    /// The limit for the times of received entries, as ``ChangeLog/clockTolerance`` describes. Default: one day.
    public var clockTolerance: Duration = .seconds(86_400)

    /// The system's time, and the source of entries' identities. Tests set them.
    package var now: @Sendable () -> Date = { Date() }
    package var identity: @Sendable () -> Int64 = { .random(in: 1...Int64.max) }
    private let tables: [String], rules: [String: ChangeLog.MergePolicy]

    private init(_ tables: [String], _ peer: String, _ rules: [String: ChangeLog.MergePolicy], _ database: DatabaseWriter) {
        (self.database, self.localPeer, self.tables, self.rules) = (database, peer, tables, rules)
    }

    /// Opens the log of a database, or creates it.
    /// - Parameters: as for ``ChangeLog/init(_:tables:localPeer:mergePolicies:)``.
    /// - Throws: the errors of ``ChangeLog/init(_:tables:localPeer:mergePolicies:)`` and
    ///   ``DatabaseWriter/writeWithoutTransaction(timeout:_:)-7tpq1``.
    public init(
        _ database: DatabaseWriter, tables: [String], localPeer peer: String,
        mergePolicies rules: [String: ChangeLog.MergePolicy] = [:]
    ) throws {
        self.init(tables, peer, rules, database)
        let log = self
        try log.withLog { _ in }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public init(
        _ database: DatabaseWriter, tables: [String], localPeer peer: String,
        mergePolicies rules: [String: ChangeLog.MergePolicy] = [:]
    ) async throws {
        self.init(tables, peer, rules, database)
        try await withLog { _ in }
    }

    private func log(_ db: Connection) throws -> ChangeLog {
        let log = try ChangeLog(db, tables: tables, localPeer: localPeer, mergePolicies: rules)
        (log.triggers, log.outsideChanges, log.clockTolerance) = (triggers, outsideChanges, clockTolerance)
        (log.now, log.identity) = (now, identity)
        return log
    }

    /// Runs `body` with the log, on the connection that writes, without a transaction around it. Use it for
    /// ``ChangeLog/prune(gracePeriod:)``, ``ChangeLog/add(peer:)``, ``ChangeLog/position`` and other calls that this type does not
    /// have.
    /// - Throws: any error that `body` throws, and the errors of ``DatabaseWriter/writeWithoutTransaction(timeout:_:)-7tpq1``.
    @discardableResult
    public func withLog<R: Sendable>(_ body: (ChangeLog) throws -> R) throws -> R {
        try database.writeWithoutTransaction { db in try body(log(db)) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func withLog<R: Sendable>(_ body: sending @escaping (ChangeLog) throws -> R) async throws -> R {
        try await database.writeWithoutTransaction { [self] db in try body(log(db)) }
    }

    /// Runs `body` in a transaction and logs its changes, as ``ChangeLog/write(_:)`` does.
    /// - Throws: the errors of ``ChangeLog/write(_:)`` and `withLog(_:)`.
    @discardableResult
    public func write<R: Sendable>(_ body: (Connection) throws -> R) throws -> R { try withLog { try $0.write(body) } }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func write<R: Sendable>(_ body: sending @escaping (Connection) throws -> R) async throws -> R {
        try await withLog { try $0.write(body) }
    }

    /// Returns a message with the entries that another peer lacks, as ``ChangeLog/changes(since:)`` does.
    /// - Throws: the errors of ``ChangeLog/changes(since:)`` and `withLog(_:)`.
    public func changes(
        since position: ChangeLog.Position = ChangeLog.Position()
    ) throws -> ChangeLog.Message { try withLog { try $0.changes(since: position) } }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func changes(since position: ChangeLog.Position = ChangeLog.Position()) async throws -> ChangeLog.Message {
        try await withLog { try $0.changes(since: position) }
    }

    /// Merges a message from another peer into the database, as ``ChangeLog/receive(_:)`` does.
    /// - Throws: the errors of ``ChangeLog/receive(_:)`` and `withLog(_:)`.
    @discardableResult
    public func receive(_ message: ChangeLog.Message) throws -> ChangeLog.Outcome {
        try withLog { try $0.receive(message) }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func receive(_ message: ChangeLog.Message) async throws -> ChangeLog.Outcome {
        try await withLog { try $0.receive(message) }
    }
}
