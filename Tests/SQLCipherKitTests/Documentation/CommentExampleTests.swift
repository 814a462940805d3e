import Foundation
import Testing
import TestSupport

/// Every piece of Swift that a comment of the sources shows compiles. A name that is gone, or a value that has become optional, is
/// noticed here, as ExampleTests notices it in an article.
@Suite(.timeLimit(.minutes(60))) struct CommentExampleTests {
    /// A piece of a comment.
    private struct Example {
        var place: String
        var lines: [Substring]
        /// The lines of the source that has it.
        var range = 0..<0
    }

    /// Examples behind a package trait, for other platforms, or that are no Swift of a program.
    private static let left = [
        "RecordMacros.swift", "S3Store.swift", "KeychainItem.swift", "EnclaveKey.swift", "LiveQuery.swift",
        "Schema+Differences.swift",
    ]

    /// The names that the examples use. A declaration of an example's own hides it.
    private static let setting = """
        import Foundation
        import SQLCipherKit
        import SQLCipherKitReplication
        import SQLCipherKitSync
        import SQLCipherKitVectors
        struct Meta: Codable, Hashable, Sendable { var city: String; var seen = Date() }
        struct Frame: Codable, Sendable { var x = 0, y = 0, width = 0, height = 0 }
        struct Person: SQLRecord { var id: Int64?; var name: String }
        struct Follow: SQLRecord { var followed: Int64; var follower: Int64 }
        struct Letter: SQLRecord { var id: Int64?; var sender: Int64; var receiver: Int64 }
        struct Tag: SQLRecord { var id: Int64?; var name: String }
        struct Word: SQLRecord { var text: String; var count: Int }
        struct NoteTag: SQLRecord { var note: Int64; var tag: Int64 }
        struct Student: SQLRecord { var id: Int64? }
        struct Enrolment: SQLRecord { var student: Int64; var course: String }
        struct Artist: SQLRecord { var id: Int64?; var name: String; var country: String? }
        struct Author: SQLRecord { var id: Int64?; var name: String; var country: String? }
        struct Folder: SQLRecord, Hashable { var id: Int64?; var parent: Int64?; var name: String; var size = 0 }
        enum Condition: String, Codable, SQLValueConvertible { case draft, done }
        struct Album: SQLRecord { var id: Int64?; var title: String; var artist: Int64?; var tracks: Int? }
        struct Book: SQLRecord {
            var id: Int64?; var title: String; var subtitle: String?; var publisher: String; var author: Int64
            var translator: Int64?; var pages: Int; var state: Condition
        }
        struct Note: SQLRecord, Hashable {
            var id: Int64?; var title: String; var stars = 0; var tags: [String] = []; var meta = JSONColumn(Meta(city: "Roma"))
            var date = Date(); var created = Date(); var folder: Int64?
        }
        struct QuotaError: Error {}
        struct Quota: Sendable { var isExceeded = false }
        struct Plan: Sendable { func apply(to db: Connection) throws {}; func check(_ db: Connection) throws -> Bool { true } }
        struct Separated: FTS5CustomTokenizer {
            init(by separator: String) {}
            func tokenize(
                _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink
            ) {}
        }
        struct Lemmas: FTS5TokenFilter {
            let base: FTS5Tokenizer
            func filter(
                _ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: Void, into tokens: inout FTS5Token.Sink
            ) {}
        }
        nonisolated(unsafe) var badge = 0
        struct Service: Sendable { func embed(_ texts: [String]) async throws -> [[Float]] { [] } }
        let service = Service()
        struct Model: TextVectorizer { func vectors(for texts: [String]) async throws -> [[Float]] { [] } }
        struct Line { func send(_ bytes: some Sequence) async throws {} }
        struct Log { func warning(_ text: String) {} }
        struct Images { func save(_ data: Data, for id: Int64) throws {} }
        func show(_ values: Any...) {}
        func reload() {}
        func reloadTitles() {}
        func upload(_ tables: Set<DatabaseTable>) {}
        func askAgain(since position: ChangeLog.Position) {}
        func askTheServer() throws -> DatabaseKey { try .passphrase("") }
        func insert(_ chunk: [String], _ db: Connection) throws {}
        func warnUser(about report: Any) {}
        func store(_ bytes: Any) {}
        func fetchTitles(_ db: Connection) throws -> [String] { [] }

        """

    /// The parameters of each example's function.
    private static let given = """
        _ db: Connection, _ pool: DatabasePool, _ queue: DatabaseQueue, _ database: DatabaseWriter, _ snapshot: DatabaseSnapshot,
        _ path: String, _ location: DatabaseLocation, _ title: String, _ id: Int64, _ key: DatabaseKey, _ archiveKey: DatabaseKey,
        _ newKey: DatabaseKey, _ otherKey: DatabaseKey, _ archive: Schema, _ ids: [Int64], _ points: [(Int, Int)], _ notes: FullTextIndex,
        _ mails: FullTextIndex, _ slots: inout KeySlots, _ migrator: inout Migrator, _ hit: FullTextSearch.Hit, _ quota: Quota, _ plan: Plan,
        _ bytes: [UInt8], _ keyBytes: [UInt8], _ amount: Int, _ from: Int64, _ to: Int64, _ meta: Meta, _ note: inout Note,
        _ folder: Folder, _ last: Note, _ lem: Author, _ root: Int64, _ student: Int64, _ untrusted: String, _ json: String,
        _ laptop: Connection, _ phone: Connection, _ yesterday: Connection, _ today: Connection, _ replica: Connection,
        _ settings: KeyValueStore, _ cipher: CipherConfiguration, _ message: ChangeLog.Message, _ log: ChangeLog, _ phoneLog: ChangeLog,
        _ positionOfPhone: ChangeLog.Position, _ changes: Changeset, _ size: Int, _ file: FileHandle, _ email: String,
        _ configuration: inout DatabaseConfiguration, _ search: inout FullTextSearch, _ query: String, _ stored: Data, _ data: Data,
        _ images: Images, _ limit: Int, _ keyPath: String, _ passphrase: String, _ chunks: [[String]], _ store: FolderStore,
        _ titles: DatabaseRegion, _ vectors: VectorIndex, _ noteVectors: VectorIndex, _ question: [Float], _ embeddings: [[Float]],
        _ model: Model
        """

    /// The meanings of names in the examples of one file.
    private static let meanings = [
        "/DatabaseRegion.swift": "let changes: DatabaseChanges",
        "/JSONExpression.swift": "let meta: JSONExpression",
        "/DatabaseObservation.swift": "class Label: @unchecked Sendable { var text = \"\" }; let counts: DatabaseObservation<Int>",
        "/Blob.swift": "let blob: Blob, connection: Line",
        "/DatabaseKey+Slots.swift": "let notes: DatabaseLocation",
        "/SlotFile.swift": "let stored: [UInt8]; func store(_ bytes: Any) {}",
        "/CipherConfiguration.swift": "let log: Log",
        "/DatabaseConverter.swift": "let settings: CipherConfiguration",
        "/KeyValueStore.swift": "var frames: [String: Frame] = [:]; let frame = Frame()",
        "/SharedKeyValueStore.swift": "let settings: SharedKeyValueStore",
        "SharedChangeLog+Synchronize.swift": "let log: SharedChangeLog",
        "/Connection+Search.swift": "let found: FullTextSearch.Results",
        "/FullTextIndex.swift": "struct Field { var text = \"\" }; let field = Field()",
    ]

    private static func examples() throws -> [Example] {
        let sources = Repository.file("Sources")
        let modules = try FileManager.default.contentsOfDirectory(atPath: sources.path)
            .filter { $0.hasPrefix("SQLCipherKit") }.sorted()
        var found: [Example] = []
        for module in modules where module != "SQLCipherKitMacros" && module != "SQLCipherKitCLI" {
            let folder = FileManager.default.enumerator(atPath: sources.appendingPathComponent(module).path)
            let paths = folder?.compactMap { $0 as? String } ?? []
            for path in paths.sorted() where path.hasSuffix(".swift") && !left.contains(where: path.hasSuffix) {
                let text = try String(contentsOf: sources.appendingPathComponent("\(module)/\(path)"), encoding: .utf8)
                var lines: [Substring]?
                for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                    let line = line.drop { $0 == " " }
                    guard line.hasPrefix("///") else { continue }
                    let shown = line.dropFirst(3).hasPrefix(" ") ? line.dropFirst(4) : line.dropFirst(3)
                    if shown == "```swift" {
                        lines = []
                    } else if shown.hasPrefix("```"), let example = lines {
                        found.append(Example(place: "\(path):\(number + 1)", lines: example))
                        lines = nil
                    } else {
                        lines?.append(shown)
                    }
                }
            }
        }
        return found
    }

    @Test func commentExamplesCompile() throws {
        var examples = try Self.examples(), source = Self.setting
        #expect(examples.count > 250)
        for (number, example) in examples.enumerated() {
            let first = source.count { $0 == "\n" } + 1
            // An extension stands by itself, and a member in a record; everything else is in a function.
            let code = example.lines.map { $0.replacing("{ … }", with: "{}").replacing("…", with: "") }
            let end = code.lastIndex { $0 == "}" } ?? -1
            let isMember = code.first.map { $0.hasPrefix("static ") || $0.hasPrefix("init(") } ?? false
            let outside = code.first?.hasPrefix("extension ") == true ? code[...end] : []
            let inside = code[outside.count...]
            source += outside.joined(separator: "\n") + "\n"
            if isMember {
                source += "struct M\(number): SQLRecord {\nvar id: Int64?; var note: Note?; var author: Author?; var sender: Int64\n"
                source += inside.joined(separator: "\n") + "\n}\n"
            } else {
                let meaning = Self.meanings.first { example.place.contains("\($0.key):") }?.value ?? ""
                let text = inside.joined(separator: "\n"), isAsync = text.contains("await") || text.contains("async")
                source += "func f\(number)(\n\(Self.given)\n) \(isAsync ? "async " : "")throws {\n\(meaning)\ndo {\n\(text)\n}\n}\n"
            }
            examples[number].range = first..<source.count { $0 == "\n" } + 1
        }
        let errors = try Typecheck.errors(of: source)
        for error in errors {
            let example = examples.first { $0.range.contains(error.line) }
            Issue.record("\(example?.place ?? "the setting"): \(error.text)")
        }
    }
}
