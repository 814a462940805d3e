import CSQLCipher
import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles

/// A local copy of a replicated database, for reading. It follows the store.
///
/// ```swift
/// let follower = try await ReplicaFollower(at: "copy.db", following: FolderStore("/backup/notes"), key: key)
/// for try await titles in follower.database.observe({ db in try db.fetchAll(String.self, "SELECT title FROM note") }) { … }
/// ```
/// Each step takes the copy to a later commit, in one transaction, so a read never sees half of a commit. A page that is not
/// authentic is never written. Only the follower may write to the copy: changes by another program are lost or damage it. A copy
/// can have only one follower at a time.
///
/// Beside the copy is a note of its position, sealed with the database's key and tied to the copy's present content. So a program
/// without the key cannot make a copy skip commits. If the process ended while the copy changed, the next follower reads all of
/// the newest state.
///
/// The copy never returns to an earlier state, and never changes to another history. If the store shows an earlier state or another
/// history, ``catchUp()`` throws ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked``, the status
/// has the same error, and the copy is unchanged.
public actor ReplicaFollower {
    /// The state of a follower.
    public struct Status: Sendable {
        /// The state of the copy.
        public var position: Replicator.Position
        /// The newest state that was seen in the store.
        public var newest: Replicator.Position
        /// The time when the state of the copy was stored, by the clock of the machine that stored it.
        public var storedAt: Date
        /// The last time when the copy had the newest state in the store.
        public var upToDateAt: Date?
        /// The error of the last attempt; nil if it succeeded. The follower tries again.
        public var error: DatabaseError?

        /// The known number of commits in the store that the copy lacks; nil if the store has begun a new generation.
        public var commitsBehind: Int? {
            position.generation == newest.generation ? Int(newest.commit) - Int(position.commit) : nil
        }
    }

    /// The copy. Use it for reading and observing only; ``reader`` cannot write.
    public nonisolated let database: DatabasePool
    /// Read-only access to the copy.
    public nonisolated var reader: DatabaseReader { database.reader }

    private let path: String
    /// The last key that was passed; nil after the follower has stopped, so that only the open copy keeps a key in memory.
    private var encryption: DatabaseKey?
    private var replica: ReplicaReader
    private var state: FollowerState
    private var status: Status
    private var loop: Task<Void, Never>?
    private var isBusy = false
    private var isStopped = false
    /// Keeps other followers from the copy.
    private var lock: OwnFile?
    /// The number of looks without a new head, so that most of them cost one request.
    private var quietLooks = 0
    /// True if the copy may lack commits that were seen in the store: after a start, or before the last of several steps.
    private var isBehind = true

    /// Restores the newest state, unless there is a copy at `path` already, and begins to follow.
    /// - Parameters:
    ///   - path: the path of the copy. A sealed file beside the copy, with the suffix `-replica`, has the copy's position.
    ///   - store: where the replica is.
    ///   - key: the database's key.
    ///   - interval: the time between two requests for changes, at least 10 milliseconds. Default: one second.
    ///   - configuration: how the copy is opened.
    /// - Throws: the errors of ``Replicator/restore(to:from:key:at:replacing:progress:)``; ``DatabaseError/Reason/busy`` while
    ///   another follower has the copy; ``DatabaseError/Reason/cannotOpen`` if there is a file at `path` that no follower has made,
    ///   or if the note beside the copy was changed, or belongs to another copy or to earlier content: remove the copy and the
    ///   note; ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked`` if the store lacks the copy's
    ///   state; ``DatabaseError/Reason/replicaKeyChanged`` if the copy has another key: then start with that key and call
    ///   ``changeKey(to:)``, or remove the copy; any error of opening the copy.
    public init(
        at path: String, following store: any ObjectStore, key: DatabaseKey, every interval: Duration = .seconds(1),
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) async throws {
        let path = try Paths.file(path, of: "the copy")
        self.path = path
        let interval = interval.betweenPolls, store = CheckedStore(store), lock = try FollowerState.lock(path)
        self.lock = lock
        let note = FileManager.default.fileExists(atPath: path) ? try FollowerState.note(for: path) : nil
        var restored: FollowerState?
        if note == nil {
            restored = try await withTaskExecutorPreference(BlockingExecutor.shared) {
                try await FollowerState.restore(path, from: store, key)
            }
        }
        let pool = try await Self.open(path, key, configuration)
        do {
            if let restored {
                // Each copy of a snapshot has the same first page.
                try await pool.write { db in try db.writeFirstPage() }
                state = try await pool.writeWithoutTransaction { db in try restored.written(for: path, in: db) }
            } else {
                state = try await pool.writeWithoutTransaction { db in try FollowerState(note ?? [], of: db, at: path) }
            }
            replica = try await ReplicaReader(store, key: key, holding: state.held)
        } catch {
            try? await pool.close()
            throw error
        }
        database = pool
        encryption = key
        status = Status(position: state.position, newest: state.position, storedAt: .distantPast)
        loop = Task(executorPreference: BlockingExecutor.shared) { [weak self] in
            while !Task.isCancelled {
                guard await self?.turn() == true else { return }
                try? await Task.sleep(for: interval)
            }
        }
    }

    deinit { loop?.cancel() }

    private static func open(
        _ path: String, _ key: DatabaseKey, _ configuration: DatabaseConfiguration
    ) async throws -> DatabasePool {
        try await BlockingExecutor.run {
            var configuration = configuration
            configuration.access = .readWrite
            do {
                return try DatabasePool(.file(path), key: key, configuration: configuration)
            } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
                throw DatabaseError.changedReplicaKey(
                    "the key does not open the copy \(path); follow with the former key and call changeKey(to:), or remove it")
            }
        }
    }

    /// The state of the follower.
    public var currentStatus: Status { status }

    /// Brings the copy to the newest state in the store, at once.
    /// - Returns: the state that the copy has now.
    /// - Throws: errors of the store; ``DatabaseError/Reason/replicaDamaged``; ``DatabaseError/Reason/replicaKeyChanged`` if the
    ///   newest states need another key; ``DatabaseError/Reason/replicaRolledBack`` if the store lacks the copy's state;
    ///   ``DatabaseError/Reason/replicaForked`` if the store has another history; any error of writing to the copy;
    ///   ``DatabaseError/Reason/closed`` after ``stop()``.
    @discardableResult
    public func catchUp() async throws -> Replicator.Position { try await catchUp(lookingAtHead: true) }

    private func catchUp(lookingAtHead: Bool) async throws -> Replicator.Position {
        try await begin()
        defer { end() }
        try await advance(lookingAtHead: lookingAtHead)
        if replica.isSuperseded {
            throw DatabaseError.changedReplicaKey("the copy has the last state with its key: call changeKey(to:) to continue")
        }
        return state.position
    }

    /// Waits for its turn to change the copy.
    private func begin() async throws {
        while isBusy { try await Task.sleep(for: .milliseconds(2)) }
        if isStopped { throw Self.stopped }
        isBusy = true
    }

    private func end() {
        isBusy = false
        if isStopped { letGo() }
    }

    private static var stopped: DatabaseError {
        DatabaseError(code: .misuse, reason: .closed, message: "the follower was stopped")
    }

    /// Stops following. The copy stays unchanged and open: close ``database`` to leave no key in memory.
    public func stop() async {
        loop?.cancel()
        await loop?.value
        isStopped = true
        if !isBusy { letGo() }
    }

    private func letGo() {
        (lock, encryption) = (nil, nil)
        replica.dropKeys()
    }

    private func turn() async -> Bool {
        do {
            quietLooks += 1
            // A new head, as after a change of the key, is noticed a little later than new links in the chain.
            let looksAtHead = quietLooks >= 10 || status.error != nil || replica.isSuperseded
            if looksAtHead { quietLooks = 0 }
            _ = try await catchUp(lookingAtHead: looksAtHead)
            status.error = nil
        } catch { status.error = DatabaseError(thrownBy: "the follower", error) }
        return !Task.isCancelled
    }

    private func advance(lookingAtHead: Bool = true) async throws {
        var attempts = 0, looksAtHead = lookingAtHead
        while true {
            do {
                var reader = replica
                // Links that were missed for long are in the index by now.
                if !looksAtHead { try await reader.extend(isPartial: true) }
                if looksAtHead || reader.tail.isClosed || !reader.tail.isWhole { try await reader.update() }
                replica = reader
                while try await step() {}
                status.upToDateAt = Date()
                return
            } catch let error as DatabaseError where error.underlyingError is ReplicaReader.Missing {
                // Upkeep has removed it since the head was read.
                (attempts, looksAtHead) = (attempts + 1, true)
                if attempts == 5 { throw error }
            }
        }
    }

    /// Applies commits to the copy, as many as fit into the memory for one transaction.
    /// - Returns: whether the store may have more commits.
    private func step() async throws -> Bool {
        if !isBehind, state.generation > 0, state.held.place == replica.tail.end, state.intent == nil {
            note()
            return false
        }
        guard try await followSection() else { return false }
        let log = state.generation == 0 ? nil : try await replica.log(from: state.place, of: state.generation)
        guard let log, state.intent.map({ $0.generation == UInt64(state.generation) }) ?? true else { return try await replace() }
        status.newest = Replicator.Position(generation: UInt64(state.generation), commit: log.commit)
        guard log.commit >= max(state.intent?.commit ?? 0, state.place.commits) else {
            throw DatabaseError.rolledBackReplica("it lacks commits that it had before")
        }
        let least = max(state.intent?.commit ?? 0, state.place.commits)
        var last = log.commit, size = 0
        for part in log.parts where part.entry.commits > least {
            size += part.entry.size
            if size > 32 << 20 {
                last = part.entry.commits
                break
            }
        }
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: log.pageSize)
        let place = try await replica.readLog(
            log.parts, of: state.generation, pageSize: log.pageSize, from: state.place, upTo: last
        ) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, state.generation, place, replica.held)
        isBehind = last < log.commit
        note()
        return isBehind
    }

    /// Writes all pages of the newest state over the copy, in one transaction.
    /// - Returns: false if the copy already has the newest state.
    private func replace() async throws -> Bool {
        let plan = try await replica.plan(for: .newest)
        status.newest = plan.position
        // The follower waits for a generation that is not complete yet.
        if plan.position <= state.position, state.intent == nil { return false }
        guard plan.position >= max(state.position, state.intent ?? state.position) else {
            throw DatabaseError.rolledBackReplica("it lacks commits that it had before")
        }
        try await requirePages(of: plan.pageSize)
        let spool = try PageSpool(at: path + "-replica-pages", pageSize: plan.pageSize)
        spool.pageCount = plan.snapshot.pages
        try await replica.readSnapshot(plan.snapshot) { page, bytes in try spool.add(page, bytes) }
        let place = try await replica.readLog(
            plan.log, of: plan.generation, pageSize: plan.pageSize, from: plan.start, upTo: plan.commit
        ) { frame, bytes in
            try spool.add(frame.page, bytes)
            if frame.size != 0 { spool.pageCount = frame.size }
        }
        try await write(spool, plan.generation, place, replica.held(by: plan))
        isBehind = false
        note()
        return false
    }

    private func write(
        _ spool: PageSpool, _ generation: UInt32, _ place: ReplicaReader.Place, _ held: HeldPlace
    ) async throws {
        // The outcome of the commit is known only afterwards.
        state.intent = Replicator.Position(generation: UInt64(generation), commit: place.commits)
        // From now on, the copy may have the seen state, and follows no other history.
        state.held = held
        let (path, before, after) = (path, state, FollowerState(generation: generation, place: place, held: held))
        try await database.writeWithoutTransaction { db in
            try FollowerState.write([(before, LogHold(db).replicaKey())], for: path)
        }
        if spool.pageCount > 0 {
            let box = Box(spool: spool)
            try await database.write { db in
                try db.writeFirstPage()
                try box.spool.replay(into: db)
            }
        }
        state = try await database.writeWithoutTransaction { db in try after.written(for: path, in: db) }
        status.position = state.position
    }

    private struct Box: @unchecked Sendable {
        // Sendable: the only call that gets it ends before the spool is used again.
        let spool: PageSpool
    }

    private func note() {
        status.newest = max(status.newest, state.position)
        let time = replica.tail.latest?.time ?? replica.contents.latest
        status.storedAt = Date(timeIntervalSince1970: Double(time) / 1000)
    }
}

extension ReplicaFollower {
    /// Continues with a new key, after the key of the replicated database was changed. The copy gets the new key and the newest
    /// state.
    ///
    /// Until then the copy stays at the last state with the former key, and ``currentStatus`` has the error
    /// ``DatabaseError/Reason/replicaKeyChanged``. If the call throws, the follower keeps the former key, and you can call again.
    /// - Parameter key: the present key of the replicated database.
    /// - Throws: ``DatabaseError/Reason/replicaKeyChanged`` for a former key; ``DatabaseError/Reason/replicaDamaged`` if the key
    ///   opens nothing in the store, or if the first snapshot with this key is not complete; ``DatabaseError/Reason/busy`` if
    ///   another process reads the copy; ``DatabaseError/Reason/closed`` after ``stop()``; errors of the store.
    public func changeKey(to key: DatabaseKey) async throws {
        try await begin()
        defer { end() }
        let reader = try await ReplicaReader(replica.store, key: key, holding: replica.held)
        if reader.isSuperseded { throw DatabaseError.changedReplicaKey("this is a former key too: give the newest key") }
        guard reader.contents.snapshot != nil, let salt = reader.key?.salt else {
            throw DatabaseError.damagedReplica("the first snapshot is not complete yet")
        }
        try await requirePages(of: reader.contents.pageSize)
        try await giveCopy(key, salt, reader.held)
        (replica, encryption) = (reader, key)
        try await advance()
        status.error = nil
    }

    /// Follows a new section that the same key opens: a conversion of the database has changed its salt.
    /// - Returns: false if there is no complete snapshot yet.
    private func followSection() async throws -> Bool {
        let isNew = state.held.sections.last.map { $0 != replica.section } ?? false
        // Generation 0: an earlier attempt may have been interrupted.
        guard let salt = replica.key?.salt, isNew || state.generation == 0 else { return true }
        guard replica.contents.snapshot != nil else { return false }
        try await requirePages(of: replica.contents.pageSize)
        let isOfSection = try await database.read { db in try db.main.cipher?.salt == salt }
        guard let encryption else { throw Self.stopped }
        if isNew || !isOfSection { try await giveCopy(encryption, salt, replica.held) }
        return true
    }

    /// Encrypts the copy with the key and the salt of a section. If the process ends in the middle, the copy has its former state
    /// with the former key, or the next follower replaces its content.
    private func giveCopy(_ key: DatabaseKey, _ salt: [UInt8], _ held: HeldPlace) async throws {
        let new = try await BlockingExecutor.run { try ReplicaKey.encryption(key, salt: salt) }
        let (path, newKey, unknown) = (path, try ReplicaKey(new, salt: salt), FollowerState.unknown(holding: held))
        var former = state
        // The change begins with another journal mode, which is in the first page.
        former.intent = former.intent ?? former.position
        state = unknown
        // The key that the copy has in the end, the new or the former key, opens what is true of it. If both are the same key, that
        // is the first one.
        try await database.writeWithoutTransaction { [former] db in
            try FollowerState.write([(unknown, newKey), (former, LogHold(db).replicaKey())], for: path)
        }
        try await database.changeKey(to: new)
    }

    /// The engine decrypts pages of the copy's size.
    private func requirePages(of size: Int) async throws {
        let own = try await database.read { db in try db.main.cipher?.settings.pageSize }
        guard own == size else {
            throw DatabaseError(
                code: .mismatch,
                message: "the replicated database now has pages of \(size) bytes: remove the copy \(path) and follow again",
                path: path)
        }
    }
}

/// A file of encrypted pages that wait until they are written to a database in one transaction.
private final class PageSpool {
    private let file: OwnFile
    private let pageSize: Int
    private var present: Set<UInt32> = []
    /// The number of pages in the database after the transaction.
    var pageCount: UInt32 = 0

    init(at path: String, pageSize: Int) throws {
        unlink(path)
        guard let file = OwnFile.open(path, for: .creating) else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .cannotOpen, message: "\(path) cannot be created: \(reason)", path: path)
        }
        (self.file, self.pageSize) = (file, pageSize)
        // The file goes away with the process.
        unlink(path)
    }

    func add(_ page: UInt32, _ bytes: UnsafeRawBufferPointer) throws {
        guard page > 0, bytes.count == pageSize, file.write(bytes, at: (Int(page) - 1) * pageSize) else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(code: .ioError, message: "a page cannot be written to a temporary file: \(reason)")
        }
        present.insert(page)
    }

    /// Writes the pages in the open transaction.
    func replay(into db: Connection) throws {
        var bytes = [UInt8](repeating: 0, count: pageSize)
        for page in present.sorted() where page <= pageCount {
            try bytes.withUnsafeMutableBytes { bytes in
                guard file.read(bytes, at: (Int(page) - 1) * pageSize) == pageSize else {
                    throw DatabaseError(code: .ioError, message: "a page cannot be read from a temporary file")
                }
                try db.replayPage(page, bytes)
            }
        }
        try db.endReplay(pages: pageCount)
    }
}

private extension Connection {
    /// Writes the first page as it is, in the open transaction: it is encrypted with another initialization vector.
    func writeFirstPage() throws { try main.setUserVersion(main.userVersion) }

    /// Writes an encrypted page of a replica in the open transaction.
    /// - Parameter bytes: the page; decrypted in place.
    /// - Throws: ``ResultCode/corrupt`` if the page does not match its authentication code.
    func replayPage(_ number: UInt32, _ bytes: UnsafeMutableRawBufferPointer) throws {
        try check(sqlcipherkit_replay_page(liveOutsideHooks(), "main", number, bytes.baseAddress))
    }

    /// Ends the replay of a commit: the database has this number of pages.
    func endReplay(pages: UInt32) throws {
        try check(sqlcipherkit_end_replay(liveOutsideHooks(), "main", pages))
        changedWithoutHook()
    }
}

/// The progress of a follower's database, in a file beside it, sealed with the database's key. While the key changes, the file has
/// a state for each of the two keys.
private struct FollowerState: Codable {
    private static let magic = Array("SQLCipherKit follower 1".utf8)

    /// The database has at least this state.
    var generation: UInt32
    var place: ReplicaReader.Place
    /// A state that the database may have already: no earlier state may become visible again.
    var intent: Replicator.Position?
    var held: HeldPlace
    /// The end of the first page of the database that has exactly this state; see ``Connection/endOfFirstPage()``.
    var mark: [UInt8] = []

    init(generation: UInt32, place: ReplicaReader.Place, held: HeldPlace) {
        (self.generation, self.place, self.held) = (generation, place, held)
    }

    /// The state of an unknown copy, whose content is replaced.
    static func unknown(holding held: HeldPlace = HeldPlace()) -> FollowerState {
        FollowerState(generation: 0, place: ReplicaReader.Place(frames: 0, commits: 0, predecessor: []), held: held)
    }

    var position: Replicator.Position { Replicator.Position(generation: UInt64(generation), commit: place.commits) }

    static func path(for database: String) -> String { database + "-replica" }

    /// - Returns: nil if no follower has made the copy.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the file is there and cannot be read.
    static func note(for database: String) throws -> [UInt8]? { try OwnFile.contents(of: path(for: database)) }

    /// Reads the state in the note beside a database.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if the note was changed, or does not belong to this database with its present
    ///   content.
    init(_ note: [UInt8], of db: Connection, at path: String) throws {
        let key = try LogHold(db).replicaKey()
        let refusal = DatabaseFile.cannotOpen(
            Self.path(for: path), "it is not the last note of this copy's follower: remove the note and the copy, and follow again")
        do {
            var reader = ByteReader(replica: note), found: FollowerState?
            while !reader.isAtEnd, found == nil { found = try key.open(note: try reader.prefixed(), as: Self.magic) }
            guard let found else { throw refusal }
            self = found
        } catch { throw refusal }
        if generation == 0 { return }
        if try db.endOfFirstPage() == mark { return }
        // The copy was changed, and then the process ended: that may be by all that was to be written, or by something else.
        guard let intent else { throw refusal }
        self = .unknown(holding: held)
        self.intent = intent
    }

    /// Takes the lock of the copy, which allows one follower at a time.
    /// - Throws: ``DatabaseError/Reason/busy`` while another follower holds the lock.
    static func lock(_ database: String) throws -> OwnFile {
        if let lock = OwnFile.locked(path(for: database) + "-lock") { return lock }
        guard errno == EWOULDBLOCK else { throw AtomicFile.failure(.cannotOpen, "the copy's lock cannot be created", database) }
        throw DatabaseError(
            code: .busy, reason: .busy, message: "another follower uses the copy \(database)", path: database)
    }

    /// Restores the newest state to a new copy.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file that no follower has made.
    static func restore(_ path: String, from store: CheckedStore, _ key: DatabaseKey) async throws -> FollowerState {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "the file \(path) exists, and no follower created it",
                path: path)
        }
        // A state without a copy is ignored.
        let former = try OwnFile.contents(of: Self.path(for: path))
        do {
            var state = unknown()
            try await Replicator.start(path, store, key, .newest, false, nil, recordEvery: .seconds(5)) { held, place, reader in
                // A copy of a history that has ended could not continue into the new history.
                if (try? held.require(in: reader.tail.end, reader.opening)) == nil {
                    throw DatabaseError.damagedReplica("the first snapshot of the new history is not complete yet")
                }
                guard let key = reader.key else { throw DatabaseError.damagedReplica("the key opens no section") }
                state = FollowerState(generation: held.generation, place: place, held: held)
                // The state of the file that gets the name now is unknown until the file is opened.
                try write([(unknown(holding: held), key)], for: path)
            }
            return state
        } catch {
            // The file that got the name in the meantime is not a copy.
            if let former { try? OwnFile.replace(Self.path(for: path), with: former) } else { unlink(Self.path(for: path)) }
            if !FileManager.default.fileExists(atPath: path) { unlink(Self.path(for: path) + "-lock") }
            throw error
        }
    }

    /// Writes states for the keys that the database may have, so that a crash leaves either these states or the former note.
    static func write(_ states: [(state: FollowerState, key: ReplicaKey)], for database: String) throws {
        var bytes: [UInt8] = []
        for (state, key) in states { bytes.append(prefixed: try key.seal(note: state, as: magic)) }
        try OwnFile.replace(path(for: database), with: bytes)
    }

    /// Writes the state for the database's present content, which is then on the disk. No transaction may be open.
    func written(for database: String, in db: Connection) throws -> FollowerState {
        // The note must not outlive the copy.
        try db.main.makeDurable()
        var state = self
        state.mark = try db.endOfFirstPage()
        try Self.write([(state, LogHold(db).replicaKey())], for: database)
        return state
    }
}
