import SQLCipherKitCore

extension Schema {
    /// How the columns of a database store dates, UUIDs, booleans and numbers, for which SQLite has no types of its own; see
    /// ``Schema/valueReport(sampling:limits:)``.
    public struct ValueReport: Hashable, Sendable {
        /// The apparent content of a column.
        public enum Content: String, Hashable, Sendable {
            case dates, uuids, booleans, numbers, text, bytes
            /// Values of several kinds.
            case anything
            /// Only NULL, or no rows.
            case nothing
        }

        /// How a value is stored.
        public enum Form: Hashable, Sendable {
            case integer, real, text, blob
            /// A date, as a strategy stores it.
            case date(DateStrategy)
            /// A date as text in an SQLite form that no strategy writes, such as a day alone. It can be read and converted.
            case otherDate
            /// A blob in which `NSKeyedArchiver` has stored an `NSDate`. It is not read as a date, but can be converted.
            case archivedDate
            /// A date as text in MongoDB's Extended JSON, as Realm exports it. It is not read as a date, but can be converted.
            case extendedJSONDate
            /// A UUID, as a strategy stores it.
            case uuid(UUIDStrategy)
            /// A number in decimal digits as text, which SQLite compares as text.
            case numericText
            /// `true` or `false`, `yes` or `no`, as text.
            case booleanText
        }

        /// One column.
        public struct Column: Hashable, Sendable {
            /// Its table.
            public let table: String
            /// Its name.
            public let name: String
            /// Its declared type, as written; empty if there is none.
            public let type: String
            /// Its apparent content.
            public let content: Content
            /// The forms of its values, with the number of each among the examined rows, the most frequent first; without NULL.
            public let forms: [Count]
            /// Why numbers in the column are taken for dates of that form; nil if none are. It begins with "a guess" unless the
            /// library that wrote the file is known to store its dates so. ``Schema/convertValues(of:in:to:allowingRounding:)`` has
            /// to be told in either case.
            public let reason: String?

            /// The number of values of one form.
            public struct Count: Hashable, Sendable {
                /// The form.
                public let form: Form
                /// How many of the examined rows have it.
                public let count: Int
            }

            /// Whether it contains values in several forms that SQL does not compare correctly with each other, such as dates as
            /// text and as numbers. ``Schema/convertValues(of:in:to:allowingRounding:)`` converts them to one form.
            package var isMixed: Bool {
                switch content {
                case .dates, .uuids, .booleans, .anything: forms.count > 1
                case .numbers: forms.count > 1 && forms.contains { $0.form == .numericText }
                case .text, .bytes, .nothing: false
                }
            }
        }

        /// A library that marks the files that it writes.
        public enum Origin: String, Hashable, Sendable {
            /// Apple's Core Data, by its table `Z_METADATA`: a date is the seconds since 2001.
            case coreData
            /// Android's Room, by its table `room_master_table`: a date is what a converter of the program makes of it, usually the
            /// milliseconds since 1970.
            case room
        }

        /// The library that wrote the file, if its tables show one.
        public let origin: Origin?

        /// The columns, sorted by table name.
        public let columns: [Column]

        /// The column of a table.
        public subscript(table: String, column: String) -> Column? {
            columns.first { $0.table.isSameName(as: table) && $0.name.isSameName(as: column) }
        }

        /// The columns with values that SQL does not compare correctly with each other.
        public var mixedColumns: [Column] { columns.filter(\.isMixed) }

        /// The profile to open the database with: the most frequent forms, or those of ``ValueProfile/standard`` for kinds of
        /// values that do not occur.
        public var profile: ValueProfile {
            ValueProfile(
                dates: dates ?? ValueProfile.standard.dates, uuids: uuids ?? ValueProfile.standard.uuids,
                decimals: decimals ?? ValueProfile.standard.decimals)
        }

        /// The names of this package's profiles that have these forms, such as `grdb`; empty if none has.
        public var profileNames: [String] {
            ValueProfile.named.filter {
                (dates ?? $0.profile.dates) == $0.profile.dates && (uuids ?? $0.profile.uuids) == $0.profile.uuids
                    && (decimals ?? $0.profile.decimals) == $0.profile.decimals
            }.map(\.name)
        }

        private var dates: DateStrategy? { mostFrequent { if case .date(let dates) = $0 { dates } else { nil } } }
        private var uuids: UUIDStrategy? { mostFrequent { if case .uuid(let uuids) = $0 { uuids } else { nil } } }
        private var decimals: DecimalStrategy? {
            columns.contains { $0.content == .numbers && $0.forms.first?.form == .numericText } ? .text : nil
        }

        private func mostFrequent<Strategy: Hashable>(_ strategy: (Form) -> Strategy?) -> Strategy? {
            var counts: [Strategy: Int] = [:]
            for form in columns.flatMap(\.forms) { if let found = strategy(form.form) { counts[found, default: 0] += form.count } }
            return counts.max { $0.value < $1.value }?.key
        }
    }
}
