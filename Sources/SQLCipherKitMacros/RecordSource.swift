#if Macros
import SwiftSyntax

/// The source that `@Record` writes.
struct RecordSource {
    private let properties: RecordProperties
    private let table: RecordTable
    private let access: String
    private let hasOwnKeys: Bool

    init(_ record: StructDeclSyntax, _ properties: RecordProperties, _ table: RecordTable) {
        self.properties = properties
        self.table = table
        let levels: [Keyword] = [.public, .package]
        let level = levels.first { level in record.modifiers.contains { $0.name.tokenKind == .keyword(level) } }
        access = level == .public ? "public " : level == .package ? "package " : ""
        hasOwnKeys = record.memberBlock.members.contains { member in
            member.decl.as(EnumDeclSyntax.self)?.name.text == "CodingKeys"
                || member.decl.as(TypeAliasDeclSyntax.self)?.name.text == "CodingKeys"
        }
    }

    func text(of type: String, _ protocols: [String]) -> String {
        let columns = properties.columns
        var parts: [String] = []
        if let name = table.name { parts.append("\(access)static let tableName = \(name)") }
        let pairs = columns.map { "\(quoted($0.column)): \\.\($0.name)" }
        parts.append("""
            \(access)static let recordColumns = SQLRecordColumns(
                of: \(type).self,
                [
                    \(pairs.joined(separator: ",\n        ")),
                ])
            """)
        let options = table.options.map { ", options: \($0)" } ?? ""
        let lines = columns.map { "$0.\($0.name)\($0.description)" } + table.parts
        parts.append("""
            \(access)static let table = SQLTable(of: \(type).self\(options)) {
                \(lines.joined(separator: "\n    "))
            }
            """)
        let profiles = columns.compactMap { column -> String? in
            let name = quoted(column.column)
            return column.profile.map { "\(properties.hasNaming ? "columnNaming(\(name))" : name): \($0)" }
        }
        if !profiles.isEmpty {
            parts.append("\(access)static let columnProfiles: [String: ValueProfile] = [\(profiles.joined(separator: ", "))]")
        }
        if let keys { parts.append(keys) }
        let reads = columns.map { "\($0.hasColumnDefault ? "_\($0.plainName)" : "self.\($0.name)") = try columns.next()" }
        parts.append("""
            \(access)init(columns: inout SQLColumnReader) throws {
                \(reads.joined(separator: "\n    "))
            }
            """)
        let writes = columns.map { "try columns.put(\($0.hasColumnDefault ? "$\($0.plainName)" : "self.\($0.name)"))" }
        parts.append("""
            \(access)func write(to columns: inout SQLColumnWriter) throws {
                \(writes.joined(separator: "\n    "))
            }
            """)
        let body = parts.joined(separator: "\n\n").split(separator: "\n", omittingEmptySubsequences: false)
        let conformances = protocols.isEmpty ? "" : ": \(protocols.joined(separator: ", "))"
        return "extension \(type)\(conformances) {\n"
            + body.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n") + "\n}"
    }

    /// `Codable` sees the same columns under the same names, so that what goes by names, such as `Row.decode`, agrees.
    private var keys: String? {
        let columns = properties.columns
        if hasOwnKeys || columns.count == properties.list.count && columns.allSatisfy({ $0.column == $0.plainName }) { return nil }
        let cases = columns.map { "case \($0.name)\($0.column == $0.plainName ? "" : " = \(quoted($0.column))")" }
        return """
            enum CodingKeys: String, CodingKey {
                \(cases.joined(separator: "\n    "))
            }
            """
    }

    private func quoted(_ text: String) -> String { StringLiteralExprSyntax(content: text).description }
}
#endif
