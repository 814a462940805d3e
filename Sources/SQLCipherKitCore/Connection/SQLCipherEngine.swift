import CSQLCipher
import Synchronization

/// The engine that this package was built with: its versions, options and crypto provider.
///
/// Everything is read from the running engine, not from a constant of the build.
public enum SQLCipherEngine {
    /// SQLite's version, such as `3.53.4` (<https://sqlite.org/c3ref/libversion.html>).
    public static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    /// The identifier of the SQLite check-in that the engine was built from: date, time and hash.
    public static var sourceID: String { String(cString: sqlite3_sourceid()) }

    /// SQLCipher's version and edition, such as `4.19.0 community`
    /// (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_version>).
    public static let cipherVersion = answer(to: "cipher_version")

    /// The crypto library, as SQLCipher names it: `libtomcrypt`, `commoncrypto` (on Apple platforms), `openssl`, or `portable` if
    /// there is no library.
    public static let cryptoProvider = answer(to: "cipher_provider")

    /// The version of the crypto library, as the library reports it.
    public static let cryptoProviderVersion = answer(to: "cipher_provider_version")

    /// The code that does the cryptography in this process, chosen by the features of its CPU: AES-256-CBC and HMAC-SHA512 of a
    /// page, whether a page is encrypted and authenticated in one pass or in two, PBKDF2-HMAC-SHA512, and the source of salts and
    /// initialization vectors.
    public static var cryptoImplementations: (aes: String, sha512: String, page: String, pbkdf2: String, random: String) {
        let info = sqlcipherkit_provider_info()
        func text(_ name: UnsafePointer<CChar>?) -> String { name.map { String(cString: $0) } ?? "" }
        return (text(info.aes), text(info.sha512), text(info.page), text(info.pbkdf2), text(info.random))
    }

    /// The options that the engine was compiled with, in SQLite's order and without the prefix `SQLITE_`
    /// (<https://sqlite.org/compile.html>).
    public static var compileOptions: [String] {
        var options: [String] = []
        while let option = sqlite3_compileoption_get(Int32(options.count)) { options.append(String(cString: option)) }
        return options
    }

    /// Features that an engine may have been compiled with or without.
    public struct Feature: Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// The feature's name, the same as in Swift.
        public let description: String
        fileprivate let option: String
        private init(_ name: String, _ option: String) { (description, self.option) = (name, option) }

        public static let allCases: [Feature] = [
            .encryption, .fts5, .fts4, .json, .rtree, .sessions, .snapshots, .mathFunctions, .percentile, .updateDeleteLimit,
            .dbstat,
        ]

        /// Encryption by SQLCipher.
        public static let encryption = Feature("encryption", "HAS_CODEC")
        /// Full-text search with FTS5 (<https://sqlite.org/fts5.html>).
        public static let fts5 = Feature("fts5", "ENABLE_FTS5")
        /// The older full-text tables, FTS3 and FTS4 (<https://sqlite.org/fts3.html>).
        public static let fts4 = Feature("fts4", "ENABLE_FTS4")
        /// JSON and JSONB functions (<https://sqlite.org/json1.html>).
        public static let json = Feature("json", "OMIT_JSON")
        /// R*Tree indexes (<https://sqlite.org/rtree.html>).
        public static let rtree = Feature("rtree", "ENABLE_RTREE")
        /// Sessions and changesets (<https://sqlite.org/sessionintro.html>).
        public static let sessions = Feature("sessions", "ENABLE_SESSION")
        /// Read snapshots of a write-ahead log (<https://sqlite.org/c3ref/snapshot.html>).
        public static let snapshots = Feature("snapshots", "ENABLE_SNAPSHOT")
        /// `sin`, `log`, `pow` and others (<https://sqlite.org/lang_mathfunc.html>).
        public static let mathFunctions = Feature("mathFunctions", "ENABLE_MATH_FUNCTIONS")
        /// `median`, `percentile` and others (<https://sqlite.org/percentile.html>).
        public static let percentile = Feature("percentile", "ENABLE_PERCENTILE")
        /// `ORDER BY` and `LIMIT` on `UPDATE` and `DELETE`.
        public static let updateDeleteLimit = Feature("updateDeleteLimit", "ENABLE_UPDATE_DELETE_LIMIT")
        /// The table `dbstat`: the number of pages per table and index (<https://sqlite.org/dbstat.html>).
        public static let dbstat = Feature("dbstat", "ENABLE_DBSTAT_VTAB")
    }

    /// Returns whether the engine was compiled with a feature.
    public static func supports(_ feature: Feature) -> Bool {
        let isUsed = sqlite3_compileoption_used(feature.option) != 0
        // JSON is part of the engine unless it was left out, and no option says that it is in.
        return feature == .json ? !isUsed : isUsed
    }

    /// Returns the text that a SQLCipher pragma returns; empty if the engine returns none.
    ///
    /// The provider belongs to a codec, so the pragma returns nothing on a connection without a key. A raw key of zeroes for a
    /// database in memory needs no key derivation and protects nothing.
    private static func answer(to pragma: String) -> String {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlcipherkit_open(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX) == SQLITE_OK else { return "" }
        let key = "x'" + String(repeating: "0", count: 64) + "'"
        var settings = CipherConfiguration().engineSettings
        guard sqlcipherkit_key(handle, "main", key, Int32(key.utf8.count), &settings) == SQLITE_OK else { return "" }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, "PRAGMA \(pragma)", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { return "" }
        return String(cString: text)
    }
}

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
    /// The message text. If the text would quote a key, the key is removed.
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
    ///   - body: called on the logging thread, during a call: it must be quick and must not use a connection. Nil ends logging.
    /// - Throws: ``DatabaseError`` if the engine has no memory to start.
    public static func setLogger(
        minimumLevel level: LogMessage.Level = .warning, _ body: (@Sendable (LogMessage) -> Void)?
    ) throws {
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
