import Foundation
import Testing
import TestSupport

/// The first example of the article "Vectors" is a whole program. `Tests/VectorsExample` has the same lines.
@Suite struct VectorsProgramTests {
    @Test func firstExampleOfTheArticleIsAProgramThatRuns() throws {
        let article = try String(
            contentsOf: Repository.file("Sources/SQLCipherKitVectors/Documentation.docc/Vectors.md"), encoding: .utf8)
        let example = article.components(separatedBy: "```swift\n").dropFirst().first?.components(separatedBy: "```").first
        #expect(try example == String(contentsOf: Repository.file("Tests/VectorsExample/main.swift"), encoding: .utf8))
        let outcome = try Command.run(BuildProducts.executable("VectorsExample"), [])
        #expect(outcome.status == 0 && outcome.output.hasPrefix("2 0.28"), "\(outcome.output)\(outcome.errors)")
    }
}
