import SQLCipherKitCore

extension FTS5Tokenizer {
    /// Returns the tokens that the tokenizer finds in a text, to see how a table would index it. For a table that exists, use
    /// ``FullTextIndex/tokens(of:for:)``.
    /// ```swift
    /// let tokens = try FTS5Tokenizer.porter(.unicode61()).tokens(of: "running", on: db)   // run
    /// ```
    /// - Parameters:
    ///   - text: the text.
    ///   - purpose: why it is split into words. Default: to be indexed.
    ///   - connection: the connection on which the tokenizer is registered.
    /// - Throws: ``DatabaseError`` for a tokenizer that is not registered, ``DatabaseError/Reason/invalidArgument`` for one that
    ///   rejects its arguments, and any error of a tokenizer in Swift.
    public func tokens(
        of text: String, for purpose: Purpose = .document, on connection: Connection
    ) throws(DatabaseError) -> [(token: String, range: Range<String.Index>, isColocated: Bool)] {
        try connection.tokens(of: text, arguments: arguments, for: purpose)
    }
}

extension Connection {
    func tokens(
        of text: String, arguments: [String], for purpose: FTS5Tokenizer.Purpose
    ) throws(DatabaseError) -> [(token: String, range: Range<String.Index>, isColocated: Bool)] {
        let tokenizer = try EngineTokenizer(fts5Interface(), arguments)
        let utf8 = text.utf8
        let found: [EngineTokenizer.Found]
        do { found = try tokenizer.tokens(of: text, for: purpose) } catch { throw takeCallbackError(error.code.rawValue) ?? error }
        return found.map { item in
            func index(_ offset: Int) -> String.Index {
                utf8.index(utf8.startIndex, offsetBy: offset, limitedBy: utf8.endIndex) ?? utf8.endIndex
            }
            return (item.token, index(item.range.lowerBound)..<index(item.range.upperBound), item.isColocated)
        }
    }
}
