// Names before 1.0 that the README and the articles showed: the compiler's error has the new one. None of them can be called.

@available(*, unavailable, renamed: "DatabaseKey")
public typealias Encryption = DatabaseKey
@available(*, unavailable, renamed: "DatabaseWriter")
public typealias SharedDatabase = DatabaseWriter
@available(*, unavailable, renamed: "OwnedRow")
public typealias RowCopy = OwnedRow
@available(*, unavailable, renamed: "ResourceLimits")
public typealias WorkLimits = ResourceLimits
@available(*, unavailable, renamed: "SQLPermissions")
public typealias SQLAccess = SQLPermissions
@available(*, unavailable, renamed: "DatabaseProgress")
public typealias RewriteProgress = DatabaseProgress
@available(*, unavailable, renamed: "FTS5CustomTokenizer")
public typealias FTS5TextTokenizer = FTS5CustomTokenizer

extension Connection {
    @available(*, unavailable, renamed: "withPermissions(_:_:)")
    public func withAccess<R>(_ permissions: SQLPermissions, _ body: () throws -> R) throws -> R { unavailable() }

    @available(*, unavailable, renamed: "updateChanges(_:from:in:)")
    public func update<Record: SQLRecord>(_ record: Record, from old: Record) throws -> Bool { unavailable() }
}

extension DatabaseConfiguration {
    @available(*, unavailable, renamed: "valueProfile")
    public var values: ValueProfile {
        get { unavailable() }
        set { unavailable() }
    }

    @available(*, unavailable, renamed: "prepareDatabase")
    public var prepare: (@Sendable (Connection) throws -> Void)? {
        get { unavailable() }
        set { unavailable() }
    }
}

extension DatabaseConfiguration.Durability {
    @available(*, unavailable, renamed: "off")
    public static var nothing: Self { unavailable() }
}

extension LikePattern {
    @available(*, unavailable, renamed: "hasPrefix(_:)")
    public static func begins(with text: String) -> LikePattern { unavailable() }

    @available(*, unavailable, renamed: "hasSuffix(_:)")
    public static func ends(with text: String) -> LikePattern { unavailable() }
}

extension DatabaseWriter {
    @available(*, unavailable, renamed: "writeWithoutTransaction(timeout:_:)")
    public func withWriter<R>(_ body: (Connection) throws -> R) throws -> R { unavailable() }

    @available(*, unavailable, renamed: "barrierWriteWithoutTransaction(timeout:_:)")
    public func barrier<R>(_ body: (Connection) throws -> R) throws -> R { unavailable() }
}

extension SQLUpsert {
    @available(*, unavailable, renamed: "where(_:)")
    public func only(_ condition: (SQLColumns<Record>, SQLColumns<Record>) -> SQLPredicate) -> SQLUpsert { unavailable() }
}

extension SQLQueryable {
    @available(*, unavailable, renamed: "aliased(_:)")
    public func named(_ name: String) -> Self { unavailable() }
}

extension FullTextIndex {
    @available(*, unavailable, renamed: "passesIntegrityCheck(comparingContent:)")
    public func isIntact(comparingContent: Bool? = nil) throws -> Bool { unavailable() }
}

extension FullTextSearch {
    @available(*, unavailable, renamed: "rankingRules")
    public var rules: [RankingRule] {
        get { unavailable() }
        set { unavailable() }
    }

    @available(*, unavailable, renamed: "typoTolerance")
    public var typos: TypoTolerance {
        get { unavailable() }
        set { unavailable() }
    }

    @available(*, unavailable, renamed: "retrievedColumns")
    public var columns: [String] {
        get { unavailable() }
        set { unavailable() }
    }

    @available(*, unavailable, renamed: "highlightedColumns")
    public var highlights: [String] {
        get { unavailable() }
        set { unavailable() }
    }
}

extension Schema {
    @available(*, unavailable, renamed: "eraseDeletedContent(progress:)")
    public func erase() throws {}

    @available(*, unavailable, renamed: "findRemnants(of:progress:)")
    public func residue(of texts: [String]) throws -> RemnantReport { unavailable() }
}

extension KeySlots {
    @available(*, unavailable, renamed: "slots()")
    public func list() throws -> [Slot] { unavailable() }
}
