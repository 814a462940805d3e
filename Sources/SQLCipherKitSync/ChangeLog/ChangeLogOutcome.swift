import SQLCipherKitCore

extension ChangeLog {
    /// The result of ``ChangeLog/receive(_:)``.
    public struct Outcome: Hashable, Sendable {
        /// The result for one table.
        public struct Table: Hashable, Sendable {
            /// The table.
            public let name: String
            /// The number of changes that were made, completely or in part.
            public internal(set) var applied = 0
            /// The number of changes skipped, because of later changes or because the row has been deleted.
            public internal(set) var outdated = 0
            /// The number of rows that this call deleted because they had the same unique value as a row that was written later, or
            /// referred to a deleted row. The log has an entry for the other peers.
            public internal(set) var deleted = 0
            /// The number of references to a deleted row that are now NULL, because of `ON DELETE SET NULL`. The log has an entry
            /// for the other peers.
            public internal(set) var detached = 0
            /// The number of rows that kept their values because the merged values would violate a `CHECK`, a `NOT NULL` or a
            /// trigger's `RAISE`. The log has an entry for the other peers.
            public internal(set) var kept = 0

            init(name: String) { self.name = name }
        }

        /// The tables that the new entries change, and the tables with repairs.
        public internal(set) var tables: [Table] = []
        /// The number of entries that were new.
        public internal(set) var received = 0
        /// The number of entries that had been received before.
        public internal(set) var repeated = 0
        /// The number of rows that were logged again, as changes of this peer: because this peer was restored from a backup, or
        /// because the peer that inserted the rows was unknown when the log was pruned.
        public internal(set) var renewed = 0

        /// The result for a table; nil if the table was neither changed nor repaired.
        public subscript(table: String) -> Table? { tables.first { $0.name.isSameName(as: table) } }

        /// True if the call changed rows in addition to the message's changes, because of a unique value, a foreign key or a check.
        /// Then the log has a new entry that all other peers lack, including the sender of the message.
        public var hasRepairs: Bool { tables.contains { $0.deleted + $0.detached + $0.kept > 0 } }

        /// Nothing was received.
        package init() {}

        /// Adds the numbers of another call.
        package mutating func add(_ other: Outcome) {
            received += other.received
            repeated += other.repeated
            renewed += other.renewed
            for table in other.tables {
                count(table.name) { sum in
                    sum.applied += table.applied
                    sum.outdated += table.outdated
                    sum.deleted += table.deleted
                    sum.detached += table.detached
                    sum.kept += table.kept
                }
            }
        }

        mutating func count(_ table: String, _ body: (inout Table) -> Void) {
            let place = tables.firstIndex { $0.name == table } ?? tables.count
            if place == tables.count { tables.append(Table(name: table)) }
            body(&tables[place])
        }
    }
}
