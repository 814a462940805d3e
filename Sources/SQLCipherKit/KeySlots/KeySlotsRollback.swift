/// What tells key slots from the latest ones that their database has seen: in the ``DatabaseError/underlyingError`` of a
/// ``DatabaseError/Reason/keySlotsRolledBack``, and in ``KeySlots/acceptedRollback``.
///
/// The slots are whole, and a holder of the database's key has written them. But a slot file or a database that was put back, from
/// a backup for instance, may bring back passphrases that were revoked since.
public struct KeySlotsRollback: Error, Hashable, Sendable {
    /// What was found.
    public enum Kind: Hashable, Sendable {
        /// The slots are older than the database has seen them.
        case older
        /// The slots are not those that the database knows: made at another time for the same key, or changed beside a copy of the
        /// database.
        case others
        /// The database does not know of its slots, but the slots know of it: it was replaced, or what it remembered was dropped.
        case unknown
        /// There is no database, or an empty file, where one was.
        case noDatabase
    }

    /// What was found.
    public let kind: Kind
    /// The number of changes that the slots have seen.
    public let generation: Int
    /// The number of changes that the database has seen; nil if it knows of none.
    public let databaseGeneration: Int?
    /// The labels of slots that had been revoked, and would open the database again; nil if the database does not tell.
    public let revoked: [String]?
    /// The labels of slots whose earlier secret would open the database again; nil if the database does not tell.
    public let superseded: [String]?
    /// The labels of slots that the database has seen and that are missing; nil if the database does not tell.
    public let missing: [String]?

    init(_ kind: Kind, _ table: SlotTable, _ mark: SlotMark?) {
        self.kind = kind
        generation = table.generation
        databaseGeneration = mark?.generation
        let known = mark?.slots
        revoked = known.map { known in
            table.slots.filter { slot in !known.contains { $0.id == slot.id } }.map(\.label)
        }
        superseded = known.map { known in
            table.slots.map { SlotMark.Slot($0) }.filter { slot in known.contains { $0.id == slot.id && $0.secret != slot.secret } }
                .map(\.label)
        }
        missing = known.map { known in known.filter { slot in !table.slots.contains { $0.id == slot.id } }.map(\.label) }
    }
}

extension KeySlotsRollback: CustomStringConvertible {
    /// What was found, and which slots it concerns, in a sentence.
    public var description: String {
        var text =
            switch kind {
            case .older:
                "they have seen \(generation) changes, and the database has seen \(databaseGeneration ?? 0)"
            case .others: "the database knows others, of the same key or changed beside a copy"
            case .unknown: "the database does not know of them any more: it was replaced, or what it remembered was removed"
            case .noDatabase: "the database that they were used with is missing or empty"
            }
        func add(_ labels: [String]?, _ what: String) {
            if let labels, !labels.isEmpty { text += "; \(what): \(labels.joined(separator: ", "))" }
        }
        add(revoked, "revoked since, and back with them")
        add(superseded, "changed since, and back with the earlier secret")
        add(missing, "added since, and lost with them")
        if revoked == nil { text += "; which slots were revoked since is not known" }
        return text
    }
}

extension SlotTable {
    /// How the table stands to what the database remembers.
    enum Standing {
        case current
        /// The database has not seen the last change: a process died between the two steps, or it was restored.
        case ahead
        case rolledBack(KeySlotsRollback)
    }

    func standing(to mark: SlotMark?) -> Standing {
        guard let mark else { return isForNewDatabase ? .ahead : .rolledBack(KeySlotsRollback(.unknown, self, nil)) }
        if mark.id != id { return .rolledBack(KeySlotsRollback(.others, self, mark)) }
        if mark.generation > generation { return .rolledBack(KeySlotsRollback(.older, self, mark)) }
        // A database that has seen version 2 never goes back to 1.
        if mark.change != nil, version == 1 { return .rolledBack(KeySlotsRollback(.others, self, mark)) }
        if let seen = mark.change, let own = change(of: mark.generation), seen != own {
            return .rolledBack(KeySlotsRollback(.others, self, mark))
        }
        return mark.generation == generation && (mark.change == history.last) ? .current : .ahead
    }
}

extension DatabaseError {
    static func rolledBackSlots(_ rollback: KeySlotsRollback) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .keySlotsRolledBack,
            message: "the key slots are not the latest of their database: \(rollback). Unlock with acceptingRollback to go on "
                + "with them",
            underlying: rollback)
    }
}
