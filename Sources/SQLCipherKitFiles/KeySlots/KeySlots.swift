import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Several passphrases and recovery keys for one database. Each of them opens it, and each can be revoked or changed without
/// rewriting the database, like the key slots of LUKS for a disk.
///
/// The database is encrypted with a random key. A small file beside it holds that key once per slot, wrapped under a key derived
/// from the slot's passphrase or recovery key. The article <doc:KeySlotsGuide> describes the protection, and
/// <doc:KeySlotsFormat> the file.
/// ```swift
/// let notes = DatabaseLocation.file("notes.db")
/// let slots = try KeySlots.create(.passphrase("correct horse"), label: "laptop", for: notes)
/// let recovery = try slots.addRecoveryKey(label: "safe")
/// print(recovery.text)
///
/// let db = try Connection(notes, key: .slots(secret: .passphrase("correct horse")))
/// ```
/// A value of this type contains the database's key: protect it like the open database. Several threads can use it at the same time
/// and, with slots in files, several processes.
public struct KeySlots: Sendable {
    /// The place where the slots are kept.
    public enum Place: Sendable {
        /// In a file beside the database's file (if that is a symbolic link, beside its target), with the same name and `.keys`
        /// appended. `.keys.lock` and, while the slots are being written, `.keys.tmp` belong to it.
        case beside
        /// In a file with that path. It must not be a symbolic link.
        case file(String)
        /// In storage that the application provides.
        case storage(any Storage)
    }

    /// The limit for the cost of unlocking, for all tried slots together, in rounds of PBKDF2: 20,000,000, a few seconds. A slot is
    /// skipped if it and all cheaper slots together cost more. The maximum of 32 slots with ``KeySlots/Derivation/standard`` costs
    /// less than this limit.
    public static let defaultCostLimit = 20_000_000
    /// The limit for the memory of unlocking, in KiB: 262,144 (256 MiB), four times the memory of ``KeySlots/Derivation/standard``.
    /// To open a slot that was made with more memory, pass that slot's memory as the limit.
    public static let defaultMemoryLimit = 262_144
    /// The maximum number of slots.
    package static let maximumSlots = 32

    /// The database that the slots belong to.
    public let location: DatabaseLocation
    /// The key that opens the database, with its cipher settings.
    public internal(set) var key: DatabaseKey
    /// True if a change of the database key was interrupted and unlocking could not finish it, for instance because another
    /// connection uses the database. The slots still open the database, with the old key; a later opening, or
    /// ``rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)``, gives the database the new key.
    public internal(set) var isRotationUnfinished = false
    /// The rollback that was accepted when these slots were unlocked; nil if they and the database were the latest.
    public internal(set) var acceptedRollback: Rollback?

    /// The key that the slots hold and that authenticates them: `key`, or the new key of an interrupted rotation.
    var slotKey: DatabaseKey
    let id: [UInt8]
    let storage: any Storage
    let settings: Settings

    /// The settings of the short connections that this type opens itself.
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

    // MARK: Creating

    /// Creates the slots for a database, with one slot.
    ///
    /// A database that does not exist yet gets a random key when it is opened with the slots. For an existing database, pass its
    /// `existingKey`. A raw key is stored in the slots unchanged; a passphrase is replaced by a random key, which rewrites the
    /// database. In that case, no other connection may have the database open.
    /// - Parameters:
    ///   - secret: the secret that opens the first slot.
    ///   - label: the first slot's name, from 1 to 200 bytes in UTF-8, without control characters. It can be read without a key.
    ///   - location: the database, by its path.
    ///   - place: where to keep the slots. Default: beside the database.
    ///   - existingKey: the key of an existing database, with its cipher settings.
    ///   - derivation: how the slot's key is derived, which determines the cost of an attempt.
    ///   - cipher: the cipher settings; nil for the settings of `existingKey`, or of SQLCipher 4.
    ///   - configuration: only its busy timeout and treatment of links and folders are used.
    ///   - progress: called from time to time while a database with a passphrase is rewritten; if it throws, the database stays as
    ///     it was and has no slots.
    /// - Throws: ``DatabaseError/Reason/misuse`` if there are slots already, or if the database exists and you pass no
    ///   `existingKey`; ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if `existingKey` is not its key;
    ///   ``DatabaseError/Reason/invalidArgument`` for a label or number out of range; ``DatabaseError/Reason/busy``;
    ///   ``DatabaseError/Reason/cannotOpen``; what `progress` throws.
    public static func create(
        _ secret: Secret, label: String, for location: DatabaseLocation, at place: Place = .beside,
        existingKey: DatabaseKey? = nil, derivation: Derivation = .standard, cipher: CipherConfiguration? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: DatabaseProgress.Handler? = nil
    ) throws -> KeySlots {
        try validate(label: label)
        try derivation.validate()
        let path = try path(of: location)
        let existingKey = try existingKey?.resolvedForOldKey()
        let cipher = cipher ?? existingKey?.cipher
        if !configuration.followsSymbolicLinks, DatabaseFile.isLink(path) {
            throw DatabaseFile.cannotOpen(path, "it is a symbolic link, and symbolic links are not followed")
        }
        let isMissing = try DatabaseFile.prepare(location, configuration) || DatabaseFile.isEmpty(path)
        guard isMissing == (existingKey == nil) else {
            throw DatabaseError.misuse(
                isMissing ? "an existing key was given, but there is no database \(path)"
                    : "the database \(path) exists: give its key to create key slots for it")
        }
        let storage = try storage(place, location, configuration)
        var table = try SlotTable()
        table.isForNewDatabase = isMissing
        // The database's own key if it can be wrapped unchanged, otherwise a new one.
        let slotKey: DatabaseKey
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
                // First: if the process dies in between, the database has no slots, but never slots that it does not know.
                try db?.main.setSlotMark(table)
                try write(try table.bytes(under: slotKey))
                guard let db else { return }
                if changesKey {
                    try made.replaceKey(of: db, by: slotKey, &table, .newFile, progress, write)
                } else {
                    made.noteSeen(table, by: db.main, under: slotKey, write)
                }
            } catch {
                // The database still has its old key: remove the slots again.
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
        _ location: DatabaseLocation, _ slotKey: DatabaseKey, _ table: SlotTable, _ storage: any Storage, _ settings: Settings
    ) {
        (self.location, key, self.slotKey, id) = (location, slotKey.with(cipher: settings.cipher), slotKey, table.id)
        (self.storage, self.settings) = (storage, settings)
    }

    static func randomKey() throws -> DatabaseKey {
        try SecureBytes.random(count: 32).withUnsafeBytes { bytes in try .raw(bytes: bytes) }
    }

    // MARK: Reading

    /// Returns the slots after authenticating them: a holder of the database's key has written them.
    /// - Throws: ``DatabaseError/Reason/keySlotsDamaged``, ``DatabaseError/Reason/cannotOpen``.
    public func slots() throws -> [Slot] {
        try verified(try storage.read()).slots.map(\.slot)
    }

    /// Returns the slots that the bytes at `place` describe. No key is needed, so the description is not authenticated. Use it, for
    /// example, to ask for the right passphrase.
    /// - Parameters:
    ///   - location: the database, by its path.
    ///   - place: where the slots are. Default: beside the database.
    /// - Throws: ``DatabaseError/Reason/keySlotsDamaged``; ``DatabaseError/Reason/cannotOpen`` if there are no slots.
    public static func unverifiedSlots(of location: DatabaseLocation, at place: Place = .beside) throws -> [Slot] {
        guard let bytes = try storage(place, location, DatabaseConfiguration()).read() else { throw missing(location) }
        return try SlotTable(parsing: bytes).slots.map(\.slot)
    }

    /// Returns the table in stored bytes, if a holder of the key has written them.
    func verified(_ bytes: [UInt8]?) throws -> SlotTable {
        guard let bytes else { throw Self.missing(location) }
        let table = try SlotTable(parsing: bytes)
        try table.authenticate(bytes, under: slotKey)
        guard table.id == id else { throw DatabaseError.rolledBackSlots(Rollback(.others, table, nil)) }
        return table
    }

    // MARK: Checks

    static func validate(label: String) throws {
        guard (1...200).contains(label.utf8.count) else {
            throw DatabaseError.invalidArgument("the label of a key slot has 1 to 200 bytes in UTF-8")
        }
        // A label is shown in a terminal, and may come from a malicious file.
        guard
            label.unicodeScalars.allSatisfy({
                ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
            })
        else { throw DatabaseError.invalidArgument("the label of a key slot has no control characters") }
    }

    static func path(of location: DatabaseLocation) throws -> String {
        guard let path = location.path else {
            throw DatabaseError.invalidArgument("key slots are for a database that is named by its path")
        }
        return path
    }

    static func storage(
        _ place: Place, _ location: DatabaseLocation, _ configuration: DatabaseConfiguration
    ) throws -> any Storage {
        switch place {
        case .beside: SlotFile(path: DatabaseFile.keySlots(beside: try path(of: location)), timeout: configuration.busyTimeout)
        case .file(let path): SlotFile(path: try Paths.file(path, of: "the key slots"), timeout: configuration.busyTimeout)
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
    /// The database that the slots are for, without the key.
    public var description: String { "KeySlots(\(location.path ?? location.name))" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension KeySlots {
    /// Adds a slot.
    /// ```swift
    /// try slots.add(.passphrase("battery staple"), label: "desktop")
    /// ```
    /// - Parameters:
    ///   - secret: the passphrase or recovery key that opens the slot.
    ///   - label: the slot's name, which no other slot may have: 1 to 200 bytes in UTF-8, without control characters.
    ///   - derivation: how the slot's key is derived, which determines the cost of an attempt.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a label that is already in use or a number out of range, or if there
    ///   are already 32 slots; ``DatabaseError/Reason/busy``; ``DatabaseError/Reason/keySlotsDamaged``;
    ///   ``DatabaseError/Reason/keySlotsRolledBack``. Nothing has changed then.
    public func add(_ secret: Secret, label: String, derivation: Derivation = .standard) throws {
        try Self.validate(label: label)
        try derivation.validate()
        // Before taking the lock, because key derivation is slow.
        let slot = try SlotRecord(wrapping: slotKey, for: secret, label: label, derivation: derivation, file: id)
        try edit { table in
            guard !table.slots.contains(where: { $0.label.isSameText(as: label) }) else {
                throw DatabaseError.invalidArgument("a key slot with the label \(label) exists already")
            }
            guard table.slots.count < Self.maximumSlots else {
                throw DatabaseError.invalidArgument("there are already \(Self.maximumSlots) key slots, which is the maximum")
            }
            table.slots.append(slot)
        }
    }

    /// Adds a slot for a new random recovery key, and returns that key. It is not stored anywhere else.
    /// - Parameters:
    ///   - label: the slot's name, as for ``add(_:label:derivation:)``.
    ///   - derivation: how the slot's key is derived, which determines the cost of an attempt.
    /// - Throws: the errors of ``add(_:label:derivation:)``.
    public func addRecoveryKey(label: String, derivation: Derivation = .standard) throws -> RecoveryKey {
        let key = try RecoveryKey()
        try add(.recoveryKey(key), label: label, derivation: derivation)
        return key
    }

    /// Removes a slot. Its secret no longer opens the database.
    ///
    /// Revocation is not retroactive: anyone with the secret and a copy of the earlier slots can still get the key of the database.
    /// To prevent that as well, give the database a new key with
    /// ``rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if no slot has that label; ``DatabaseError/Reason/misuse`` for the last
    ///   slot, without which nothing could open the database; and the errors of ``add(_:label:derivation:)``.
    public func revoke(_ label: String) throws {
        try edit { table in
            let index = try table.index(of: label)
            guard table.slots.count > 1 else {
                throw DatabaseError.misuse("the slot \(label) is the last slot: without it, the database could no longer be opened")
            }
            table.slots.remove(at: index)
        }
    }

    /// Changes the passphrase of a slot. The database is not rewritten.
    /// ```swift
    /// try slots.changePassphrase("laptop", from: .passphrase("correct horse"), to: .passphrase("battery staple"))
    /// ```
    /// - Parameters:
    ///   - label: the slot's label.
    ///   - old: the secret that opens the slot now.
    ///   - new: the secret that opens it from now on.
    ///   - derivation: how the slot's key is derived. Nil keeps the slot's derivation, unless it is a former standard: then the
    ///     slot gets ``KeySlots/Derivation/standard``.
    /// - Throws: ``DatabaseError/Reason/noSlotOpens`` if `old` does not open the slot; ``DatabaseError/Reason/busy`` also if
    ///   another caller has changed the slot in the meantime; and the errors of ``add(_:label:derivation:)``.
    public func changePassphrase(
        _ label: String, from old: Secret, to new: Secret, derivation: Derivation? = nil
    ) throws {
        try derivation?.validate()
        let table = try verified(try storage.read())
        let slot = table.slots[try table.index(of: label)]
        guard slot.kind == old.kind, try slot.open(with: old, file: id) != nil else { throw Self.wrongSecret(label, old) }
        let changed = try SlotRecord(
            wrapping: slotKey, for: new, label: label, derivation: derivation ?? slot.derivation.renewed, file: id, id: slot.id,
            created: slot.created)
        try edit { table in
            let index = try table.index(of: label)
            guard table.slots[index] == slot else {
                throw DatabaseError(
                    code: .busy, reason: .busy, message: "the slot \(label) was changed by another caller in the meantime")
            }
            table.slots[index] = changed
        }
    }

    static func wrongSecret(_ label: String, _ secret: Secret) -> DatabaseError {
        DatabaseError(
            code: .authorization, reason: .noSlotOpens,
            message: "the slot \(label) does not open with the \(secret.kind) given for it")
    }

    /// Changes the table that is stored now, under the lock that keeps others from changing it.
    /// - Parameter accepts: whether to continue with slots that are not the latest.
    func edit(accepting accepts: Bool = false, _ change: (inout SlotTable) throws -> Void) throws {
        try storage.update { bytes, write in
            var table = try verified(bytes)
            let db = try connect()
            defer { db?.close() }
            var seen = 0
            if let db {
                // The database's mark from before the slots change must survive a crash.
                if !accepts { try check(table, on: db.main, updates: true) }
                // The database's lock first: once the slots are written, its mark must follow.
                try db.begin(.immediate)
                if !accepts { try check(table, on: db.main, updates: false) }
                seen = try db.main.slotMark()?.generation ?? 0
                table.isForNewDatabase = false
            } else if accepts {
                table.isForNewDatabase = true
            }
            try change(&table)
            try table.advance(beyond: seen, under: slotKey)
            try db?.main.setSlotMark(table)
            try write(try table.bytes(under: slotKey))
            // From here on the change is in effect. If the mark is lost, the next opening sets it.
            guard let db, (try? db.commit()) != nil else { return }
            noteSeen(table, by: db.main, under: slotKey, write)
        }
    }
}

extension KeySlots {
    /// The information about a slot that is available without opening it.
    public struct Slot: Hashable, Sendable {
        /// The kind of secret that opens a slot.
        public struct Kind: Hashable, Sendable, CaseIterable, CustomStringConvertible {
            /// The kind's name: "passphrase" or "recovery key".
            public let description: String
            /// The kind's number in the slot file.
            let number: UInt8
            private init(_ name: String, _ number: UInt8) { (description, self.number) = (name, number) }

            public static let allCases: [Kind] = [.passphrase, .recoveryKey]

            /// A passphrase that a person types, or bytes that are kept elsewhere.
            public static let passphrase = Kind("passphrase", 1)
            /// A ``RecoveryKey``.
            public static let recoveryKey = Kind("recovery key", 2)
        }

        /// The slot's name. The slot file contains it in plaintext.
        public let label: String
        /// The kind of secret that opens the slot.
        public let kind: Kind
        /// The derivation of the slot's key, which determines the cost of an attempt.
        public let derivation: Derivation
        /// The time when the slot was added, to the second.
        public let createdAt: Date
        /// The time when the slot was last written: when it was added, its secret was changed, or the database's key was rotated.
        public let changedAt: Date
    }
}
