import CSQLCipher

extension DatabaseConfiguration {
    /// For a file from an untrusted source: read-only, with ``Safeguards``.
    /// ```swift
    /// let db = try Connection(.file("from-the-mail.db"), configuration: .untrusted)
    /// ```
    public static var untrusted: DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        configuration.safeguards = Safeguards()
        return configuration
    }

    /// SQLite's recommended precautions for files from untrusted sources (<https://sqlite.org/security.html>). They apply to the
    /// whole connection, from before the first read until it closes.
    ///
    /// Cells of a page are always checked before they are used (`PRAGMA cell_size_check`). With or without safeguards, this engine
    /// never maps files into memory and never loads code.
    public struct Safeguards: Hashable, Sendable {
        /// True if `PRAGMA quick_check` must pass before anything else is read. It reads the whole file. Default: true.
        public var checksStructure = true
        /// See ``ConnectionOption/trustedSchema``. Default: false.
        public var trustsSchema = false
        /// See ``ConnectionOption/defensive``. Default: true.
        public var isDefensive = true
        /// True if views can be used: a view may replace a table that you expect. Default: false.
        public var allowsViews = false
        /// True if triggers run. Default: false.
        public var allowsTriggers = false
        /// The limits on time, memory and rows for reading the schema, for checking the structure, and for later calls that work on
        /// the whole file, such as `verify()`. Default: ``ResourceLimits/init()``.
        public var resourceLimits = ResourceLimits()
        /// Upper limits for the demands of the file. Default: 100 MB for a value, 1 MB for a statement or an object of the schema,
        /// an expression 100 deep, 50 parts of a compound query, triggers 10 deep.
        public var limits: [Connection.Settings.Limit: Int] = [
            .length: 100_000_000, .sqlLength: 1_000_000, .expressionDepth: 100, .compoundSelect: 50, .triggerDepth: 10,
        ]

        /// The defaults.
        public init() {}
    }
}

extension Connection {
    /// Turns on the safeguards and runs `body`; if `body` throws, all settings are reset. Safeguards that are not set change
    /// nothing, so a second file never makes a connection less careful.
    func withSafeguards<R>(_ safeguards: DatabaseConfiguration.Safeguards?, _ body: () throws -> R) throws -> R {
        guard let safeguards else { return try body() }
        let handle = try liveOutsideHooks()
        var options: [(option: Int32, before: Int32)] = [], limits: [(limit: Int32, before: Int32)] = []
        let checksCells = try fetchOne(Bool.self, "PRAGMA cell_size_check") ?? false
        do {
            try execute("PRAGMA cell_size_check = ON")
            for (option, value, isWanted) in safeguards.options where isWanted {
                var before: Int32 = 0, now: Int32 = 0
                try check(sqlcipherkit_db_config(handle, option.number, -1, &before))
                try check(sqlcipherkit_db_config(handle, option.number, value, &now))
                options.append((option.number, before))
            }
            for (limit, value) in safeguards.limits where value >= 0 {
                let before = sqlite3_limit(handle, limit.number, -1)
                sqlite3_limit(handle, limit.number, min(Int32(clamping: value), before))
                limits.append((limit.number, before))
            }
            return try limited(to: safeguards.resourceLimits, body)
        } catch {
            if let handle = usableHandle {
                var now: Int32 = 0
                for change in options { _ = sqlcipherkit_db_config(handle, change.option, change.before, &now) }
                for change in limits { sqlite3_limit(handle, change.limit, change.before) }
                if !checksCells { try? restoring { try execute("PRAGMA cell_size_check = OFF") } }
            }
            throw error
        }
    }
}

extension DatabaseConfiguration.Safeguards {
    /// The options, the value of each, and whether it is set at all.
    fileprivate var options: [(ConnectionOption, Int32, Bool)] {
        [
            (.defensive, 1, isDefensive), (.trustedSchema, 0, !trustsSchema), (.views, 0, !allowsViews),
            (.triggers, 0, !allowsTriggers),
        ]
    }
}

extension Schema {
    /// - Throws: ``ResultCode/corrupt`` with the first problem that `PRAGMA quick_check` finds.
    func requireStructure() throws {
        let problem: String?
        do { problem = try integrityCheck(
            limit: 1, quick: true
        ).first } catch let error as DatabaseError where .corrupt ~= error.code {
            problem = error.message
        }
        guard let problem else { return }
        let path = try path
        throw DatabaseError(code: .corrupt, message: "the structure of \(path ?? name) is damaged: \(problem)", path: path)
    }
}
