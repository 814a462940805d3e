/// What changes the whole file, or how all connections are opened.
extension DatabaseCore {
    /// Changes the key while nobody else has the database, and opens it again if that takes a new connection.
    func changeKey(to key: EncryptionKey, _ mode: KeyChangeMode, _ progress: RewriteProgressHandler?) throws {
        try runAlone(timeout: nil, reopening: key) { db in
            try db.changeKey(to: key, mode: mode, progress: progress)
        }
    }

    /// Encrypts the file otherwise, or decrypts it.
    func convert(to target: Encryption, _ progress: RewriteProgressHandler?) throws {
        var key: EncryptionKey?
        var cipher: CipherConfiguration?
        if case .key(let newKey, let newCipher) = target { (key, cipher) = (newKey, newCipher) }
        try cipher?.validate()
        try runAlone(timeout: nil, reopening: key, cipher) { db in
            try db.main.requireRewritable()
            try DatabaseReplacement(of: db.main, key: target, progress: progress).run()
            // It has the old file open, which has no name any more.
            db.close()
        }
    }

    private func runAlone(
        timeout: Duration?, reopening key: EncryptionKey?, _ cipher: CipherConfiguration? = nil, _ body: (Connection) throws -> Void
    ) throws {
        try checkCall()
        let slot = try writer.take(until: nil)
        defer { writer.giveBack(slot) }
        try withoutReaders(slot) {
            let recipe = ReaderRecipe.Shared(nil)
            try slot.run(.anything) { db in
                recipe.current = try ReaderRecipe(db)
                try body(db)
            }
            guard !slot.isOpen, var recipe = recipe.current else { return }
            if let cipher { recipe.configuration.cipher = cipher }
            let db = try recipe.openWriter(key)
            try logKeeper?.watch(db)
            slot.replace(by: db)
            changes.writerIsGone()
        }
    }
}
