import SQLCipherKitCore

// What NamesElsewhere.swift of SQLCipherKitConcurrency is for queues and statements, for full-text tables.

@available(*, unavailable, message: "search(text) of db.fullText(table) takes what people type; FTS5Query is for FTS5's own syntax")
public typealias FTS5Pattern = FTS5Query

extension FTS5Query {
    @available(*, unavailable, message: "search(text) of db.fullText(table) finds words by their beginnings")
    public init(matchingAllPrefixesIn text: String) { self = .nothing }
}

@available(*, unavailable, message: "create(FTS5Table(\"name\", columns: [\"title\"]))")
public func FTS5() -> FTS5Table { fatalError("this is not available") }

extension Connection {
    @available(*, unavailable, message: "create(FTS5Table(\"name\", columns: [\"title\"]))")
    public func create(virtualTable: String, using module: FTS5Table, _ body: (FTS5Table.Definition) throws -> Void) throws {}
}

@available(*, unavailable)
extension FTS5Table {
    public struct Definition {
        public func column(_ name: String) {}
    }
}
