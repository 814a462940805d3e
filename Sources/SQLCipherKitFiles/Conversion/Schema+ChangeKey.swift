import SQLCipherKitCore

extension Schema {
    /// The way in which a key change rewrites the database.
    public struct KeyChangeMode: Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// The mode's name, the same as in Swift.
        public let description: String
        private init(_ name: String) { description = name }

        public static let allCases: [KeyChangeMode] = [.inPlace, .newFile]

        /// Rewrites the file itself in one transaction, as ``Schema/changeKey(to:progress:)`` does.
        public static let inPlace = KeyChangeMode("inPlace")
        /// Writes a new file, which is compared with the old file and then replaces it, so that the old file is never written to.
        /// This is the safest way. The salt is new as well. For the main database, the connection is closed at the end, because it
        /// has the old file open. An attached database is attached again.
        public static let newFile = KeyChangeMode("newFile")
    }
}

extension Schema {
    /// Changes the key of the database, in place or with a new file.
    ///
    /// In the mode ``Schema/KeyChangeMode/newFile``, an idle connection without a write-ahead log in another process is not
    /// detected, and would continue with the old file.
    ///
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - mode: whether to rewrite the file in place, or to write a new file.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect. If it throws,
    ///     the change is undone, this call throws the same error, and the connection continues with the old key.
    /// - Throws: the same errors as ``Schema/changeKey(to:progress:)``; for a database with ``KeySlots``,
    ///   ``KeySlots/rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)`` changes both keys. With a new file, errors
    ///   such as a full disk are thrown unchanged, and nothing has changed; ``DatabaseError/Reason/conversionFailed`` means that
    ///   the copy was not equal to the original, which is kept.
    public func changeKey(to key: DatabaseKey, mode: KeyChangeMode, progress: DatabaseProgress.Handler? = nil) throws {
        try replaceKey(by: resolvedForKeyChange(key), mode, progress)
    }

    /// Like `changeKey(to:mode:progress:)`, but also for key slots, which get the new key at the same time.
    func replaceKey(by key: DatabaseKey, _ mode: KeyChangeMode, _ progress: DatabaseProgress.Handler?) throws {
        guard mode == .newFile else { return try replaceKey(by: key, progress) }
        try changingKey(to: key) { key, _ in
            let path = try self.path
            try DatabaseReplacement(of: self, key: key, progress: progress).run()
            if isMain { return connection.closeNow() }
            do {
                try connection.changingThisOneOnly {
                    try detach()
                    if let path { try connection.attach(.file(path), as: name, key: key) }
                }
            } catch {
                let error = error as? DatabaseError
                throw DatabaseError(
                    changingKeyOf: path, code: error?.code ?? .error, workingKey: .new,
                    message: "the key was changed, but the database could not be attached again (\(error?.message ?? ""))")
            }
        }
    }
}

extension Connection {
    /// Changes the key of the main database, in place or with a new file.
    ///
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - mode: whether to rewrite the file in place, or to write a new file, which closes the connection at the end.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect; if it throws, the key is
    ///     not changed.
    /// - Throws: the same errors as ``Schema/changeKey(to:mode:progress:)``.
    public func changeKey(to key: DatabaseKey, mode: Schema.KeyChangeMode, progress: DatabaseProgress.Handler? = nil) throws {
        try main.changeKey(to: key, mode: mode, progress: progress)
    }
}
