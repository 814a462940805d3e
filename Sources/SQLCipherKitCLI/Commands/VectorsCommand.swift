import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitVectors

struct VectorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vectors",
        abstract: "Create tables of vectors, fill them and find the nearest rows.",
        discussion: """
            A table of vectors has vectors, such as a model makes of texts, for the rows of another table. Triggers keep it \
            in step: a changed row is missing its vector until it is imported again.

            EXAMPLES
              sqlcipherkit vectors create n.db v --dimensions 384 --table t --column text
              sqlcipherkit vectors import n.db v vectors.csv
              sqlcipherkit vectors search n.db v --like 42
            """,
        subcommands: [VectorsCreate.self, VectorsImport.self, VectorsSearch.self])
}

extension VectorTable.Element: ExpressibleByArgument {}
extension VectorTable.Metric: ExpressibleByArgument {}

struct VectorsCreate: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a table of vectors.",
        discussion: """
            The table that --table names needs an INTEGER PRIMARY KEY. Without it, the row ids are those that are imported.

            \(form)
            """)

    private static let form = JSONForm.object("table", "dimensions", "of", "metric", "missing")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The name of the new table.", valueName: "name"))
    var name: String
    @Option(help: ArgumentHelp("The number of dimensions of each vector.", valueName: "number"))
    var dimensions: Int
    @Option(name: .customLong("of"), help: "How they are stored: float32, int8 or bits.")
    var element = VectorTable.Element.float32
    @Option(help: "How distances are measured: cosine, dot or l2; for bits, always hamming. By default cosine.")
    var metric: VectorTable.Metric?
    @Option(help: ArgumentHelp("The table whose rows have the vectors.", valueName: "name"))
    var table: String?
    @Option(help: ArgumentHelp("A column that the vectors are made of; with --table, one or more.", valueName: "name"))
    var column: [String] = []
    @Flag(name: .customLong("bits"), help: "Also store each vector as bits, for search --coarse.")
    var keepsBits = false
    @OptionGroup var report: ReportOptions

    func validate() throws {
        if (table == nil) != column.isEmpty { throw ValidationError("--table and --column belong together") }
    }

    func run() throws {
        let db = try file.open(.readWrite)
        let description = VectorTable(
            name, dimensions: dimensions, of: element, metric: metric,
            content: table.map { .external(table: $0, columns: column) } ?? .own, keepsBits: keepsBits)
        try db.create(description)
        let vectors = try db.vectors(name)
        let missing = try table == nil ? nil : vectors.missingCount
        try report.write(
            Self.form,
            [
                .string(vectors.name), .integer(Int64(dimensions)), .string(element.rawValue), .string(vectors.metric.rawValue),
                missing.map { .integer(Int64($0)) } ?? .null,
            ],
            "created \(vectors.name.onOneLine)" + (missing.map { ": \($0.counted("row")) missing a vector" } ?? ""))
    }
}

struct VectorsImport: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Give rows their vectors, from a file.",
        discussion: """
            The file has a JSON array on each line, or a line of CSV without a header: the row id, and then the numbers. Either \
            all vectors are imported or none.

            \(form)
            """)

    private static let form = JSONForm.object("table", "imported", "missing")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The table of vectors.", valueName: "name"))
    var name: String
    @Argument(help: ArgumentHelp("The file with the vectors.", valueName: "file"), completion: .file())
    var source: String
    @OptionGroup var report: ReportOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        let rows = try VectorFile.read(source)
        let vectors = try file.open(.readWrite).vectors(name)
        try vectors.set(rows)
        let missing = try? vectors.missingCount
        let rest = missing.map { $0 == 0 ? "" : "; \($0.counted("row")) still missing one" } ?? ""
        try report.write(
            Self.form,
            [.string(vectors.name), .integer(Int64(rows.count)), missing.map { .integer(Int64($0)) } ?? .null],
            "imported \(rows.count.counted("vector"))" + rest)
    }
}

struct VectorsSearch: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Find the rows whose vectors are nearest to the vector of a row.",
        discussion: """
            The status is 1 if nothing is found.

            \(form)
            """)

    private static let form = JSONForm.rows("row", "distance")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The table of vectors.", valueName: "name"))
    var name: String
    @Option(help: ArgumentHelp("The row whose similar rows to find.", valueName: "row id"))
    var like: Int64
    @Option(name: .shortAndLong, help: ArgumentHelp("The number of hits to show, up to 9,999.", valueName: "number"))
    var limit = 10
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("A condition in SQL over the columns of the table that the vectors belong to.", valueName: "condition"))
    var condition: String?
    @Flag(help: "Compare the bits of all vectors first, which is faster and may miss some of the nearest.")
    var coarse = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !(1...9_999).contains(limit) { throw ValidationError("--limit takes a number from 1 to 9999") }
    }

    func run() throws {
        let vectors = try file.open(.readOnly).vectors(name)
        guard let vector = try vectors.vector(for: like) else { throw Failure("the row \(like) has no vector in \(name)") }
        var search = VectorSearch(vector, limit: limit + 1)
        search.filter = condition.map { SQL(raw: $0) }
        search.coarse = coarse ? .bits() : nil
        let hits = try vectors.search(search).filter { $0.rowID != like }.prefix(limit)
        if hits.isEmpty { throw Failure("nothing found") }
        try output.write(["row", "distance"], hits.map { [.integer($0.rowID), .real($0.distance)] })
    }
}
