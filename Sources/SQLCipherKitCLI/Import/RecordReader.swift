import SQLCipherKit

/// Names of columns, in order. Records that share the object have the same ones.
final class ColumnList: Sendable {
    let names: [String]

    init(_ names: [String]) { self.names = names }

    func isSame(as other: ColumnList) -> Bool {
        self === other || names.elementsEqual(other.names) { $0.utf8.elementsEqual($1.utf8) }
    }
}

/// A value to be.
enum ImportValue {
    case null
    /// A field that does not say what it is: the column does.
    case field(String)
    /// A value that says what it is.
    case value(SQLValue)
}

/// A row to be.
struct ImportRecord {
    let list: ColumnList
    let values: [ImportValue]
}

/// Reads the records of a file one after the other, and can go on where another run stopped.
protocol RecordReader: AnyObject {
    /// The line that the last record began in, counted from 1.
    var line: Int { get }
    /// The place after the last record, in bytes and in lines, for ``resume(at:line:)``.
    var offset: Int { get }
    var resumeLine: Int { get }
    /// The columns that every record has, if that is known beforehand.
    var columns: [String]? { get }
    /// Whether a column keeps texts and numbers beside each other: the input says which is which.
    var keepsNumbersApart: Bool { get }
    /// Whether the input comes out of a compressed file.
    var isCompressed: Bool { get }
    /// Records that were left out so far.
    var skipped: Int { get }
    /// How the file is read, for people.
    var description: String { get }
    /// Goes on after a record that an earlier run has read.
    func resume(at offset: Int, line: Int) throws
    /// - Throws: ``Failure`` that says what is wrong with the record, without the place.
    func next() throws -> ImportRecord?
}
