import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Each public call that takes a path, with a path in each form, in a process of its own: the working folder is the process's.
extension FaultDriver {
    private struct PathCall {
        /// The call as ``PathTests`` finds it in the sources.
        let name: String
        /// Makes the file that has to be at the path before.
        var before: (String) throws -> Void = { _ in }
        /// Makes the call with a path, and returns a check for after the working folder has changed.
        let run: (String) throws -> (() throws -> Void)
        /// True if the path is a folder's.
        var isFolder = false
        /// True if the call makes the file at the path; false if it needs the file.
        var makesFile = false
    }

    /// - Parameter root: an empty folder.
    static func runPaths(_ root: String) throws {
        let files = FileManager.default
        for name in ["a/sub", "b", "home", "other"] {
            try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
        }
        setenv("HOME", "\(root)/home", 1)
        try database("\(root)/other/source.db")
        let forms = [
            ("q", "a/q"), ("qq", "a/qq"), ("sub/q", "a/sub/q"), ("./r", "a/r"), ("../a/s", "a/s"), ("~/q", "home/q"), ("link", "other/target"),
        ]
        for call in calls(root) {
            say("call \(call.name)")
            for (given, place) in forms {
                do {
                    chdir("\(root)/a")
                    let there = "\(root)/\(place)"
                    // A new file must not exist, not even as a link.
                    if given == "link", !call.makesFile, !call.isFolder { symlink(there, "\(root)/a/link") }
                    try call.before(there)
                    let check = try call.run(given)
                    chdir("\(root)/b")
                    setenv("HOME", "\(root)/b", 1)
                    try check()
                    if call.makesFile, given != "link", !files.fileExists(atPath: there) { say("failed \(call.name) \(given): no file") }
                    let strays = try files.contentsOfDirectory(atPath: "\(root)/b")
                    if !strays.isEmpty { say("failed \(call.name) \(given): \(strays) in another folder") }
                } catch {
                    say("failed \(call.name) \(given): \(error)")
                }
                setenv("HOME", "\(root)/home", 1)
                for folder in ["a", "b", "home", "a/sub"] { try clear("\(root)/\(folder)") { $0 != "sub" } }
                try clear("\(root)/other") { $0.hasPrefix("target") }
            }
            chdir("\(root)/a")
            for given in ["", "q\0r"] + (call.isFolder ? [] : ["sub", "sub/", ".", "sub/.."]) {
                do {
                    try call.run(given)()
                    say("failed \(call.name) \(given.debugDescription): accepted")
                } catch let error as DatabaseError {
                    let known: [DatabaseError.Reason] = [.invalidArgument, .cannotOpen, .keyProvider]
                    if !known.contains(error.reason) { say("failed \(call.name) \(given.debugDescription): \(error.reason) \(error)") }
                }
            }
        }
    }

    /// Removes files, except files that a connection which closes meanwhile has removed.
    private static func clear(_ folder: String, where condition: (String) -> Bool) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where condition(name) {
            let path = "\(folder)/\(name)"
            guard unlink(path) != 0, errno != ENOENT else { continue }
            try FileManager.default.removeItem(atPath: path)
        }
    }

    private static let one = try? DatabaseKey.passphrase("one", cipher: quick)

    private static func key() throws -> DatabaseKey {
        guard let one else { throw DatabaseError(message: "no key") }
        return one
    }

    private static func database(_ path: String) throws {
        let db = try Connection(.file(path), key: key())
        try db.execute("CREATE TABLE IF NOT EXISTS t(x)")
        try db.execute("INSERT INTO t VALUES (1)")
    }

    private static func requireRow(_ db: Connection) throws {
        guard try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 > 0 else { throw DatabaseError(message: "no row") }
    }

    private static func calls(_ root: String) -> [PathCall] {
        let source = "\(root)/other/source.db"
        let make: (String) throws -> Void = { try database($0) }
        let plain: (String) throws -> Void = { try Connection(.file($0)).execute("CREATE TABLE t(x)") }
        func open() throws -> Connection { try Connection(.file(source), key: key()) }
        func pool() throws -> DatabasePool { try DatabasePool(.file(source), key: key()) }
        return [
            PathCall(name: "DatabaseLocation.file(_:)", before: make, run: { given in
                let pool = try DatabasePool(.file(given), key: key()), other = try open()
                let archive = try other.attach(.file(given), as: "other", key: key())
                return {
                    try pool.write { db in try db.execute("INSERT INTO t VALUES (2)") }
                    guard try pool.read({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }) == 2 else {
                        throw DatabaseError(message: "the readers have another file")
                    }
                    try archive.detach()
                    try pool.changeKey(to: .passphrase("two", cipher: quick), mode: .newFile)
                    try pool.read { db in try requireRow(db) }
                }
            }),
            PathCall(name: "DatabaseLocation.uri(_:)", before: make, run: { given in
                // An SQLite URI knows no home folder.
                if given.hasPrefix("~") { return {} }
                if given.isEmpty { throw DatabaseError(reason: .invalidArgument, message: "a temporary database") }
                let pool = try DatabasePool(.uri("file:\(given)"), key: key())
                return { try pool.read { db in try requireRow(db) } }
            }),
            PathCall(name: "KeyProvider.file(_:)", before: { path in
                try Data("secret".utf8).write(to: URL(fileURLWithPath: path))
                chmod(path, 0o600)
            }, run: { given in
                if given == "link" { return {} }
                let key = KeySource.file(given)
                return {
                    guard try key.key() != nil else { throw DatabaseError.init(reason: .keyProvider, message: "no key file") }
                }
            }),
            PathCall(name: "SQLScript.init(contentsOf:)", before: { try Data("SELECT 1".utf8).write(to: URL(fileURLWithPath: $0)) }, run: { given in
                guard let url = given.isEmpty || given.utf8.contains(0) ? nil : URL(string: given) else {
                    throw DatabaseError(reason: .invalidArgument, message: "no URL")
                }
                _ = try SQLScript(contentsOf: url)
                return {}
            }),
            PathCall(name: "KeySlots.Place.file(_:)", run: { given in
                let location = DatabaseLocation.file("\(root)/home/slots.db"), secret = try KeySlots.Secret.passphrase("one")
                let slots = try KeySlots.create(secret, label: "one", for: location, at: .file(given), derivation: .quick)
                let key = DatabaseKey.slots(.file(given), secret: secret)
                try Connection(location, key: .slots(slots)).execute("CREATE TABLE t(x)")
                return {
                    try slots.add(.passphrase("two"), label: "two", derivation: .quick)
                    _ = try Connection(location, key: key)
                }
            }, makesFile: true),
            PathCall(name: "Schema.writeRecoveryCopy(toFileAt:)", run: { given in
                try open().main.writeRecoveryCopy(toFileAt: given)
                return {}
            }, makesFile: true),
            PathCall(name: "SharedSchema.keepRecoveryCopy(toFileAt:)", run: { given in
                let pool = try pool()
                let (end, isRefused) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                nonisolated(unsafe) var failure: (any Error)?
                let keeping = Task {
                    do { try await pool.main.keepRecoveryCopy(toFileAt: given) } catch {
                        if !(error is CancellationError) { failure = error }
                        isRefused.signal()
                    }
                    end.signal()
                }
                let absolute = given.hasPrefix("~") ? "\(root)/home/q" : "\(root)/a/\(given)"
                for _ in 0..<5000 where !FileManager.default.fileExists(atPath: absolute) {
                    if isRefused.wait(timeout: .now() + .milliseconds(1)) == .success { break }
                }
                keeping.cancel()
                end.wait()
                if let failure { throw failure }
                return {}
            }, makesFile: true),
            PathCall(name: "Schema.backup(toFileAt:)", run: { given in
                try open().main.backup(toFileAt: given)
                return {}
            }, makesFile: true),
            PathCall(name: "SharedSchema.backup(toFileAt:)", run: { given in
                let pool = try pool()
                try waiting { try await pool.main.backup(toFileAt: given) }
                return {}
            }, makesFile: true),
            PathCall(name: "Schema.restore(fromFileAt:)", before: make, run: { given in
                try open().main.restore(fromFileAt: given)
                return {}
            }),
            PathCall(name: "SharedSchema.restore(fromFileAt:)", before: make, run: { given in
                let pool = try pool()
                try waiting { try await pool.main.restore(fromFileAt: given) }
                return {}
            }),
            PathCall(name: "DatabaseConverter.convert(fileAt:)", before: make, run: { given in
                try DatabaseConverter.convert(fileAt: given, from: key(), to: .passphrase("two", cipher: quick))
                return {}
            }),
            PathCall(name: "DatabaseConverter.encrypt(fileAt:)", before: plain, run: { given in
                try DatabaseConverter.encrypt(fileAt: given, key: key())
                return {}
            }),
            PathCall(name: "DatabaseConverter.encryptOnce(fileAt:)", before: plain, run: { given in
                let mark = EncryptionMark(isSet: { false }, set: {})
                guard try DatabaseConverter.encryptOnce(fileAt: given, key: key(), mark: mark) else { throw DatabaseError(message: "no file") }
                return {}
            }),
            PathCall(name: "EncryptionMark.file(_:)", run: { given in
                let mark = EncryptionMark.file(given), path = "\(root)/other/marked.db"
                try plain(path)
                return {
                    defer { unlink(path) }
                    do { try DatabaseConverter.encryptOnce(fileAt: path, key: key(), mark: mark) } catch {
                        guard try DatabaseConverter.identify(fileAt: path, key: nil) == .plaintext else {
                            throw DatabaseError(message: "encrypted without a mark: \(error)")
                        }
                        throw error
                    }
                }
            }, makesFile: true),
            PathCall(name: "DatabaseConverter.decrypt(fileAt:)", before: make, run: { given in
                try DatabaseConverter.decrypt(fileAt: given, key: key())
                return {}
            }),
            PathCall(name: "DatabaseConverter.migrate(fileAt:)", before: make, run: { given in
                _ = try DatabaseConverter.migrate(fileAt: given, key: key())
                return {}
            }),
            PathCall(name: "DatabaseConverter.identify(fileAt:)", before: make, run: { given in
                guard case .encrypted = try DatabaseConverter.identify(fileAt: given, key: key()) else {
                    throw DatabaseError(message: "another kind")
                }
                return {}
            }),
            PathCall(name: "DatabaseConverter.salvage(fileAt:)", before: make, run: { given in
                try DatabaseConverter.salvage(fileAt: given, key: key(), to: "\(root)/home/salvaged-\(UUID().uuidString)")
                return {}
            }),
            PathCall(name: "DatabaseConverter.salvage(to:)", run: { given in
                try DatabaseConverter.salvage(fileAt: source, key: key(), to: given)
                return {}
            }, makesFile: true),
            PathCall(name: "DatabaseConverter.salvage(recoveryCopy:)", before: { try open().main.writeRecoveryCopy(toFileAt: $0) }, run: { given in
                try DatabaseConverter.salvage(
                    fileAt: source, key: key(), to: "\(root)/home/salvaged-\(UUID().uuidString)", recoveryCopy: given)
                return {}
            }),
            PathCall(name: "DatabaseConverter.openOrSalvage(fileAt:)", before: make, run: { given in
                let (db, _) = try DatabaseConverter.openOrSalvage(fileAt: given, key: key())
                return { try requireRow(db) }
            }),
            PathCall(name: "FolderStore.init(_:)", run: { given in
                let store = try FolderStore(given)
                return { try waiting { try await store.put("object", [1], if: .always) } }
            }, isFolder: true),
            PathCall(name: "Replicator.restore(to:)", run: { given in
                let store = try replicatedStore(root)
                try waiting { try await Replicator.restore(to: given, from: store, key: key()) }
                return {}
            }, makesFile: true),
            PathCall(name: "Replicator.restoreIfMissing(_:)", run: { given in
                let store = try replicatedStore(root)
                try waiting { try await Replicator.restoreIfMissing(given, from: store, key: key()) }
                return {}
            }, makesFile: true),
            PathCall(name: "ReplicaFollower.init(at:)", run: { given in
                let store = try replicatedStore(root)
                nonisolated(unsafe) var made: ReplicaFollower?
                try waiting { made = try await ReplicaFollower(at: given, following: store, key: key()) }
                guard let follower = made else { throw DatabaseError(message: "no follower") }
                return {
                    try waiting {
                        _ = try await follower.catchUp()
                        await follower.stop()
                    }
                }
            }, makesFile: true),
        ]
    }

    /// A store with a replica of the source, which is given by a path that the working folder changes after.
    private static func replicatedStore(_ root: String) throws -> FolderStore {
        let store = try FolderStore("\(root)/other/store")
        if FileManager.default.fileExists(atPath: "\(root)/other/head") { return store }
        let location = DatabaseLocation.file("../other/source.db")
        try waiting {
            let replica = try await Replicator(of: location, key: key(), in: store)
            try await replica.waitUntilStored(timeout: .seconds(30))
            await replica.stop()
        }
        try Data().write(to: URL(fileURLWithPath: "\(root)/other/head"))
        return store
    }
}
