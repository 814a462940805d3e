import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Access to FTS5's C interface.
extension Connection {
    /// The connection's interface, which `SELECT fts5(?1)` writes to the pointer bound to it
    /// (<https://sqlite.org/fts5.html#extending_fts5>).
    func fts5Interface() throws -> UnsafeMutablePointer<fts5_api> {
        let handle = try liveForUse()
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, "SELECT fts5(?1)", -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        // SQLite keeps the address of the name, not the name (<https://sqlite.org/bindptr.html>).
        let type: StaticString = "fts5_api_ptr"
        var interface: UnsafeMutablePointer<fts5_api>?
        let rc = withUnsafeMutablePointer(to: &interface) { pointer -> Int32 in
            let name = UnsafeRawPointer(type.utf8Start).assumingMemoryBound(to: CChar.self)
            let rc = sqlite3_bind_pointer(statement, 1, pointer, name, nil)
            return rc == SQLITE_OK ? sqlite3_step(statement) : rc
        }
        guard rc == SQLITE_ROW, let interface else { throw failure(rc) }
        return interface
    }

    /// Gives FTS5 an object, with the function that releases it, to keep until the connection is closed.
    func keep(
        _ object: AnyObject,
        _ register: (UnsafeMutableRawPointer, @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Int32
    ) throws {
        let kept = Unmanaged.passRetained(object)
        let rc = register(kept.toOpaque()) { pointer in
            if let pointer { Unmanaged<AnyObject>.fromOpaque(pointer).release() }
        }
        guard rc == SQLITE_OK else {
            kept.release()
            throw failure(rc)
        }
    }
}

/// A function that FTS5 calls, and the connection that keeps its errors.
final class FTS5Callback<Function> {
    // Weak, because SQLite holds this object until the connection is closed.
    weak var connection: Connection?
    let function: Function

    init(_ connection: Connection?, _ function: Function) {
        self.connection = connection
        self.function = function
    }
}

/// The callback to which C passes the tokens of a text.
enum TokenCallback {
    /// Receives a token, its byte range, and whether it has the same position as the token before. Returns SQLite's result code.
    typealias Pass = (UnsafeBufferPointer<UInt8>, Range<Int>, Bool) -> Int32

    /// Calls `body` with a text for C, and with a callback and its context, which call `pass`.
    static func with(
        _ text: UnsafeBufferPointer<UInt8>, _ pass: Pass,
        _ body: (UnsafePointer<CChar>?, Int32, UnsafeMutableRawPointer, @escaping FTS5Token.Sink.Callback) -> Int32
    ) -> Int32 {
        // A closure that C calls cannot capture anything, so `pass` goes through the context.
        withoutActuallyEscaping(pass) { pass in
            withUnsafePointer(to: pass) { pass in
                text.withMemoryRebound(to: CChar.self) { text in
                    body(text.baseAddress, Int32(clamping: text.count), UnsafeMutableRawPointer(mutating: pass)) {
                        context, flags, token, count, start, end in
                        guard let pass = context?.assumingMemoryBound(to: Pass.self), count >= 0, start >= 0 else {
                            return SQLITE_ERROR
                        }
                        let bytes = UnsafeRawBufferPointer(start: token, count: Int(count)).assumingMemoryBound(to: UInt8.self)
                        return pass.pointee(bytes, Int(start)..<Int(max(start, end)), flags & FTS5_TOKEN_COLOCATED != 0)
                    }
                }
            }
        }
    }
}

/// A tokenizer that is registered with FTS5, created with its arguments: the base of a filter, or to inspect its tokens.
final class EngineTokenizer {
    private var methods: fts5_tokenizer
    private let handle: OpaquePointer

    /// - Parameter arguments: the tokenizer's name and its arguments.
    init(_ interface: UnsafeMutablePointer<fts5_api>, _ arguments: [String]) throws {
        var methods = fts5_tokenizer()
        var data: UnsafeMutableRawPointer?
        for argument in arguments { _ = try argument.cName("a tokenizer's argument") }
        let name = arguments.first ?? "unicode61"
        guard interface.pointee.xFindTokenizer(interface, name, &data, &methods) == SQLITE_OK else {
            throw DatabaseError(code: .error, message: "there is no tokenizer \(name): register it on this connection first")
        }
        let words = arguments.dropFirst().map { strdup($0) }
        defer { for word in words { free(word) } }
        var pointers: [UnsafePointer<CChar>?] = words.map { UnsafePointer($0) }
        var handle: OpaquePointer?
        let count = Int32(pointers.count)
        let rc = pointers.withUnsafeMutableBufferPointer { methods.xCreate(data, $0.baseAddress, count, &handle) }
        guard rc == SQLITE_OK, let handle else {
            throw DatabaseError(
                code: ResultCode(rawValue: rc), reason: .invalidArgument, message: "the tokenizer \(name) refuses its arguments")
        }
        self.methods = methods
        self.handle = handle
    }

    deinit { methods.xDelete(handle) }

    typealias Found = (token: String, range: Range<Int>, isColocated: Bool)

    /// Calls `pass` with each token, its byte range, and whether it has the same position as the one before.
    func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5Tokenizer.Purpose, _ pass: TokenCallback.Pass
    ) -> Int32 {
        TokenCallback.with(text, pass) { text, count, context, callback in
            methods.xTokenize(handle, context, purpose.rawValue, text, count, callback)
        }
    }

    func tokens(of text: String, for purpose: FTS5Tokenizer.Purpose) throws -> [Found] {
        var found: [Found] = []
        // The NUL at the end gives even an empty text an address.
        let rc = (Array(text.utf8) + [0]).withUnsafeBufferPointer { utf8 in
            tokenize(UnsafeBufferPointer(rebasing: utf8.dropLast()), purpose) { token, range, isColocated in
                found.append((String(decoding: token, as: UTF8.self), range, isColocated))
                return SQLITE_OK
            }
        }
        guard rc == SQLITE_OK else { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the tokenizer failed") }
        return found
    }
}
