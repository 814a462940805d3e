import SQLCipherKitCore

/// The values of some records that identify the records associated with them, for one association.
struct NearKeys {
    /// The columns of the records' table that make up the key.
    let columns: [String]
    /// For each column, the value of each record; nil for NULL.
    fileprivate(set) var values: [[AssociationKey?]]

    init(_ columns: [String]) {
        self.columns = columns
        values = columns.map { _ in [] }
    }
}

extension SQLSide {
    /// Appends the keys of a row, of which this side consists, to those of each association.
    func appendKeys(_ row: borrowing Row, to lists: inout [NearKeys]) throws(DatabaseError) {
        var index = range.lowerBound
        for list in lists.indices {
            for column in lists[list].values.indices {
                lists[list].values[column].append(try AssociationKey(Row._Column(row.handle, Int32(truncatingIfNeeded: index))))
                index += 1
            }
        }
    }
}
