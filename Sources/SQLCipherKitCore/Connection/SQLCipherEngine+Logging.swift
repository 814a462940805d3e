import CSQLCipher
import Synchronization

/// A message in the engine's log.
public struct LogMessage: Hashable, Sendable {
    /// The severity of a message.
    public enum Level: Int, Hashable, Sendable, Comparable, CaseIterable {
        case trace, debug, info, warning, error

        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The severity of the message.
    public let level: Level
    /// SQLite's result code; nil for a message from SQLCipher.
    public let code: ResultCode?
    /// The message text. A key that it would quote is removed.
    public let text: String
}

extension SQLCipherEngine {
    /// Sends the engine's log to `body`. By default nothing is logged or printed.
    ///
    /// SQLite logs errors as they happen, with their SQL (<https://sqlite.org/errlog.html>). SQLCipher logs what it does with keys
    /// and pages, but not the keys. Both logs belong to the whole process, so there is one logger: setting another replaces it.
    /// ```swift
    /// try SQLCipherEngine.setLogger(minimumLevel: .warning) { message in print(message.level, message.text) }
    /// ```
    /// - Parameters:
    ///   - level: the lowest level to report. Default: warnings. SQLCipher logs many messages at lower levels.
    ///   - body: called on the thread that logs, in the middle of a call: it must be quick and must not use any connection. Nil
    ///     ends logging.
    /// - Throws: ``DatabaseError`` if the engine has no memory to start.
    public static func setLogger(
        minimumLevel level: LogMessage.Level = .warning, _ body: (@Sendable (LogMessage) -> Void)?
    ) throws(DatabaseError) {
        let rc = EngineLog.logger.withLock { logger in
            logger = body.map { (level, $0) }
            EngineLog.isOn.store(body != nil, ordering: .releasing)
            return sqlcipherkit_set_log(
                body == nil ? nil : { EngineLog.receive($0, $1) }, body == nil ? 0 : EngineLog.number(level))
        }
        if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the log could not be set up") }
    }
}

enum EngineLog {
    fileprivate static let logger = Lock<(level: LogMessage.Level, body: @Sendable (LogMessage) -> Void)?>(nil)
    fileprivate static let isOn = Atomic<Bool>(false)

    /// Compiles SQL. If it contains a key, SQLite's messages on this thread are logged without their text in the meantime, because
    /// they would quote the key.
    static func withholding<R>(_ sql: String, _ body: () -> R) -> R {
        guard isOn.load(ordering: .relaxed), KeyRedaction(sql) != nil else { return body() }
        sqlcipherkit_log_secret(1)
        defer { sqlcipherkit_log_secret(-1) }
        return body()
    }

    fileprivate static func number(_ level: LogMessage.Level) -> UInt32 {
        switch level {
        case .error: 1
        case .warning: 2
        case .info: 4
        case .debug: 8
        case .trace: 16
        }
    }

    fileprivate static func receive(_ code: Int32, _ text: UnsafePointer<CChar>?) {
        guard let text, let logger = logger.withLock({ $0 }) else { return }
        let message = code < 0 ? cipherMessage(String(cString: text)) : sqliteMessage(code, String(cString: text))
        if message.level >= logger.level { logger.body(message) }
    }

    private static func sqliteMessage(_ code: Int32, _ text: String) -> LogMessage {
        let code = ResultCode(rawValue: code)
        let level: LogMessage.Level =
            switch code.primary.rawValue {
            case SQLITE_OK, SQLITE_NOTICE: .info
            case SQLITE_WARNING: .warning
            default: .error
            }
        // The reason why a statement failed may repeat its values. The thrown error says more, without them.
        if code == .error || code == .constraintTrigger, text.hasPrefix("statement aborts at "),
            let sql = text.firstRange(of: "; [")
        {
            let place = text.prefix { $0 != ":" }
            return LogMessage(
                level: level, code: code, text: KeyRedaction.clean("\(place)\(text[sql.lowerBound...])"))
        }
        // The SQL is somewhere in the message, so if it looks like a statement with a key, all of it is hidden.
        let lowercased = text.lowercased()
        let mayHoldKey = lowercased.contains("key") && (lowercased.contains("pragma") || lowercased.contains("attach"))
        return LogMessage(
            level: level, code: code, text: mayHoldKey ? "\(code), in SQL with a key" : KeyRedaction.cleanURI(text)
        )
    }

    /// `2026-11-21 08:30:00.250: WARN CORE text`
    private static func cipherMessage(_ line: String) -> LogMessage {
        var text = line[...]
        if let colon = text.range(of: ": ") { text = text[colon.upperBound...] }
        let level: LogMessage.Level =
            switch text.prefix(while: { $0 != " " }) {
            case "ERROR": .error
            case "WARN": .warning
            case "INFO": .info
            case "DEBUG": .debug
            default: .trace
            }
        // SQLCipher logs a pragma with its value, which for some, such as hexkey, is a key.
        if let value = text.range(of: "zRight="), text.lowercased().contains("key") || text.contains("cipher_add_random") {
            text = text[..<value.upperBound] + KeyRedaction.mark
        }
        return LogMessage(level: level, code: nil, text: String(text))
    }
}
