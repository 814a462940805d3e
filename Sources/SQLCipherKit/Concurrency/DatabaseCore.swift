import CSQLCipher
import Synchronization

/// What a queue and a pool have in common: a connection that writes, perhaps others that read, and calls that wait for them.
///
/// Who needs both takes the writer first: so nobody waits for somebody who waits for him.
final class DatabaseCore: Sendable {
    let writer: Lender
    /// Nil where the writer reads as well.
    let readers: Lender?
    private let forks = sqlcipherkit_forks()
    let pace = ReadPace()
    /// Who is told of the writer's commits.
    let changes = ChangeBroker()
    /// What the readers are opened by; nil without any.
    private let recipe: ReaderRecipe.Shared?
    private let idleReaders: IdleReaders?
    let logKeeper: LogKeeper?

    /// One connection for everything.
    init(_ connection: Connection) {
        writer = Lender([ConnectionSlot(connection)])
        (readers, recipe, idleReaders, logKeeper) = (nil, nil, nil, nil)
    }

    /// A connection that writes, and as many readers as its configuration says.
    init(writer connection: Connection) throws(DatabaseError) {
        let settings = connection.configuration.pool
        let recipe = ReaderRecipe.Shared(try ReaderRecipe(connection))
        let idleReaders = IdleReaders(period: settings.readerIdleTime)
        logKeeper = connection.configuration.access == .readOnly ? nil : try LogKeeper(connection)
        let readers = Lender(
            (0..<settings.maximumReaders).map { _ in
                ConnectionSlot {
                    guard let recipe = recipe.current else { throw DatabaseError.closedDatabase }
                    return try recipe.openReader()
                }
            })
        writer = Lender([ConnectionSlot(connection)])
        (self.readers, self.recipe, self.idleReaders) = (readers, recipe, idleReaders)
    }

    deinit {
        // What the engine has is the parent's, and a lock may have been another thread's when the process forked.
        if forks != sqlcipherkit_forks() { return }
        idleReaders?.stop()
        closeAll()
    }

    /// Closes all connections, once nobody has them any more.
    private func closeAll() {
        for lender in [readers, writer].compactMap({ $0 }) {
            // Without a deadline and without a ticket there is nothing else to throw.
            try? lender.takeAll(closing: true)
            for slot in lender.slots { slot.close() }
            lender.giveBackAll()
        }
        changes.writerIsGone()
    }

    var isOpen: Bool { forks == sqlcipherkit_forks() && !writer.isClosed }

    /// Throws where a call would wait for itself, or in a child process, whose parent may hold the locks for ever.
    func checkCall() throws(DatabaseError) {
        if forks != sqlcipherkit_forks() { throw .forked }
        let thread = sqlcipherkit_thread()
        for slot in writer.slots where slot.user.load(ordering: .relaxed) == thread { throw .insideCall }
        guard let readers else { return }
        for slot in readers.slots where slot.user.load(ordering: .relaxed) == thread { throw .insideCall }
    }

    // MARK: On the caller's thread

    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try checkCall()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let lender = lender(for: mode)
        let slot = try lender.take(until: deadline)
        defer { lender.giveBack(slot) }
        return try perform(mode, slot, until: deadline, nil, body)
    }

    /// Runs `body` on a slot that was taken.
    func perform<R>(
        _ mode: ConnectionSlot.Mode, _ slot: ConnectionSlot, until deadline: ContinuousClock.Instant?, _ ticket: Ticket?,
        _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        let wasOpen = slot.isOpen
        defer { if !wasOpen, let idleReaders, let readers { idleReaders.watch(readers) } }
        let result = try slot.run(mode, until: deadline, ticket, body)
        if case .write = mode { keepLogSmall(slot) }
        return result
    }

    private func keepLogSmall(_ slot: ConnectionSlot) {
        guard let logKeeper, let readers else { return }
        try? slot.run(.anything) { db in
            logKeeper.committed(db) { body in
                guard (try? readers.takeAll(until: .now + LogKeeper.patience)) != nil else { return }
                defer { readers.giveBackAll() }
                body()
                changes.logsMayBeEmpty(db)
            }
        }
    }

    func runAlone<R>(timeout: Duration?, _ body: (Connection) throws -> sending R) throws -> sending R {
        try checkCall()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let slot = try writer.take(until: deadline)
        defer { writer.giveBack(slot) }
        return try alone(slot, until: deadline, nil, body)
    }

    /// Waits for all readers, and then runs `body` on the writer.
    func alone<R>(
        _ slot: ConnectionSlot, until deadline: ContinuousClock.Instant?, _ ticket: Ticket?,
        _ body: (Connection) throws -> sending R
    ) throws -> sending R {
        try withoutReaders(slot, until: deadline, ticket) { try slot.run(.anything, until: deadline, ticket, body) }
    }

    /// Runs `body` while no reader is at work or even open: their locks would be in the way of what needs the whole file.
    func withoutReaders<R>(
        _ slot: ConnectionSlot, until deadline: ContinuousClock.Instant? = nil, _ ticket: Ticket? = nil, _ body: () throws -> sending R
    ) throws -> sending R {
        guard let readers else { return try body() }
        slot.user.store(sqlcipherkit_thread(), ordering: .relaxed)
        defer { slot.user.store(0, ordering: .relaxed) }
        try readers.takeAll(until: deadline, ticket: ticket)
        for reader in readers.slots { reader.close() }
        defer {
            // The key or the attached databases may be others now, also after a call that was cancelled.
            try? slot.run(.anything) { db in
                changes.logsMayBeEmpty(db)
                recipe?.current = try ReaderRecipe(db)
            }
            readers.giveBackAll()
        }
        return try body()
    }

    /// Moves the write-ahead log into the database. Readers of its own make a checkpoint fail that they could wait for.
    func checkpoint(_ mode: CheckpointMode, of schema: String) throws -> CheckpointResult {
        try checkCall()
        let slot = try writer.take(until: nil)
        defer { writer.giveBack(slot) }
        guard mode != .passive, let readers else { return try slot.run(.anything) { db in try db.schema(schema).checkpoint(mode) } }
        try readers.takeAll()
        defer { readers.giveBackAll() }
        return try slot.run(.anything) { db in
            defer { changes.logsMayBeEmpty(db) }
            return try db.schema(schema).checkpoint(mode)
        }
    }

    func lender(for mode: ConnectionSlot.Mode) -> Lender {
        if case .read = mode, let readers { readers } else { writer }
    }

    // MARK: Closing

    func close() throws(DatabaseError) {
        guard isOpen else { return }
        try checkCall()
        idleReaders?.stop()
        writer.close()
        readers?.close()
        closeAll()
    }
}

extension DatabaseError {
    static let insideCall = misuse("a call inside of another call's closure would wait for itself: use the connection that is there already")
}
