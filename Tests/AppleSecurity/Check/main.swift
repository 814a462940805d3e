// The package's sources for the Keychain and for file protection, with the Keychain of the module Security beside this. They are
// compiled into this program, as the package itself has them on Apple's platforms alone.
import Foundation
import SQLCipherKitCore
import Security

nonisolated(unsafe) var count = 0

func expect(_ condition: @autoclosure () throws -> Bool, _ line: Int = #line) {
    count += 1
    do {
        if try condition() { return }
        print("line \(line): does not hold")
    } catch {
        print("line \(line): \(error)")
    }
    exit(1)
}

func expectError(_ reason: DatabaseError.Reason, saying words: String = "", _ line: Int = #line, _ body: () throws -> Void) {
    count += 1
    do {
        try body()
        print("line \(line): throws nothing")
    } catch let error as DatabaseError where error.reason == reason && (words.isEmpty || error.message.contains(words)) {
        return
    } catch {
        print("line \(line): \(error)")
    }
    exit(1)
}

/// True if two keys open the same file.
func same(_ a: DatabaseKey?, _ b: DatabaseKey?) throws -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    let path = NSTemporaryDirectory() + "/keychain-\(UUID().uuidString).db"
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    try Connection(.file(path), key: a).execute("CREATE TABLE t(x)")
    do {
        _ = try Connection(.file(path), key: b)
        return true
    } catch { return false }
}

let raw = Array(UInt8(0)..<32)
let service = "com.example.notes"

// An item: nothing, a key, not another in its place, another, nothing.
let item = try KeychainItem(service: service, account: "notes.db", accessGroup: "TEAM.shared")
expect(try item.key() == nil)
expect(try !item.delete())
try item.store(raw)
expect(try same(item.key(), .raw(raw)))
expectError(.keyProvider, saying: "already") { try item.store([UInt8](repeating: 9, count: 32)) }
expect(try same(item.key(), .raw(raw)))
let stored = StandIn.items[0]
expect(stored["accessible"] as? String == "after first unlock, this device")
expect(stored["synchronizable"] as? Bool == false && stored["data protection"] as? Bool == true)
expect(stored["access group"] as? String == "TEAM.shared" && stored["account"] as? String == "notes.db")
let unlocked = try KeychainItem(
    service: service, account: "notes.db", accessGroup: "TEAM.shared", accessibility: .whenUnlockedThisDeviceOnly)
try unlocked.replace(with: [UInt8](repeating: 9, count: 32))
expect(try same(item.key(), .raw([UInt8](repeating: 9, count: 32))))
expect(StandIn.items.count == 1 && StandIn.items[0]["accessible"] as? String == "when unlocked, this device")
expect(try KeychainItem(service: service, account: "other.db", accessGroup: "TEAM.shared").key() == nil)
StandIn.isLocked = true
expectError(.keyProvider, saying: "-25308") { _ = try item.key() }
expectError(.keyProvider, saying: "-25308") { _ = try item.loadOrCreateKey() }
expectError(.keyProvider, saying: "-25308") { try item.replace(with: raw) }
StandIn.isLocked = false
expect(try item.delete() && item.key() == nil && StandIn.items.isEmpty)
try item.replace(with: raw)
expect(StandIn.items[0]["accessible"] as? String == "after first unlock, this device")
expect(try same(item.key(), .raw(raw)) && item.delete())

// Bytes that are no key, and contradictory settings, are refused before the Keychain is asked.
expectError(.invalidKey) { try item.store([1, 2, 3]) }
expectError(.emptyKey) { try item.store([]) }
expectError(.emptyKey) { try item.replace(with: []) }
expectError(.invalidArgument) { _ = try KeychainItem(service: "", account: "a") }
expectError(.invalidArgument) { _ = try KeychainItem(service: "a", account: "") }
expectError(.invalidArgument, saying: "synchronized") { _ = try KeychainItem(service: "a", account: "b", isSynchronized: true) }
expectError(.invalidArgument, saying: "data protection") {
    _ = try KeychainItem(service: "a", account: "b", accessGroup: "c", usesDataProtection: false)
}
expectError(.invalidArgument) { _ = try EnclaveKey(tag: "") }
expectError(.invalidArgument, saying: "this device") { _ = try EnclaveKey(tag: "a", accessibility: .whenUnlocked) }
expect(StandIn.items.isEmpty)

// Each encoding.
let passphrase = try KeychainItem(service: service, account: "words", as: .passphrase)
try passphrase.store(Data("correct horse".utf8))
expect(try same(passphrase.key(), .passphrase("correct horse")))
expectError(.invalidArgument, saying: "line break") { try passphrase.replace(with: Data("correct horse\n".utf8)) }
let digits = try KeychainItem(service: service, account: "digits", as: .hexadecimal)
try digits.store(Data(raw.map { String(format: "%02x", $0) }.joined().utf8))
expect(try same(digits.key(), .raw(raw)))
expect(try passphrase.delete() && digits.delete())

// Synchronized only on request, and apart from items that are not synchronized.
let synchronised = try KeychainItem(service: service, account: "s", accessibility: .afterFirstUnlock, isSynchronized: true)
try synchronised.store(raw)
expect(StandIn.items[0]["synchronizable"] as? Bool == true)
expect(try KeychainItem(service: service, account: "s").key() == nil)
expect(try same(synchronised.key(), .raw(raw)) && synchronised.delete())

// A new key, once; the same for all that ask at the same time.
let new = try KeychainItem(service: service, account: "new")
let first = try new.loadOrCreateKey()
expect(try same(first, new.loadOrCreateKey()) && same(first, KeySource.keychain(new).key()))
expect(!(try same(first, .raw(raw))))
expect((StandIn.items[0]["value"] as? NSData)?.length == 32)
expect(try new.delete())
StandIn.beforeAdding = {
    StandIn.beforeAdding = nil
    try? new.store(raw)
}
expect(try same(new.loadOrCreateKey(), .raw(raw)) && StandIn.items.count == 1)
try new.delete()
_ = try new.loadOrCreateKey(withSalt: true)
expect((StandIn.items[0]["value"] as? NSData)?.length == 48)
try new.delete()
let newDigits = try KeychainItem(service: service, account: "new", as: .hexadecimal)
expect(try same(newDigits.loadOrCreateKey(), newDigits.key()) && (StandIn.items[0]["value"] as? NSData)?.length == 64)
try newDigits.delete()
expectError(.invalidArgument) { _ = try passphrase.loadOrCreateKey() }
// Another process deletes the item while this process replaces its key.
try new.store(raw)
try new.delete()
StandIn.beforeAdding = {
    StandIn.beforeAdding = nil
    try? new.store(raw)
}
try new.replace(with: [UInt8](repeating: 7, count: 32))
expect(try same(new.key(), .raw([UInt8](repeating: 7, count: 32))) && StandIn.items.count == 1)
try new.delete()

// The mark of an encrypted file is beside the key, and stays on this device.
let shared = try KeychainItem(service: service, account: "m", accessibility: .afterFirstUnlock, isSynchronized: true)
let plainPath = NSTemporaryDirectory() + "sqlcipherkit-mark-\(getpid()).db"
try Connection(.file(plainPath)).execute("CREATE TABLE t(x)")
let sharedKey = try shared.loadOrCreateKey()
expect(try DatabaseConverter.encryptOnce(fileAt: plainPath, key: sharedKey, mark: .keychain(shared)))
expect(try !DatabaseConverter.encryptOnce(fileAt: plainPath, key: sharedKey, mark: .keychain(shared)))
expect(StandIn.items.contains { $0["account"] as? String == "m.encrypted" && $0["synchronizable"] as? Bool == false })
try FileManager.default.removeItem(atPath: plainPath)
try Connection(.file(plainPath)).execute("CREATE TABLE t(x)")
expectError(.notEncrypted) { try DatabaseConverter.encryptOnce(fileAt: plainPath, key: sharedKey, mark: .keychain(shared)) }
try FileManager.default.removeItem(atPath: plainPath)
StandIn.items.removeAll()

// A program for a Mac without an entitlement.
StandIn.isEntitled = false
expectError(.keyProvider, saying: "-34018") { try new.store(raw) }
let login = try KeychainItem(service: service, account: "login", usesDataProtection: false)
try login.store(raw)
expect(StandIn.items[0]["accessible"] == nil)
expect(try same(login.key(), .raw(raw)) && same(KeySource.keychain(service: service, as: .raw).key(), .raw(raw)))
try login.replace(with: [UInt8](repeating: 5, count: 32))
expect(try same(KeySource.keychain(service: service, account: "login", as: .raw).key(), .raw([UInt8](repeating: 5, count: 32))))
expect(try login.delete() && KeySource.keychain(service: service, as: .raw).key() == nil)
StandIn.isEntitled = true

// The Secure Enclave: the stored bytes are not the key, and only the Enclave's key opens them.
let enclave = try EnclaveKey(tag: "com.example.wrapping", accessGroup: "TEAM.shared", requires: .userPresence)
expectError(.keyProvider, saying: "there is no key") { _ = try enclave.decrypt(Data(raw)) }
let wrapped = try KeychainItem(service: service, account: "wrapped", enclaveKey: enclave)
try wrapped.store(raw)
expect(StandIn.questions == 0, #line)
let control = (StandIn.items.first { $0["key"] != nil }?["key"] as? SecKey)?.control
expect(control?.flags == [.privateKeyUsage, .userPresence] && control?.protection == "after first unlock, this device")
expect(StandIn.items.first { $0["key"] != nil }?["access group"] as? String == "TEAM.shared")
expect((StandIn.items.first { $0["value"] != nil }?["value"] as? NSData).map { !($0 as Data).contains(Data(raw)) } == true)
expect(try same(wrapped.key(), .raw(raw)) && StandIn.questions > 0)
try wrapped.replace(with: [UInt8](repeating: 3, count: 32))
expect(StandIn.items.count == 2)
expect(try same(wrapped.key(), .raw([UInt8](repeating: 3, count: 32))))
StandIn.userConsents = false
expectError(.keyProvider, saying: "does not decrypt") { _ = try wrapped.key() }
StandIn.userConsents = true
// Two keys of one tag, as two processes may make them: either is tried.
let blob = try enclave.encrypt(raw)
let mine = StandIn.items.removeLast(where: { $0["key"] != nil })
_ = try enclave.encrypt(raw)
StandIn.items.append(mine)
expect(try enclave.decrypt(blob).withUnsafeBytes { Array($0) == raw })
expect(try wrapped.delete() && enclave.delete() && !enclave.delete() && StandIn.items.isEmpty)
expectError(.keyProvider, saying: "there is no key") { _ = try enclave.decrypt(blob) }
StandIn.hasEnclave = false
expectError(.keyProvider, saying: "cannot create a key") { try wrapped.store(raw) }
StandIn.hasEnclave = true
for demand in EnclaveKey.AccessControl.allCases {
    let key = try EnclaveKey(tag: "\(demand)", accessibility: .whenPasscodeSetThisDeviceOnly, requires: demand)
    expect(try key.decrypt(key.encrypt(raw)).withUnsafeBytes { Array($0) == raw })
}
expect(Set(StandIn.items.compactMap { ($0["key"] as? SecKey)?.control.flags.rawValue }).count == EnclaveKey.AccessControl.allCases.count)
StandIn.items = []
for accessibility in KeychainAccessibility.allCases {
    try KeychainItem(service: service, account: "\(accessibility)", accessibility: accessibility).store(raw)
}
let isHere = StandIn.items.map { ($0["accessible"] as? String)?.hasSuffix("this device") }
expect(isHere == KeychainAccessibility.allCases.map(\.isThisDeviceOnly))
expect(Set(StandIn.items.compactMap { $0["accessible"] as? String }).count == KeychainAccessibility.allCases.count)

// No error holds the key.
do { try item.store(Data("sesame".utf8)) } catch { expect(!"\(error)".contains("sesame")) }

try checkFileProtection()
try await checkArticle()
try await checkApp()
try await checkScreen()
try await checkEmbedding()
print("\(count) expectations hold")

extension Array {
    mutating func removeLast(where condition: (Element) -> Bool) -> Element {
        remove(at: lastIndex(where: condition) ?? count - 1)
    }
}
