/// How the columns of a database store dates, UUIDs, booleans and numbers, for which SQLite has no types of its own: see
/// ``Schema/valueReport(sampling:)``.
public struct ValueReport: Hashable, Sendable {
    /// What a column seems to hold.
    public enum Content: String, Hashable, Sendable {
        case dates, uuids, booleans, numbers, text, bytes
        /// Values that are no one thing.
        case anything
        /// NULL alone, or no rows.
        case nothing
    }

    /// How a value is stored.
    public enum Form: Hashable, Sendable {
        case integer, real, text, blob
        /// A date, as a strategy stores it.
        case date(DateStrategy)
        /// A date as text in a form of SQLite's that no strategy writes, such as a day alone. It is read, and can be converted.
        case otherDate
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
        /// What it seems to hold.
        public let content: Content
        /// How its values are stored, with the number of each form among the rows that were looked at, the most frequent first;
        /// NULL is left out.
        public let forms: [Count]

        /// The number of values of one form.
        public struct Count: Hashable, Sendable {
            public let form: Form
            public let count: Int
        }

        /// Whether values of several forms stand in it that SQL compares wrongly with each other, such as dates as text and as
        /// numbers. ``Schema/convertValues(of:in:to:allowingRounding:)`` makes one form of them.
        public var isMixed: Bool {
            switch content {
            case .dates, .uuids, .booleans, .anything: forms.count > 1
            case .numbers: forms.count > 1 && forms.contains { $0.form == .numericText }
            case .text, .bytes, .nothing: false
            }
        }
    }

    /// The columns, in the order of the tables' names.
    public let columns: [Column]

    /// The column of a table.
    public subscript(table: String, column: String) -> Column? {
        columns.first { $0.table.isSameName(as: table) && $0.name.isSameName(as: column) }
    }

    /// The columns whose values compare wrongly with each other.
    public var mixedColumns: [Column] { columns.filter(\.isMixed) }

    /// The profile to open the database with: the most frequent forms, and those of ``ValueProfile/standard`` where there is none.
    public var profile: ValueProfile {
        ValueProfile(
            dates: dates ?? ValueProfile.standard.dates, uuids: uuids ?? ValueProfile.standard.uuids,
            decimals: decimals ?? ValueProfile.standard.decimals)
    }

    /// The names of the profiles that come with this package and have these forms, such as `grdb`; empty if none has.
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
