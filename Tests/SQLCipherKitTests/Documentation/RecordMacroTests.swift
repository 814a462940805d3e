import Foundation
import TestSupport
import Testing

/// The code that `@Record` writes stands in programs that use the package, so every name in it is public. The gate does not build
/// the macro; that it writes this is what the tests of the macro find.
@Suite struct RecordMacroTests {
    @Test func recordMacroExpansionCompilesOutsidePackage() throws {
        let written = try String(contentsOf: Repository.file("Tests/Macros/Written.swift"), encoding: .utf8)
        let errors = try Typecheck.errors(of: """
            import Foundation
            import SQLCipherKit

            struct Artist: SQLRecord {
                var id: Int64?
                var name: String
            }

            public struct Album {
                var id: Int64?
                var artist: Int64?
                var title: String?
                @ColumnDefault var tracks: Int?
                var added: Date
                let key: UUID
                var shown: String?
                var year, `default`: Int
                var cache = 0
                public static let columnNaming = ColumnNaming.snakeCase
            }

            \(written)
            """)
        #expect(written.contains("extension Album: ") && errors.isEmpty, "\(errors)")
    }
}
