import CSQLCipher
import Foundation

/// Several passphrases and recovery keys for one database, each of which opens it, and each of which can be taken back or changed
/// without rewriting it: what LUKS does for a disk.
///
/// The database is encrypted with a random key. A small file beside it holds that key once per slot, wrapped under a key
/// derived from the slot's passphrase or recovery key. The article <doc:KeySlotsGuide> has the file format and what this protects
/// from.
/// ```swift
/// let notes = DatabaseLocation.file("notes.db")
/// let slots = try KeySlots.create(.passphrase("correct horse"), label: "laptop", for: notes)
/// let recovery = try slots.addRecoveryKey(label: "safe")
/// print(recovery.text)
///
/// let db = try Connection(notes, key: .slots(secret: .passphrase("correct horse")))
/// ```
/// A value of this type has the database's key: treat it like the open database. It can be used by several threads and, on
/// files, by several processes at once.
public struct KeySlots: Sendable {
    /// Where the slots are kept.
    public enum Place: Sendable {
        /// In a file beside the database's (where that is a symbolic link, beside what it points to), named like it with `.keys`
        /// appended. `.keys.lock` and, while it is written, `.keys.tmp` belong to it.
        case beside
        /// In a file of that path. A symbolic link in its place is refused.
        case file(String)
        /// Where the application wants them.
        case storage(any KeySlotStorage)
    }

    /// What one attempt may cost over all slots that it tries, in rounds of PBKDF2: 20,000,000, some seconds. A slot is tried
    /// unless it, and the cheaper ones together, cost more. ``maximumSlots`` of ``SlotDerivation/standard`` cost less.
    public static let defaultCostLimit = 20_000_000
    /// The largest number of slots.
    public static let maximumSlots = 32

    /// The database that the slots belong to.
    public let location: DatabaseLocation
    /// The key that opens the database, with its cipher settings.
    public internal(set) var key: Encryption
    /// Whether a change of the database key was cut off, and unlocking could not bring it to its end, because another connection
    /// uses the database for instance. The slots open the database all the same, with the key from before; a later opening, or
    /// ``rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)``, gives it the new one.
    public internal(set) var isRotationUnfinished = false
    /// What was accepted when these slots were unlocked, if they or the database were not the latest.
    public internal(set) var acceptedRollback: KeySlotsRollback?

    /// The key that the slots hold, and that authenticates them: `key`, or the one that a cut off rotation was to bring.
    var slotKey: Encryption
    let id: [UInt8]
    let storage: any KeySlotStorage
    let settings: Settings

    /// What a short connection of this type's own is opened with.
    struct Settings: Sendable {
        let cipher: CipherConfiguration?
        let busyTimeout: Duration
        let followsSymbolicLinks: Bool
        let access: DatabaseConfiguration.Access
        var isReadOnly: Bool { access == .readOnly }

        init(_ configuration: DatabaseConfiguration, _ cipher: CipherConfiguration?) {
            self.cipher = cipher
            busyTimeout = configuration.busyTimeout
            followsSymbolicLinks = configuration.followsSymbolicLinks
            access = configuration.access
        }
    }

    // MARK: Making

    /// Makes the slots for a database, with a first one.
    ///
    /// A database that does not exist yet gets a random key when it is opened with the slots. One that exists needs its
    /// `existingKey`: a raw key goes into the slots as it is; in place of a passphrase the database gets a random key, which
    /// rewrites it. No other connection may have it open then.
    /// - Parameters:
    ///   - secret: what opens the first slot.
    ///   - label: the first slot's name, from 1 to 200 bytes in UTF-8, without control characters. It can be read without a key.
    ///   - location: the database, by its path.
    ///   - place: where the slots go. Default: beside the database.
    ///   - existingKey: the key of a database that exists, with its cipher settings.
    ///   - derivation: how the slot's key is derived, and so what an attempt at it costs.
    ///   - cipher: the cipher settings; nil for those of `existingKey`, or SQLCipher 4's.
    ///   - configuration: its busy timeout and treatment of links and folders count.
    /// - Throws: ``DatabaseError/Reason/misuse`` if there are slots already, or for a database that exists without its key;
    ///   ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if `existingKey` is not its key;
    ///   ``DatabaseError/Reason/invalidArgument`` for a label or number out of range; ``DatabaseError/Reason/busy``;
    ///   ``DatabaseError/Reason/cannotOpen``.
    public static func create(
        _ secret: SlotSecret, label: String, for location: DatabaseLocation, at place: Place = .beside,
        existingKey: Encryption? = nil, derivation: SlotDerivation = .standard, cipher: CipherConfiguration? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> KeySlots {
        try validate(label: label)
        try derivation.validate()
        let path = try path(of: location)
        let existingKey = try existingKey?.resolvedForOldKey()
        let cipher = cipher ?? existingKey?.cipher
        if !configuration.followsSymbolicLinks, DatabaseFile.isLink(path) {
            throw DatabaseFile.cannotOpen(path, "it is a symbolic link, and none is followed")
        }
        let isMissing = try DatabaseFile.prepare(location, configuration) || DatabaseFile.isEmpty(path)
        guard isMissing == (existingKey == nil) else {
            throw DatabaseError.misuse(
                isMissing ? "there is no database \(path) that the existing key could be for"
                    : "the database \(path) exists: its key is needed to make key slots for it")
        }
        let storage = try storage(place, location, configuration)
        var table = try SlotTable()
        table.isForNewDatabase = isMissing
        // The database's own key if it can be wrapped as it is, otherwise a new one.
        let slotKey: Encryption
        if let existingKey, existingKey.isRaw { slotKey = existingKey } else { slotKey = try randomKey() }
        let changesKey = existingKey.map { !$0.isRaw } ?? false
        if let existingKey, changesKey { try table.setPrevious(existingKey, under: slotKey) }
        table.slots = [try SlotRecord(wrapping: slotKey, for: secret, label: label, derivation: derivation, file: table.id)]
        var slots = KeySlots(location, slotKey, table, storage, Settings(configuration, cipher))
        slots.key = (existingKey ?? slotKey).with(cipher: cipher)
        let made = slots
        try storage.update { bytes, write in
            guard bytes == nil else { throw DatabaseError.misuse("the database \(path) has key slots already") }
            let db = try made.connect()
            let before = try db?.main.slotMark()
            do {
                // First: a process that dies in between leaves a database without slots, and never slots that it does not know.
                try db?.main.setSlotMark(table)
                try write(try table.bytes(under: slotKey))
                if changesKey, let db { try made.replaceKey(of: db, by: slotKey, &table, .newFile, nil, write) }
            } catch {
                // The database has the key that it had: the slots go again.
                if let file = storage as? SlotFile {
                    let same = try? made.connect()
                    if isMissing || same != nil { file.remove() }
                    try? same?.main.putBack(before)
                }
                throw error
            }
        }
        slots.key = slotKey.with(cipher: cipher)
        return slots
    }

    init(
        _ location: DatabaseLocation, _ slotKey: Encryption, _ table: SlotTable, _ storage: any KeySlotStorage, _ settings: Settings
    ) {
        (self.location, key, self.slotKey, id) = (location, slotKey.with(cipher: settings.cipher), slotKey, table.id)
        (self.storage, self.settings) = (storage, settings)
    }

    static func randomKey() throws(DatabaseError) -> Encryption {
        try SecureBytes.random(count: 32).withUnsafeBytes { bytes throws(DatabaseError) in try .raw(bytes: bytes) }
    }

    // MARK: Looking

    /// The slots, as a holder of the database's key has written them.
    /// - Throws: ``DatabaseError/Reason/keySlotsDamaged``, ``DatabaseError/Reason/cannotOpen``.
    public func list() throws -> [KeySlot] { try verified(try storage.read()).slots.map(\.slot) }

    /// What the slots of a database say of themselves, without a key and so without proof: to ask for the right passphrase.
    /// - Throws: ``DatabaseError/Reason/keySlotsDamaged``; ``DatabaseError/Reason/cannotOpen`` if there are none.
    public static func unverifiedList(of location: DatabaseLocation, at place: Place = .beside) throws -> [KeySlot] {
        guard let bytes = try storage(place, location, DatabaseConfiguration()).read() else { throw missing(location) }
        return try SlotTable(parsing: bytes).slots.map(\.slot)
    }

    /// The table in stored bytes, if a holder of the key has written it.
    func verified(_ bytes: [UInt8]?) throws(DatabaseError) -> SlotTable {
        guard let bytes else { throw Self.missing(location) }
        let table = try SlotTable(parsing: bytes)
        try table.authenticate(bytes, under: slotKey)
        guard table.id == id else { throw .rolledBackSlots(KeySlotsRollback(.others, table, nil)) }
        return table
    }

    // MARK: Checks

    static func validate(label: String) throws(DatabaseError) {
        guard (1...200).contains(label.utf8.count) else {
            throw .invalidArgument("the label of a key slot has 1 to 200 bytes in UTF-8")
        }
        // A label is shown in a terminal, and may come from a hostile file.
        guard
            label.unicodeScalars.allSatisfy({
                ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
            })
        else { throw .invalidArgument("the label of a key slot has no control characters") }
    }

    static func path(of location: DatabaseLocation) throws(DatabaseError) -> String {
        guard let path = location.path else { throw .invalidArgument("key slots are for a database that is named by its path") }
        return path
    }

    static func storage(
        _ place: Place, _ location: DatabaseLocation, _ configuration: DatabaseConfiguration
    ) throws(DatabaseError) -> any KeySlotStorage {
        switch place {
        case .beside: SlotFile(path: DatabaseFile.keySlots(beside: try path(of: location)), timeout: configuration.busyTimeout)
        case .file(let path): SlotFile(path: try path.cName("the path of the key slots"), timeout: configuration.busyTimeout)
        case .storage(let storage): storage
        }
    }

    static func missing(_ location: DatabaseLocation) -> DatabaseError {
        let path = location.path ?? location.name
        return DatabaseError(
            code: .cannotOpen, reason: .cannotOpen, message: "there are no key slots for the database \(path)", path: path)
    }
}

extension KeySlots: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Which database the slots are for; nothing of the key.
    public var description: String { "KeySlots(\(location.path ?? location.name))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Encryption {
    /// Whether the engine uses the key as it is.
    var isRaw: Bool { if case .raw = form { true } else { false } }
}
