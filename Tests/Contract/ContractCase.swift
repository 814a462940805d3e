import Foundation
import SQLCipherKit

/// A public call, or several that share one implementation, in a form that every driver can run in every situation.
struct ContractCase {
    enum Effect {
        /// Nothing changes except the call's result.
        case reads
        /// Rows or the schema change.
        case writes
        /// The connection changes, and no file.
        case settles
        /// A file is replaced or made.
        case rewrites
    }

    /// The object that the call is made on, which the drivers therefore close, lock, share and re-enter.
    enum Handle { case connection, shared, file, nothing }

    let family: String, name: String
    let effect: Effect, handle: Handle
    /// Databases on which the call throws, and says why.
    let refusing: Set<Subject.Kind>
    /// Databases on which it returns something else, such as their path.
    let differs: Set<Subject.Kind>
    /// True if the call consists of several transactions, each of which is whole.
    let isStepwise: Bool
    /// True if the call waits for a task, which nothing that holds the database may do.
    let waits: Bool
    /// True if the call answers for a closed object as well.
    let worksClosed: Bool
    let prepare: (Trial) throws -> Void
    let run: (Trial) throws -> Any

    var label: String { "\(family)/\(name)" }
    var changesFiles: Bool { effect == .writes || effect == .rewrites }
}

/// Declares the cases of a family of a table (Tests/Contract/Tables). The check of the tables finds them by this name and ``call``.
func family(_ name: String, _ calls: (String) -> ContractCase...) -> [ContractCase] { calls.map { $0(name) } }

/// One case.
/// - Parameters:
///   - prepare: makes the objects that the call needs, before anything is checked.
///   - run: makes the call with the trial's arguments, and returns its result.
func call(
    _ name: String, _ effect: ContractCase.Effect = .reads, on handle: ContractCase.Handle = .connection,
    refusing: Set<Subject.Kind> = [], differs: Set<Subject.Kind> = [], isStepwise: Bool = false, waits: Bool = false, worksClosed: Bool = false,
    prepare: @escaping (Trial) throws -> Void = { _ in }, _ run: @escaping (Trial) throws -> Any
) -> (String) -> ContractCase {
    { family in
        ContractCase(
            family: family, name: name, effect: effect, handle: handle, refusing: refusing, differs: differs, isStepwise: isStepwise, waits: waits,
            worksClosed: worksClosed, prepare: prepare, run: run)
    }
}

/// A promise is broken. No situation excuses that.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// One run of a case: it gives the call its database and its arguments.
final class Trial {
    /// The role of an argument, which decides the allowed effects of a text in its place.
    enum Role {
        /// Something that is stored, compared or searched for.
        case value
        /// The name of something that there is, or is not.
        case name
        /// The name of something that the call makes.
        case new
        /// A path in the folder.
        case path
        /// SQL that the caller writes: it may do anything that SQL may do.
        case sql
    }

    struct Argument {
        let name: String, role: Role, usual: String
    }

    let subject: Subject
    /// The text for one of the arguments, instead of the usual one.
    var hostile: (argument: String, text: String)?
    private(set) var arguments: [Argument] = []
    /// The arguments passed with `inout` that an error left changed.
    private(set) var changedArguments: [String] = []
    /// The objects that the preparation has made for the call.
    var prepared: Any?

    init(_ subject: Subject) { self.subject = subject }

    var db: Connection { get throws { try subject.connection } }
    var schema: Schema { get throws { try subject.schema } }
    var shared: DatabaseWriter { get throws { try subject.shared } }
    /// The path of the database's file.
    var path: String { subject.path }
    var key: DatabaseKey { get throws { try subject.kind.key } }
    func inFolder(_ name: String) -> String { subject.folder + "/" + name }

    private var checks: [() throws -> Void] = []

    /// Notes what is to hold after the call has returned, which is looked at apart from it: nothing of a check fails on purpose.
    func then(_ check: @escaping () throws -> Void) { checks.append(check) }

    /// Makes the checks of the call that has returned.
    func finish() throws {
        defer { checks = [] }
        for check in checks { try check() }
    }

    /// The text for an argument.
    func text(_ argument: String, _ usual: String, _ role: Role = .value) -> String {
        if !arguments.contains(where: { $0.name == argument }) {
            arguments.append(Argument(name: argument, role: role, usual: usual))
        }
        if let hostile, hostile.argument == argument { return hostile.text }
        return usual
    }

    /// True if the argument has its usual text.
    func isUsual(_ argument: String) -> Bool { hostile?.argument != argument }

    /// The path of a file in the folder, of which the text is the name.
    func file(_ argument: String, _ usual: String) -> String { inFolder(text(argument, usual, .path)) }

    /// - Throws: ``BrokenPromise`` unless the result is the sent value, byte by byte.
    func same(_ sent: String, _ back: String?) throws {
        guard let back, Array(sent.utf8) == Array(back.utf8) else { throw BrokenPromise("\(sent.debugDescription.prefix(60)) came back as \(back.debugDescription.prefix(60))") }
    }

    func same<Value: Equatable>(_ sent: Value, _ back: Value?) throws {
        guard sent == back else { throw BrokenPromise("\(sent) came back as \(back.map { "\($0)" } ?? "nothing")") }
    }

    /// Passes an argument with `inout`, and notes if it has changed although the call threw.
    func keeping<Value, R>(_ value: inout Value, _ body: (inout Value) throws -> R) throws -> R {
        let before = "\(value)"
        do { return try body(&value) } catch {
            if "\(value)" != before { changedArguments.append("\(before) is \(value)") }
            throw error
        }
    }
}

/// Why a call threw, as text that is the same on every database.
func reason(_ error: any Error) -> String {
    guard let error = error as? DatabaseError else { return "\(type(of: error))" }
    return "\(error.reason) \(error.code.primary)"
}
