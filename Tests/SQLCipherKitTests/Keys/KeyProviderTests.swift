import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct KeyProviderTests {
    let folder: TemporaryFolder
    var location: DatabaseLocation { .file(folder.path("a.db")) }
    static let hex = String(repeating: "0aF5", count: 16)
    static let raw = [UInt8]([0x0a, 0xf5]).repeated(16)

    /// A database with the passphrase "pass phrase", and one with a raw key.
    init() throws {
        folder = try TemporaryFolder()
        _ = try Connection(.file(folder.path("a.db")), key: .passphrase("pass phrase").quick)
        _ = try Connection(.file(folder.path("raw.db")), key: .raw(Self.raw))
    }

    private func opens(_ provider: some KeyProvider) throws {
        _ = try Connection(location, key: .provided(by: provider).quick)
    }

    private func opensRaw(_ provider: some KeyProvider) throws { _ = try Connection(.file(folder.path("raw.db")), key: .provided(by: provider)) }

    private func reason(_ provider: some KeyProvider) -> DatabaseError.Reason? {
        #expect(throws: DatabaseError.self) { try opens(provider) }?.reason
    }

    private func write(_ bytes: some DataProtocol, mode: Int = 0o600, name: String = "key") throws -> String {
        let path = folder.path(name)
        try? FileManager.default.removeItem(atPath: path)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    // MARK: Closures and composition

    struct Own: KeyProvider {
        let passphrase: String?
        func key() throws -> DatabaseKey? { try passphrase.map { try .passphrase($0) } }
    }

    @Test func closuresAndCustomTypesProvideKeys() throws {
        try opens(KeySource { try .passphrase("pass phrase") })
        try opens(Own(passphrase: "pass phrase"))
        #expect(reason(KeySource { nil }) == .keyProvider)
        #expect(reason(Own(passphrase: nil)) == .keyProvider)
        #expect(reason(KeySource { try .passphrase("wrong") }) == .wrongKeyOrNotADatabase)
        struct Failure: Error {}
        let error = #expect(throws: DatabaseError.self) { try opens(KeySource { throw Failure() }) }
        #expect(error?.reason == .keyProvider && error?.underlyingError is Failure)
    }

    @Test func firstAnsweringKeyProviderIsUsed() throws {
        let missing = folder.path("missing")
        try opens(.first([.file(missing), .provider(Own(passphrase: nil)), KeySource { try .passphrase("pass phrase") }, KeySource { try .passphrase("x") }]))
        #expect(reason(.first([])) == .keyProvider)
        let error = #expect(throws: DatabaseError.self) { try opens(.first([.file(missing), .systemdCredential("c")])) }
        #expect(error?.message.contains(missing) == true && error?.message.contains("credential c") == true)
        // A key that must not be used is not passed over.
        let open = try write(Data("pass phrase".utf8), mode: 0o644)
        #expect(reason(.first([.file(open), KeySource { try .passphrase("pass phrase") }])) == .keyProvider)
    }

    @Test func slotsProvideTheKey() throws {
        let location = DatabaseLocation.file(folder.path("b.db"))
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t(x)")
        #expect(try Connection(location, key: .provided(by: .slots(slots))).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }

    // MARK: The environment

    /// In a process of its own, as the environment belongs to all threads.
    @Test func environmentKeyIsRemovedAfterReading() throws {
        let name = "SQLCIPHERKIT_TEST_KEY"
        let outcome = try Command.run(
            BuildProducts.executable("FaultDriver"), ["keys-environment", folder.path("a.db"), name], environment: [name: "pass phrase"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.output.contains("before: shown in the environment"))
        #expect(outcome.output.contains("after: getenv nil, environ without it, again nil"))
        let empty = try Command.run(
            BuildProducts.executable("FaultDriver"), ["keys-environment", folder.path("a.db"), name], environment: [name: ""])
        #expect(empty.output.contains("error emptyKey"), "\(empty)")
    }

    @Test func invalidEnvironmentKeyNamesAreRefused() throws {
        #expect(reason(.environment("SQLCIPHERKIT_TEST_KEY_THAT_IS_NOT_SET")) == .keyProvider)
        for name in ["", "a=b", "a\0b"] { #expect(reason(.environment(name)) == .keyProvider) }
        #expect(reason(.environment("X", as: .raw)) == .keyProvider)
    }

    // MARK: Files

    @Test func ownerOnlyKeyFileOpensDatabase() throws {
        for mode in [0o600, 0o400] {
            for text in ["pass phrase", "pass phrase\n", "pass phrase\r\n"] { try opens(.file(try write(Data(text.utf8), mode: mode))) }
        }
        // One line break goes, not two, and no blank.
        for text in ["pass phrase\n\n", "pass phrase ", "pass phrase\r", "\npass phrase"] {
            #expect(reason(.file(try write(Data(text.utf8)))) == .wrongKeyOrNotADatabase)
        }
        for text in ["", "\n", "\r\n"] { #expect(reason(.file(try write(Data(text.utf8)))) == .emptyKey) }
        #expect(reason(.file(folder.path("missing"))) == .keyProvider)
    }

    @Test func keyFileAccessibleToOthersIsRefused() throws {
        for mode in [0o640, 0o604, 0o660, 0o610, 0o602, 0o644, 0o777] {
            let path = try write(Data("pass phrase".utf8), mode: mode)
            let error = #expect(throws: DatabaseError.self) { try opens(.file(path)) }
            #expect(error?.reason == .keyProvider && error?.path == path)
            #expect(error?.message.contains(String(mode, radix: 8)) == true)
            #expect(error.map { !"\($0)".contains("pass phrase") } == true)
        }
    }

    @Test func keyFileOfAnotherUserIsRefused() throws {
        let path = try write(Data("pass phrase".utf8))
        if chown(path, 12345, 12345) == 0 {
            #expect(reason(.file(path)) == .keyProvider)
        } else {
            // Only root can give files away: then one of root's, which no other user can read.
            #expect(geteuid() != 0)
            #expect(reason(.file("/etc/shadow")) == .keyProvider)
        }
    }

    @Test func keyFileThatIsNotRegularIsRefused() throws {
        let path = try write(Data("pass phrase".utf8))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: path)
        let error = #expect(throws: DatabaseError.self) { try opens(.file(folder.path("link"))) }
        #expect(error?.reason == .keyProvider && error?.message.contains("symbolic link") == true)
        try FileManager.default.createDirectory(atPath: folder.path("folder"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        #expect(reason(.file(folder.path("folder"))) == .keyProvider)
        // A pipe without a writer does not stop the program.
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(reason(.file(folder.path("pipe"))) == .keyProvider)
        #expect(reason(.file("/dev/null")) == .keyProvider)
        for path in ["", "a\0b"] { #expect(reason(.file(path)) == .keyProvider) }
    }

    @Test func oversizedKeyFileIsRefused() throws {
        #expect(reason(.file(try write([UInt8](repeating: 65, count: 65_537)))) == .keyProvider)
        #expect(reason(.file(try write([UInt8](repeating: 65, count: 65_536)))) == .wrongKeyOrNotADatabase)
    }

    @Test func keyFilesHoldRawAndHexadecimalKeys() throws {
        try opensRaw(.file(try write(Self.raw), as: .raw))
        try opensRaw(.file(try write(Data(Self.hex.utf8)), as: .hexadecimal))
        try opensRaw(.file(try write(Data((Self.hex.lowercased() + "\r\n").utf8)), as: .hexadecimal))
        for bytes in [Self.raw + [10], Array(Self.raw.dropLast()), Self.raw + Self.raw] {
            #expect(reason(.file(try write(bytes), as: .raw)) == .invalidKey)
        }
        for text in [Self.hex + "0", String(Self.hex.dropLast()), String(Self.hex.dropLast()) + "g", Self.hex + "\n\n"] {
            #expect(reason(.file(try write(Data(text.utf8)), as: .hexadecimal)) == .invalidKey)
        }
        #expect(reason(.file(try write(Data("\n".utf8)), as: .hexadecimal)) == .emptyKey)
        // With a salt.
        let salt = [UInt8](repeating: 3, count: 16)
        let path = folder.path("salted.db")
        _ = try Connection(.file(path), key: .provided(by: .file(try write(Self.raw + salt), as: .raw)))
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)) == salt)
        _ = try Connection(.file(path), key: .provided(by: .file(try write(Data((Self.hex + String(repeating: "03", count: 16)).utf8)), as: .hexadecimal)))
    }

    // MARK: Descriptors, credentials

    @Test func keyDescriptorIsReadToEndAndClosed() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("pass ".utf8))
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) {
            try? pipe.fileHandleForWriting.write(contentsOf: Data("phrase\n".utf8))
            try? pipe.fileHandleForWriting.close()
        }
        let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
        try opens(.fileDescriptor(descriptor))
        // Nothing more comes from the pipe.
        #expect(reason(.fileDescriptor(dup(pipe.fileHandleForReading.fileDescriptor))) == .emptyKey)
        #expect(reason(.fileDescriptor(-1)) == .keyProvider)
    }

    @Test func systemdCredentialProvidesKey() throws {
        try FileManager.default.createDirectory(atPath: folder.path("credentials"), withIntermediateDirectories: true)
        for (mode, fits) in [(0o400, true), (0o440, true), (0o600, true), (0o444, false), (0o460, false)] {
            let path = try write(Data("pass phrase".utf8), mode: mode, name: "credentials/notes")
            let outcome = try Command.run(
                BuildProducts.executable("FaultDriver"), ["keys-credential", folder.path("a.db"), "notes"],
                environment: ["CREDENTIALS_DIRECTORY": folder.path("credentials")])
            #expect((outcome.status == 0) == fits, "\(outcome)")
            if !fits { #expect(outcome.output.contains("error keyProvider") && outcome.output.contains(path)) }
        }
        let missing = try Command.run(
            BuildProducts.executable("FaultDriver"), ["keys-credential", folder.path("a.db"), "others"],
            environment: ["CREDENTIALS_DIRECTORY": folder.path("credentials")])
        #expect(missing.output.contains("there is no key"))
        for name in ["", ".", "..", "../key", "a/b", "a\0b"] { #expect(reason(.systemdCredential(name)) == .keyProvider) }
        // Not run by systemd.
        #expect(try KeySource.systemdCredential("notes").key() == nil)
    }

    // MARK: The kernel

    #if os(Linux)
        /// If a container forbids the calls, the error must say so.
        @Test(arguments: [KernelKeyring.process, .session, .user, .userSession]) func kernelKeyringProvidesKey(keyring: KernelKeyring) throws {
            let name = "sqlcipherkit-test-\(UUID().uuidString)"
            do { try keyring.add(Data("pass phrase".utf8), as: name) } catch let error as DatabaseError {
                #expect(error.reason == .keyProvider)
                let reasons = [EPERM, EACCES, ENOSYS, EDQUOT, ENOKEY].map { String(cString: strerror($0)) }
                #expect(reasons.contains { error.message.hasSuffix($0) }, "\(error)")
                #expect(reason(.keyring(name, in: keyring)) == .keyProvider)
                return
            }
            // A process may not own the keys in the user's keyring unless its session is linked to that keyring: then reading says
            // so.
            do {
                try opens(.keyring(name, in: keyring))
                try keyring.add(Data("wrong".utf8), as: name)
                #expect(reason(.keyring(name, in: keyring)) == .wrongKeyOrNotADatabase)
            } catch let error as DatabaseError {
                #expect(error.reason == .keyProvider && error.message.hasSuffix(String(cString: strerror(EACCES))), "\(error)")
            }
            #expect(try keyring.remove(name))
            #expect(try !keyring.remove(name))
            #expect(try KeySource.keyring(name, in: keyring).key() == nil)
            #expect(throws: DatabaseError.self) { try opens(.keyring(name, in: keyring)) }
        }

        @Test func expiredKernelKeyIsForgotten() throws {
            let name = "sqlcipherkit-test-\(UUID().uuidString)"
            do { try KernelKeyring.process.add(Data("pass phrase".utf8), as: name, expiresAfter: .seconds(3)) } catch let error as DatabaseError {
                #expect(error.reason == .keyProvider)
                return
            }
            try opens(.keyring(name, in: .process))
            // The kernel counts in whole seconds.
            try waitUntil("the kernel has forgotten the key") { try KeySource.keyring(name, in: .process).key() == nil }
        }

        @Test func invalidKernelKeysAreRefused() throws {
            for name in ["", "a\0b", String(repeating: "x", count: 4096)] {
                #expect(reason(.keyring(name)) == .keyProvider)
                #expect(throws: DatabaseError.self) { try KernelKeyring.process.add(Data([1]), as: name) }
            }
            let empty = #expect(throws: DatabaseError.self) { try KernelKeyring.process.add(Data(), as: "x") }
            #expect(empty?.reason == .emptyKey)
            #expect(throws: DatabaseError.self) { try KernelKeyring.process.add(Data(count: 40_000), as: "x") }
        }
    #endif
}

extension Array {
    func repeated(_ count: Int) -> [Element] { (0..<count).flatMap { _ in self } }
}
