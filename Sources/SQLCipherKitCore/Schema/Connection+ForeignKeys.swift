extension Connection {
    /// Runs `body`, outside a transaction, without enforcing foreign keys.
    package func withoutForeignKeys<R>(_ body: () throws -> R) throws -> R {
        if try settings.setEnabled(.foreignKeys, to: false) {
            throw DatabaseError.misuse("foreign keys cannot be switched off now")
        }
        let result = Result { try body() }
        guard try !isOpen || settings.setEnabled(.foreignKeys, to: true) else {
            throw DatabaseError.misuse("foreign keys cannot be switched on again: close the connection")
        }
        return try result.get()
    }
}

extension DatabaseError {
    package static func migration(_ message: String) -> DatabaseError {
        DatabaseError(code: .schema, reason: .migration, message: message)
    }
}
