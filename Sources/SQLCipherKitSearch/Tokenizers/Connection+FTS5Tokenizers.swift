import CSQLCipher
import SQLCipherKitCore

/// Tokenizers and token filters in Swift.
extension SQLExtension {
    /// Creates an extension for a tokenizer under a name, to use with ``FTS5Tokenizer/custom(_:arguments:)``. Registering another
    /// tokenizer under the same name replaces it for tables that are opened afterwards.
    ///
    /// Every connection that reads or writes the table needs the tokenizer: register it in
    /// ``DatabaseConfiguration/prepareDatabase``. Registering throws ``DatabaseError/Reason/invalidArgument`` for a name that is
    /// empty or contains a NUL character.
    /// - Parameters:
    ///   - tokenizer: splits the texts of all tables with this name.
    ///   - name: the name in ``FTS5Tokenizer/custom(_:arguments:)``.
    public static func tokenizer(_ tokenizer: some FTS5CustomTokenizer, as name: String) -> SQLExtension {
        SQLExtension { connection in
            try connection.installTokenizer(name) { _, _ in { try tokenizer.tokenize($0, for: $1, into: &$2) } }
        }
    }

    /// Creates an extension for a tokenizer under a name. For each table, the tokenizer is created from the arguments of the
    /// table's ``FTS5Tokenizer/custom(_:arguments:)``.
    /// ```swift
    /// try db.register(.tokenizer(as: "separated") { arguments in Separated(by: arguments.first ?? ",") })
    /// let table = FTS5Table("tags", columns: ["list"], tokenizer: .custom("separated", arguments: [";"]))
    /// ```
    /// If `make` throws, the statement that opens the table fails with that error. Otherwise it works like ``tokenizer(_:as:)``,
    /// except that the latter ignores the arguments.
    /// - Parameters:
    ///   - name: the name in ``FTS5Tokenizer/custom(_:arguments:)``.
    ///   - make: creates the tokenizer of a table from its arguments.
    public static func tokenizer<Tokenizer: FTS5CustomTokenizer>(
        as name: String, _ make: @escaping @Sendable (_ arguments: [String]) throws -> Tokenizer
    ) -> SQLExtension {
        SQLExtension { connection in
            try connection.installTokenizer(name) { _, arguments in
                let tokenizer = try make(arguments)
                return { try tokenizer.tokenize($0, for: $1, into: &$2) }
            }
        }
    }

    /// Creates an extension for a filter of another tokenizer's tokens, under a name to use with
    /// ``FTS5Tokenizer/custom(_:arguments:)``.
    /// ```swift
    /// try db.register(.tokenFilter(Lemmas(base: .unicode61()), as: "lemmas"))
    /// try db.create(FTS5Table("note_fts", columns: ["body"], tokenizer: .custom("lemmas")))
    /// ```
    /// Every connection that reads or writes the table needs the filter: register it in ``DatabaseConfiguration/prepareDatabase``.
    /// Registering throws ``DatabaseError/Reason/invalidArgument`` for a name that is empty or contains a NUL character.
    /// - Parameters:
    ///   - filter: changes the tokens of its ``FTS5TokenFilter/base``, for all tables with this name.
    ///   - name: the name in ``FTS5Tokenizer/custom(_:arguments:)``.
    public static func tokenFilter<Filter: FTS5TokenFilter>(_ filter: Filter, as name: String) -> SQLExtension {
        tokenFilter(as: name) { _ in filter }
    }

    /// Creates an extension for a filter under a name. For each table, the filter is created from the arguments of the table's
    /// ``FTS5Tokenizer/custom(_:arguments:)``.
    ///
    /// If `make` throws, the statement that opens the table fails with that error. Otherwise it works like ``tokenFilter(_:as:)``,
    /// except that the latter ignores the arguments.
    /// - Parameters:
    ///   - name: the name in ``FTS5Tokenizer/custom(_:arguments:)``.
    ///   - make: creates the filter of a table from its arguments.
    public static func tokenFilter<Filter: FTS5TokenFilter>(
        as name: String, _ make: @escaping @Sendable (_ arguments: [String]) throws -> Filter
    ) -> SQLExtension {
        SQLExtension { connection in
            try connection.installTokenizer(name) { interface, arguments in
                let filter = try make(arguments)
                let base = try EngineTokenizer(interface, filter.base.arguments)
                let state = try filter.prepare { text in
                    try base.tokens(of: text, for: .document).map(\.token)
                }
                return filter.filtering(base, state)
            }
        }
    }
}

extension Connection {
    fileprivate func installTokenizer(
        _ name: String, _ make: @escaping (UnsafeMutablePointer<fts5_api>, [String]) throws -> Tokenize
    ) throws {
        let interface = try interface(forTokenizer: name)
        var methods = fts5_tokenizer(xCreate: createTokenizer, xDelete: deleteTokenizer, xTokenize: runTokenizer)
        try keep(TokenizerFactory(self) { try make(interface, $0) }) { factory, release in
            interface.pointee.xCreateTokenizer(interface, name, factory, &methods, release)
        }
    }

    /// Registers a tokenizer of FTS5 under another name as well.
    func installTokenizer(_ name: String, sameAs other: String) throws {
        let interface = try interface(forTokenizer: name)
        var (data, methods) = (nil as UnsafeMutableRawPointer?, fts5_tokenizer())
        try check(interface.pointee.xFindTokenizer(interface, other, &data, &methods))
        try check(interface.pointee.xCreateTokenizer(interface, name, data, &methods, nil))
    }

    private func interface(forTokenizer name: String) throws -> UnsafeMutablePointer<fts5_api> {
        if try name.cName("the name of a tokenizer").isEmpty { throw DatabaseError.invalidArgument("a tokenizer needs a name") }
        return try fts5Interface()
    }
}

// MARK: What FTS5 calls

/// Finds the tokens of a text: a tokenizer of one table on one connection.
private typealias Tokenize = (UnsafeBufferPointer<UInt8>, FTS5Tokenizer.Purpose, inout FTS5Token.Sink) throws -> Void
private typealias TokenizerInstance = FTS5Callback<Tokenize>
private typealias TokenizerFactory = FTS5Callback<([String]) throws -> Tokenize>

extension FTS5TokenFilter {
    /// Returns the tokenizer of the filter's tokens.
    fileprivate func filtering(_ base: EngineTokenizer, _ state: State) -> Tokenize {
        { text, purpose, tokens in
            var thrown: (any Error)?
            let last = text.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0
            let rc = base.tokenize(text, purpose) { bytes, range, isColocated in
                let token = FTS5Token(bytes: bytes, range: range, isColocated: isColocated, isAtEnd: range.upperBound >= last)
                do { try filter(token, for: purpose, state, into: &tokens) } catch {
                    thrown = error
                    return SQLITE_ERROR
                }
                return tokens.result
            }
            if let thrown { throw thrown }
            if rc != SQLITE_OK, tokens.result == SQLITE_OK {
                throw DatabaseError(code: ResultCode(rawValue: rc), message: "the tokenizer failed")
            }
        }
    }
}

private func createTokenizer(
    _ data: UnsafeMutableRawPointer?, _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ count: Int32,
    _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let data, let result else { return SQLITE_MISUSE }
    let factory = Unmanaged<TokenizerFactory>.fromOpaque(data).takeUnretainedValue()
    let words = (0..<Int(count)).compactMap { arguments?[$0].map { String(cString: $0) } }
    do {
        let instance = TokenizerInstance(factory.connection, try factory.function(words))
        result.pointee = OpaquePointer(Unmanaged.passRetained(instance).toOpaque())
        return SQLITE_OK
    } catch {
        factory.connection?.keepCallbackError(DatabaseError(thrownBy: "a tokenizer", error))
        return SQLITE_ERROR
    }
}

private func deleteTokenizer(_ tokenizer: OpaquePointer?) {
    if let tokenizer { Unmanaged<TokenizerInstance>.fromOpaque(UnsafeRawPointer(tokenizer)).release() }
}

private func runTokenizer(
    _ tokenizer: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ flags: Int32, _ text: UnsafePointer<CChar>?,
    _ count: Int32, _ callback: FTS5Token.Sink.Callback?
) -> Int32 {
    guard let tokenizer, let callback else { return SQLITE_MISUSE }
    return Unmanaged<TokenizerInstance>.fromOpaque(UnsafeRawPointer(tokenizer))._withUnsafeGuaranteedRef { instance in
        let bytes = UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : Int(max(0, count)))
            .assumingMemoryBound(to: UInt8.self)
        var sink = FTS5Token.Sink(callback, context, count: bytes.count)
        do { try instance.function(bytes, FTS5Tokenizer.Purpose(rawValue: flags), &sink) } catch {
            instance.connection?.keepCallbackError(DatabaseError(thrownBy: "a tokenizer", error))
            return SQLITE_ERROR
        }
        if let error = sink.error { instance.connection?.keepCallbackError(error) }
        return sink.result
    }
}
