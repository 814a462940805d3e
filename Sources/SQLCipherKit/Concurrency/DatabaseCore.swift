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
    /// What is to be done when somebody has had the database for himself.
    private let afterBarrier: (@Sendable (Connection) -> Void)?

    init(writer: ConnectionSlot, readers: [ConnectionSlot] = [], afterBarrier: (@Sendable (Connection) -> Void)? = nil) {
        self.afterBarrier = afterBarrier
        self.writer = Lender([writer])
        self.readers = readers.isEmpty ? nil : Lender(readers)
    }

    deinit {
        // Nobody is left who could have a slot.
        for slot in readers?.slots ?? [] { slot.close() }
        for slot in writer.slots { slot.close() }
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
        return try slot.run(mode, until: deadline, nil, body)
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
        guard let readers else { return try slot.run(.anything, until: deadline, ticket, body) }
        try readers.takeAll(until: deadline, ticket: ticket)
        defer {
            // Also after a call that was cancelled.
            if let afterBarrier { try? slot.run(.anything) { db in afterBarrier(db) } }
            readers.giveBackAll()
        }
        // Their connections would be in the way of a lock on the whole file.
        for reader in readers.slots { reader.close() }
        return try slot.run(.anything, until: deadline, ticket, body)
    }

    func lender(for mode: ConnectionSlot.Mode) -> Lender {
        if case .read = mode, let readers { readers } else { writer }
    }

    // MARK: Closing

    func close() throws(DatabaseError) {
        guard isOpen else { return }
        try checkCall()
        writer.close()
        readers?.close()
        for lender in [readers, writer].compactMap({ $0 }) {
            // Without a deadline and without a ticket there is nothing else to throw.
            try? lender.takeAll(closing: true)
            for slot in lender.slots { slot.close() }
            lender.giveBackAll()
        }
        changes.writerIsGone()
    }
}

extension DatabaseError {
    static let insideCall = misuse("a call inside of another call's closure would wait for itself: use the connection that is there already")
}
