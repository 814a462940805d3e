import Foundation
import SQLCipherKit

/// The files of a command that go into one table, in order.
///
/// All values decide the types of the columns. The first records are a bet on what they are: if a later one needs a wider column,
/// and numbers in it do not return as the files have them, all files are read to their ends, and the table is made again. That is
/// possible only for a table that this command has created; for others the value is an error.
final class TableImport {
    /// The state of the table that a command fills.
    struct Filling {
        /// True if the command has created the table, so that it has no other rows.
        var isOwn = false
        /// The table's columns, once the command has filled it.
        var columns: ImportColumns?
        /// The columns that all files together need, if they are known.
        var known: ImportColumns?
    }

    let table: String
    private(set) var files: [FileImport] = []
    /// The number of rows that were committed.
    private(set) var committed = 0

    init(_ table: String) { self.table = table }

    convenience init(_ file: FileImport) {
        self.init(file.table)
        add(file)
    }

    func add(_ file: FileImport) {
        files.append(file)
        let rules = ImportColumns.Rules(keepsNumbersApart: files.contains { $0.plan.rules.keepsNumbersApart })
        for index in files.indices {
            files[index].plan.rules = rules
            // The first file makes the table, and the others add to it.
            if index > 0 { files[index].plan.isFresh = false }
        }
    }

    /// - Parameter report: called for each file that was imported.
    func run(_ db: Connection, rowsPerBatch: Int, _ report: (FileImport, FileImport.Report) throws -> Void) throws {
        var filling = Filling()
        while true {
            var done: [(FileImport, FileImport.Report)] = []
            do {
                committed = 0
                for file in files {
                    let writer = BatchWriter(db, rowsPerBatch: rowsPerBatch)
                    defer { committed += writer.committed }
                    done.append((file, try file.run(db, writer, &filling)))
                }
                for (file, found) in done { try report(file, found) }
                return
            } catch is RowTable.TooNarrow where filling.isOwn && filling.known == nil {
                filling.known = try columns().0
                filling.columns = nil
                files[0].plan.isFresh = true
            } catch {
                for (file, found) in done { try report(file, found) }
                throw (error as? RowTable.TooNarrow)?.failure ?? error
            }
        }
    }

    /// Reads all files, and returns the columns that they need, with what was found in each file.
    func columns() throws -> (ImportColumns, [FileImport.Report]) {
        var columns = ImportColumns(files[0].plan)
        let reports = try files.map { try $0.note(in: &columns) }
        columns.decide()
        return (columns, reports)
    }
}
