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

@available(*, unavailable, renamed: "SQLRowConvertible")
public typealias SQLRow = SQLRowConvertible
@available(*, unavailable, renamed: "ColumnCodingCustomizable")
public typealias ColumnProfiled = ColumnCodingCustomizable
@available(*, unavailable, renamed: "CustomDateStrategy")
public typealias DateForm = CustomDateStrategy

extension DatabaseError.Reason {
    @available(*, unavailable, renamed: "malformedSchema")
    public static var schemaText: Self { unavailable() }
    @available(*, unavailable, renamed: "usedAfterFork")
    public static var forked: Self { unavailable() }
    @available(*, unavailable, renamed: "transactionAborted")
    public static var aborted: Self { unavailable() }
    @available(*, unavailable, renamed: "missingHMAC")
    public static var notAuthenticated: Self { unavailable() }
}

extension SQLCipherEngine {
    @available(*, unavailable, renamed: "cryptoImplementations")
    public static var kernels: Int { unavailable() }
}

extension ValueProfile {
    @available(*, unavailable, renamed: "namedProfiles")
    public static var named: [ValueProfile] { unavailable() }
}

extension DatabaseProgress {
    @available(*, unavailable, renamed: "completed")
    public var done: Int { unavailable() }
    @available(*, unavailable, renamed: "fractionCompleted")
    public var fraction: Double { unavailable() }
}

extension LiveQuery {
    @available(*, unavailable, renamed: "searchText")
    public var text: String { unavailable() }
}

extension FullTextSearch {
    @available(*, unavailable, renamed: "FullTextSearch.Results")
    public typealias Found = Results
    @available(*, unavailable, renamed: "FullTextSearch.TypoTolerance")
    public typealias Typos = TypoTolerance
    @available(*, unavailable, renamed: "FullTextSearch.RankingRule")
    public typealias Rule = RankingRule
    @available(*, unavailable, renamed: "FullTextSearch.PrefixMatching")
    public typealias Completion = PrefixMatching
    @available(*, unavailable, renamed: "FullTextSearch.FacetCount")
    public typealias Facet = FacetCount

    @available(*, unavailable, renamed: "dropTokensThreshold")
    public var fewerWordsBelow: Int {
        get { unavailable() }
        set { unavailable() }
    }

    @available(*, unavailable, message: "set languages, empty for none")
    public var findsForms: Bool {
        get { unavailable() }
        set { unavailable() }
    }
}

extension Schema {
    @available(*, unavailable, renamed: "Schema.RemnantReport")
    public typealias ResidueReport = RemnantReport
}

extension DatabaseConverter {
    @available(*, unavailable, renamed: "DatabaseConverter.FileKind")
    public typealias Identity = FileKind
}

extension KeySlots.Slot {
    @available(*, unavailable, renamed: "createdAt")
    public var created: Int { unavailable() }
    @available(*, unavailable, renamed: "changedAt")
    public var changed: Int { unavailable() }
}
