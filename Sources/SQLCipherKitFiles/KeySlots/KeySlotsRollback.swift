import SQLCipherKitCore

extension KeySlots {
    /// The differences between key slots and the latest key slots that their database has recorded. An error with the reason
    /// ``DatabaseError/Reason/keySlotsRolledBack`` has the rollback as its ``DatabaseError/underlyingError``;
    /// ``KeySlots/acceptedRollback`` is the rollback that was accepted.
    ///
    /// The slots are intact, and a holder of the database's key has written them. But if a slot file or a database was restored,
    /// for instance from a backup, passphrases that have been revoked since may become valid again, and the database may lack later
    /// changes.
    public struct Rollback: Error, Hashable, Sendable {
        /// The kinds of differences.
        public struct Kind: Hashable, Sendable, CustomStringConvertible {
            /// The kind's name, the same as in Swift.
            public let description: String
            private init(_ name: String) { description = name }

            /// The slots are older than the latest slots that the database has recorded.
            public static let older = Kind("older")
            /// The database had recorded these slots, but is now older than they are: the database was restored. No passphrase
            /// becomes valid again.
            public static let olderDatabase = Kind("olderDatabase")
            /// The database has a record of other slots: these slots were created separately for the same key, or changed with a
            /// copy of the database.
            public static let others = Kind("others")
            /// The database has no record of slots, but the slots were used with it: the database was replaced, or its record was
            /// removed.
            public static let unknown = Kind("unknown")
            /// There is no database, or only an empty file, where there was a database.
            public static let noDatabase = Kind("noDatabase")
        }

        /// The kind of difference.
        public let kind: Kind
        /// The generation of the slots: 1 at first, and one more with each change.
        public let generation: Int
        /// The number of changes that the database has recorded; nil if it has no mark of them.
        package let databaseGeneration: Int?
        /// The labels of revoked slots that would open the database again; nil if unknown.
        public let revoked: [String]?
        /// The labels of slots whose earlier secret would open the database again; nil if unknown.
        public let superseded: [String]?
        /// The labels of slots that the database has recorded and that are missing; nil if unknown.
        public let missing: [String]?

        init(_ kind: Kind, _ table: SlotTable, _ mark: SlotMark?) {
            self.kind = kind
            generation = table.generation
            databaseGeneration = mark?.generation
            // Slots that are the latest bring nothing back.
            let known = kind == .olderDatabase ? table.slots.map { SlotMark.Slot($0) } : mark?.slots
            revoked = known.map { known in
                table.slots.filter { slot in !known.contains { $0.id == slot.id } }.map(\.label)
            }
            superseded = known.map { known in
                table.slots.map { SlotMark.Slot($0) }
                    .filter { slot in known.contains { $0.id == slot.id && $0.secret != slot.secret } }.map(\.label)
            }
            missing = known.map { known in known.filter { slot in !table.slots.contains { $0.id == slot.id } }.map(\.label) }
        }
    }
}

extension KeySlots.Rollback: CustomStringConvertible {
    /// The difference and the slots that it concerns, in one sentence.
    public var description: String {
        var text =
            switch kind {
            case .older:
                "the slots have \(generation) changes, and the database records \(databaseGeneration ?? 0)"
            case .olderDatabase:
                "the database records \(databaseGeneration ?? 0) of the slots' \(generation) changes, and recorded all of them "
                    + "before: it was replaced by an older state"
            case .others: "the database records other slots, created for the same key or changed with a copy"
            case .unknown: "the database has no record of the slots: it was replaced, or its mark was removed"
            default: "the database of the slots is missing or empty"
            }
        func add(_ labels: [String]?, _ what: String) {
            if let labels, !labels.isEmpty { text += "; \(what): \(labels.joined(separator: ", "))" }
        }
        add(revoked, "revoked slots that are valid again")
        add(superseded, "changed slots that open with the earlier secret again")
        add(missing, "added slots that are lost")
        if revoked == nil { text += "; slots that were revoked in between are unknown" }
        return text
    }
}

extension SlotTable {
    /// The relation between the table and the database's mark.
    enum Standing {
        case current
        /// The database has not seen the last change, as far as is known: a process died between the two steps.
        case ahead
        case rolledBack(KeySlots.Rollback)
    }

    /// True if the database has the mark of this generation and the slots do not say so. Version 1 cannot say it.
    func isUnseen(by mark: SlotMark?) -> Bool {
        if !isSeen, version == Self.version, case .current = standing(to: mark) { true } else { false }
    }

    func standing(to mark: SlotMark?) -> Standing {
        guard let mark else { return isForNewDatabase ? .ahead : .rolledBack(KeySlots.Rollback(.unknown, self, nil)) }
        if mark.id != id { return .rolledBack(KeySlots.Rollback(.others, self, mark)) }
        if mark.generation > generation { return .rolledBack(KeySlots.Rollback(.older, self, mark)) }
        // A database that has seen version 2 never goes back to version 1.
        if mark.change != nil, version == 1 { return .rolledBack(KeySlots.Rollback(.others, self, mark)) }
        if let seen = mark.change, let own = change(of: mark.generation), seen != own {
            return .rolledBack(KeySlots.Rollback(.others, self, mark))
        }
        if mark.generation == generation, mark.change == history.last { return .current }
        return isSeen ? .rolledBack(KeySlots.Rollback(.olderDatabase, self, mark)) : .ahead
    }
}

extension DatabaseError {
    static func rolledBackSlots(_ rollback: KeySlots.Rollback) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .keySlotsRolledBack,
            message: "the key slots and their database are not both up to date: \(rollback). Unlock with acceptingRollback to "
                + "continue with them",
            underlying: rollback)
    }
}
