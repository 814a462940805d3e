import SQLCipherKit

/// The content that must be in the database of an import.
extension ImportSweep {
    /// Rows or documents after a number of batches, and the ledger's record of the rows: their number, and a 1 at the end.
    private typealias State = (records: [String], noted: [Int])

    /// The states that batches may end in, including the first and the last state.
    private func states(_ old: Records, _ new: Records, removesGone: Bool) -> [State] {
        var texts = isMirror ? Dictionary(uniqueKeysWithValues: old.map { ($0.name, $0.text) }) : [:]
        func state(_ noted: [Int]) -> State { (texts.map { $0.key + " " + $0.value }.sorted(), noted) }
        var states = [state(isMirror ? [old.count, 1] : [])]
        for (number, record) in new.enumerated() {
            texts[record.name] = record.text
            if (number + 1) % Self.rowsPerBatch == 0 { states.append(state([number + 1, 0])) }
        }
        // With the last batch, a mirror removes documents whose files are gone.
        if removesGone { texts = texts.filter { name, _ in new.contains { $0.name == name } } }
        return states + [state([new.count, 1])]
    }

    private func records(_ table: String, _ name: String, _ text: String, _ db: Connection) throws -> [String] {
        guard try db.main.hasTable(table) else { return [] }
        return try db.fetchAll(String.self, "SELECT \(raw: name) || ' ' || \(raw: text) FROM \(raw: table)").sorted()
    }

    /// Throws unless the rows, the ledger and the documents are as after a whole number of batches.
    func expectBatches(_ db: Connection) throws {
        let rows = try records("rows", "number", "text", db), documents = try records("document", "path", "body", db)
        let noted: (Int, Int)? = try !db.main.hasTable("sqlcipherkit_import")
            ? nil : db.fetchOne("SELECT rows, is_finished FROM sqlcipherkit_import")
        let ledger = noted.map { [$0.0, $0.1] } ?? []
        let ofRows = states(Self.old.rows, Self.new.rows, removesGone: false)
        let ofDocuments = states(Self.old.documents, Self.new.documents, removesGone: true)
        guard ofRows.contains(where: { $0.records == rows && $0.noted == ledger }) else {
            throw SweepScenario.Wrong(description: "there are \(rows.count) rows, and the ledger says \(ledger)")
        }
        guard let place = ofDocuments.firstIndex(where: { $0.records == documents }) else {
            throw SweepScenario.Wrong(description: "there are \(documents.count) documents")
        }
        if place > 0 { try expectImported(1, db) }
        for index in try db.main.fullTextIndexes() where try !db.fullText(index.name).passesIntegrityCheck() {
            throw SweepScenario.Wrong(description: "\(index.name) does not match its table")
        }
    }

    /// Throws unless the rows are there, and the documents if `calls` is 2.
    func expectImported(_ calls: Int, _ db: Connection) throws {
        let rows = try records("rows", "number", "text", db), documents = try records("document", "path", "body", db)
        guard rows == states(Self.old.rows, Self.new.rows, removesGone: false).last?.records,
            try isIndexed("rows_search", rows.count, db)
        else {
            throw SweepScenario.Wrong(description: "only \(rows.count) of the rows had been imported")
        }
        if calls < 2 { return }
        guard documents == states(Self.old.documents, Self.new.documents, removesGone: true).last?.records,
            try isIndexed("document_search", documents.count, db)
        else { throw SweepScenario.Wrong(description: "only \(documents.count) of the documents had been imported") }
    }

    /// True if the full-text index is there, and finds as many rows as there are.
    private func isIndexed(_ index: String, _ count: Int, _ db: Connection) throws -> Bool {
        guard try db.main.fullTextIndexes().contains(where: { $0.name == index }) else { return false }
        let index = try db.fullText(index)
        return try index.passesIntegrityCheck() && index.search(.prefix(SweepScenario.marker)).total.count == count
    }

    /// The schema and the rows, without the rows that a full-text index keeps for itself.
    func content(_ db: Connection) throws -> [String] {
        var content = try db.fetchAll(String.self, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
        let tables = try db.fetchAll(String.self, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        for table in tables where table != "sqlite_schema" {
            let columns = try db.main.columns(of: table).map { "quote(\($0.name))" }.joined(separator: " || ' ' || ")
            content += try db.fetchAll(String.self, "SELECT \(table) || ' ' || \(raw: columns) FROM \(raw: table)")
        }
        for (index, table) in [("rows_search", "rows"), ("document_search", "document")] {
            let count = try db.fetchOne(Int.self, "SELECT count(*) FROM \(raw: table)") ?? 0
            guard try isIndexed(index, count, db) else { throw SweepScenario.Wrong(description: "\(index) does not find all rows") }
        }
        return content.sorted()
    }
}
