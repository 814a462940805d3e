import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

extension ReplicaFollower {
    /// Goes on with the new key after the key of the replicated database was changed. The copy gets that key, and the newest state.
    ///
    /// Until then the copy stays at the last state with the former key, and ``currentStatus`` has the error
    /// ``DatabaseError/Reason/replicaKeyChanged``. If the call throws, the follower has the former key and can be asked again.
    /// - Parameter key: how the database is encrypted now.
    /// - Throws: ``DatabaseError/Reason/replicaKeyChanged`` if the key is a former one; ``DatabaseError/Reason/replicaDamaged`` if
    ///   it opens nothing in the store, or if the first snapshot with it is not complete; ``DatabaseError/Reason/busy`` if another
    ///   process reads the copy; errors of the store.
    public func changeKey(to key: Encryption) async throws {
        while isBusy { try await Task.sleep(for: .milliseconds(2)) }
        isBusy = true
        defer { isBusy = false }
        let reader = try await ReplicaReader(replica.store, key: key, holding: replica.held)
        if reader.isSuperseded { throw DatabaseError.changedReplicaKey("this key was changed as well") }
        guard reader.contents.snapshot != nil, let salt = reader.key?.salt else {
            throw DatabaseError.damagedReplica("the first snapshot is not complete")
        }
        try await requirePages(of: reader.contents.pageSize)
        try await giveCopy(key, salt, reader.held)
        (replica, encryption) = (reader, key)
        try await advance()
        status.error = nil
    }

    /// Follows a new section that the same key opens: a conversion of the database has changed its salt.
    /// - Returns: false if there is no complete snapshot yet.
    func followSection() async throws -> Bool {
        let isNew = state.held.sections.last.map { $0 != replica.section } ?? false
        // Generation 0: an earlier attempt may have been interrupted.
        guard let salt = replica.key?.salt, isNew || state.generation == 0 else { return true }
        guard replica.contents.snapshot != nil else { return false }
        try await requirePages(of: replica.contents.pageSize)
        let isOfSection = try await database.read { db in try db.main.cipher?.salt == salt }
        if isNew || !isOfSection { try await giveCopy(encryption, salt, replica.held) }
        return true
    }

    /// Encrypts the copy as the pages of a section are. If the process ends in the middle, the next follower replaces its content.
    private func giveCopy(_ key: Encryption, _ salt: [UInt8], _ held: FollowerState.Held) async throws {
        let new = try await BlockingExecutor.run { try ReplicaKey.encryption(key, salt: salt) }
        state = .unknown(holding: held)
        try state.write(for: path)
        try await database.changeKey(to: new)
    }

    /// The engine decrypts pages of the copy's size.
    func requirePages(of size: Int) async throws {
        let own = try await database.read { db in try db.main.cipher?.settings.pageSize }
        guard own == size else {
            throw DatabaseError(
                code: .mismatch,
                message: "the replicated database has pages of \(size) bytes now: remove the copy \(path), and follow again",
                path: path)
        }
    }
}
