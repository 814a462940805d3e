import SQLCipherKit

/// Names of columns, in order. Records that share the object have the same columns.
final class ColumnList: Sendable {
    let names: [String]

    init(_ names: [String]) { self.names = names }

    func isSame(as other: ColumnList) -> Bool {
        self === other || names.elementsEqual(other.names) { $0.utf8.elementsEqual($1.utf8) }
    }
}

/// A value that is to be stored.
enum ImportValue {
    case null
    /// A field without a type, by its place in the record's bytes: the column's type decides.
    case field(Range<Int>)
    /// A text, by its place in the record's bytes.
    case text(Range<Int>)
    /// A value with a type.
    case value(SQLValue)
}

/// A row that is to be stored.
struct ImportRecord {
    let list: ColumnList
    let values: [ImportValue]
    /// The fields in UTF-8.
    var bytes: [UInt8] = []

    func text(_ place: Range<Int>) -> String { String(decoding: bytes[place], as: UTF8.self) }
}

/// Reads the records of a file one after the other, and can continue where another run stopped.
protocol RecordReader: AnyObject {
    /// The line on which the last record began, counted from 1.
    var line: Int { get }
    /// The place after the last record, in bytes and in lines, for ``resume(at:line:)``.
    var offset: Int { get }
    var resumeLine: Int { get }
    /// The columns that every record has, if they are known beforehand.
    var columns: [String]? { get }
    /// True if the input is a compressed file.
    var isCompressed: Bool { get }
    /// The number of records left out so far.
    var skipped: Int { get }
    /// The way in which the file is read, for people.
    var description: String { get }
    /// The number of the last record, where its line does not tell which one it is.
    var element: Int? { get }
    /// Gives the columns of records whose names are not in the input those of a table, by their position.
    func takeNames(_ names: [String]) throws
    /// Continues after a record that an earlier run has read.
    func resume(at offset: Int, line: Int) throws
    /// - Throws: ``Failure`` that says what is wrong with the record, without the place.
    func next() throws -> ImportRecord?
}

extension RecordReader {
    var element: Int? { nil }
    func takeNames(_ names: [String]) throws {}
}
