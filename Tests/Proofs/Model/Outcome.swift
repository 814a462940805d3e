import CSQLCipher
import SQLCipherKit

/// The result of a step: in one of the two worlds, or as a rule demands it.
enum Outcome: Equatable, CustomStringConvertible {
    case done
    case rows([[SQLValue]])
    case text(String)
    /// An error with SQLite's extended code, and the reason that goes with it.
    case failed(Int32, DatabaseError.Reason)
    /// An error for which only the reason is ruled.
    case refused(DatabaseError.Reason)
    /// Anything.
    case either
    /// Some error or other of the package.
    case error
    /// The error that the program itself throws out of a closure.
    case thrown

    /// The outcome of a call of the package.
    static func of(_ body: () throws -> Outcome) throws -> Outcome {
        do { return try body() } catch let error as Mismatch { throw error } catch let error as Unexpected { throw error } catch {
            return Outcome(error)
        }
    }

    /// The message of the package's last error, for findings.
    static let lastMessage = Lock("")

    init(_ error: any Error) {
        let message = "\(error)"
        Self.lastMessage.withLock { $0 = message }
        switch error {
        case is Thrown: self = .thrown
        case let error as DatabaseError: self = .failed(error.code.rawValue, error.reason)
        default: self = .text("\(error)")
        }
    }

    /// The outcome of a call of SQLite, with the reason that the package gives to such a code.
    init(code: Int32) {
        self = code == SQLITE_OK ? .done : .failed(code, Outcome.reason(code))
    }

    static func reason(_ code: Int32) -> DatabaseError.Reason {
        switch code & 0xff {
        case SQLITE_BUSY: .busy
        case SQLITE_NOTADB: .wrongKeyOrNotADatabase
        case SQLITE_CANTOPEN: .cannotOpen
        case SQLITE_MISUSE: .misuse
        default: .engine
        }
    }

    var isError: Bool {
        switch self {
        case .failed, .refused, .error, .thrown: true
        case .done, .rows, .text, .either: false
        }
    }

    /// True if the found outcome is the expected one.
    func agrees(with found: Outcome) -> Bool {
        switch (self, found) {
        case (.refused(let a), .failed(_, let b)): a == b
        case (.error, .failed), (.either, _): true
        case (.rows(let a), .rows(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.count == $1.count && zip($0, $1).allSatisfy(same) }
        default: self == found
        }
    }

    var description: String {
        switch self {
        case .done: "done"
        case .rows(let rows): "rows " + rows.map { "(" + $0.map { show($0) }.joined(separator: ", ") + ")" }.joined(separator: " ")
        case .text(let text): "text \(text)"
        case .failed(let code, let reason): "error \(code), \(reason)"
        case .refused(let reason): "error \(reason)"
        case .either: "anything"
        case .error: "an error"
        case .thrown: "the program's own error"
        }
    }
}

/// Bits, not `==`: -0 is not 0.
func same(_ a: SQLValue, _ b: SQLValue) -> Bool {
    if case .real(let a) = a, case .real(let b) = b { return a.bitPattern == b.bitPattern }
    return a == b
}

/// The error that programs throw out of closures.
struct Thrown: Error {}

/// The package and the model disagree.
struct Mismatch: Error, CustomStringConvertible {
    let description: String
}

/// The machine itself cannot go on.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}
