import CSQLCipher
import SQLCipherKitCore

/// The information that a ranking function has about the row that it ranks
/// (<https://sqlite.org/fts5.html#custom_auxiliary_functions>).
///
/// A context is valid only during the call and cannot be kept. Its methods throw the errors that FTS5 reports, for example for a
/// column that does not exist.
public struct FTS5RankingContext: ~Copyable {
    let api: UnsafePointer<Fts5ExtensionApi>
    let context: OpaquePointer
    /// The arguments of the function: a search's weights.
    public let arguments: [Double]

    /// The row's id.
    public var rowID: Int64 { api.pointee.xRowid(context) }
    /// The number of columns.
    public var columnCount: Int { Int(api.pointee.xColumnCount(context)) }
    /// The number of phrases in the query.
    public var phraseCount: Int { Int(api.pointee.xPhraseCount(context)) }
    /// The number of words in a phrase of the query; phrases are counted from 0.
    public func phraseSize(_ phrase: Int) -> Int { Int(api.pointee.xPhraseSize(context, Int32(clamping: phrase))) }

    /// The number of rows in the table.
    /// - Throws: an error of FTS5.
    public func rowCount() throws -> Int {
        var count: Int64 = 0
        try check(api.pointee.xRowCount(context, &count))
        return Int(count)
    }

    /// The number of words in a column of the row.
    /// - Parameter column: the column, counted from 0; nil, the default, for all columns together.
    /// - Throws: ``ResultCode/range`` if the table has no such column.
    public func columnSize(_ column: Int? = nil) throws -> Int {
        var size: Int32 = 0
        try check(api.pointee.xColumnSize(context, Int32(clamping: column ?? -1), &size))
        return Int(size)
    }

    /// The number of words in a column, in all rows.
    /// - Parameter column: the column, counted from 0; nil, the default, for all columns together.
    /// - Throws: ``ResultCode/range`` if the table has no such column.
    public func totalSize(_ column: Int? = nil) throws -> Int {
        var size: Int64 = 0
        try check(api.pointee.xColumnTotalSize(context, Int32(clamping: column ?? -1), &size))
        return Int(size)
    }

    /// The occurrences of the query's phrases in the row, in the order of columns and positions. An occurrence has the number of
    /// the phrase in the query, the number of the column, and the number of the word at which the phrase begins, all from 0.
    /// - Throws: an error of FTS5.
    public func instances() throws -> [(phrase: Int, column: Int, position: Int)] {
        var count: Int32 = 0
        try check(api.pointee.xInstCount(context, &count))
        var instances: [(phrase: Int, column: Int, position: Int)] = []
        instances.reserveCapacity(Int(count))
        for index in 0..<count {
            var phrase: Int32 = 0, column: Int32 = 0, position: Int32 = 0
            try check(api.pointee.xInst(context, index, &phrase, &column, &position))
            instances.append((Int(phrase), Int(column), Int(position)))
        }
        return instances
    }

    /// The text of a column of the row; nil if it is not stored, for example in a contentless table.
    /// - Parameter column: the column, counted from 0.
    /// - Throws: ``ResultCode/range`` if the table has no such column.
    public func text(_ column: Int) throws -> String? {
        var text: UnsafePointer<CChar>?
        var count: Int32 = 0
        try check(api.pointee.xColumnText(context, Int32(clamping: column), &text, &count))
        return text.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
    }

    private func check(_ rc: Int32) throws {
        if rc != SQLITE_OK {
            throw DatabaseError(code: ResultCode(rawValue: rc), message: "FTS5: \(String(cString: sqlite3_errstr(rc)))")
        }
    }
}

extension SQLExtension {
    /// A function that ranks hits: hits with smaller results come first.
    /// ```swift
    /// try db.register(.ranking("earliest") { row in
    ///     Double(try row.instances().map(\.position).min() ?? .max)
    /// })
    /// var search = FullTextSearch(query)
    /// search.rankFunction = "earliest"
    /// let hits = try notes.search(search)
    /// ```
    /// If the function throws, the search fails with that error. Every connection that searches with the function needs it:
    /// register it in ``DatabaseConfiguration/prepareDatabase``. Registering throws ``DatabaseError/Reason/invalidArgument`` if
    /// `name` is not as described below.
    /// - Parameters:
    ///   - name: the function's name: ASCII letters, digits and underscores, not beginning with a digit, as FTS5's syntax requires.
    ///   - function: returns a hit's rank; smaller is better.
    public static func ranking(
        _ name: String, _ function: @escaping @Sendable (borrowing FTS5RankingContext) throws -> Double
    ) -> SQLExtension {
        SQLExtension { connection in try connection.installRanking(name, function) }
    }
}

extension Connection {
    fileprivate func installRanking(
        _ name: String, _ function: @escaping @Sendable (borrowing FTS5RankingContext) throws -> Double
    ) throws {
        guard name.isFunctionName else {
            throw DatabaseError.invalidArgument(
                "a ranking function's name has ASCII letters, digits and underscores only, not \(name)"
            )
        }
        let interface = try fts5Interface()
        try keep(RankingFunction(self, function)) { function, release in
            interface.pointee.xCreateFunction(interface, name, function, rank, release)
        }
    }
}

private typealias RankingFunction = FTS5Callback<@Sendable (borrowing FTS5RankingContext) throws -> Double>

private func rank(
    _ api: UnsafePointer<Fts5ExtensionApi>?, _ context: OpaquePointer?, _ result: OpaquePointer?, _ count: Int32,
    _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let api, let context, let data = api.pointee.xUserData(context) else { return }
    let box = Unmanaged<RankingFunction>.fromOpaque(data).takeUnretainedValue()
    let arguments = (0..<Int(count)).map { sqlite3_value_double(values?[$0]) }
    do {
        let rank = try box.function(FTS5RankingContext(api: api, context: context, arguments: arguments))
        sqlite3_result_double(result, rank)
    } catch {
        let error = DatabaseError(thrownBy: "a ranking function", error)
        box.connection?.keepCallbackError(error)
        sqlite3_result_error(result, error.message, -1)
    }
}
