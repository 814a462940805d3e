import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct SQLLiteralsTests {
    /// Decimals of up to 17 digits at every place of the point, any bits, and the neighbors of each.
    private static let numbers: [Double] = {
        var generator = SeededGenerator()
        var numbers: [Double] = [0, .leastNonzeroMagnitude, 1e-4, 1e14, 1e15, 1e16, .pi, 0.1 + 0.2, .infinity, .greatestFiniteMagnitude]
        for digits in 1...17 {
            for exponent in -22...8 {
                let limit = UInt64("1" + String(repeating: "0", count: digits)) ?? 1
                let whole = UInt64.random(in: 0..<limit, using: &generator)
                for text in ["\(whole)", "\(limit - 1)", "\(limit / 10)"] { numbers.append(Double("\(text)e\(exponent)") ?? 0) }
            }
        }
        numbers += (0..<2000).map { _ in Double(bitPattern: .random(in: 0...(.max), using: &generator)) }.filter { !$0.isNaN }
        return numbers.flatMap { [$0, -$0, $0.nextUp, $0.nextDown] }
    }()

    @Test func shortestTextMatchesSwiftDescription() {
        for number in Self.numbers {
            var text: [UInt8] = []
            SQLLiterals.append(shortest: number, to: &text)
            let expected = number.isInfinite ? (number < 0 ? "-9e999" : "9e999") : "\(number)"
            #expect(String(decoding: text, as: UTF8.self) == expected)
        }
    }

    @Test(arguments: ["9.99999999999995", "-99.9999999999999", "9999999999999.99", "0.00012345678901", "100000.0", "-0.0"])
    func decimalOfFifteenDigitsIsItsOwnLiteral(text: String) throws {
        var literal: [UInt8] = []
        SQLLiterals.append(try #require(Double(text)), to: &literal)
        #expect(String(decoding: literal, as: UTF8.self) == text)
    }

    @Test func literalIsReadAsTheSameNumber() throws {
        let db = try Connection(.memory)
        for number in Self.numbers {
            var literal: [UInt8] = []
            SQLLiterals.append(number, to: &literal)
            let read = try db.fetchOne(Double.self, SQL(raw: "SELECT \(String(decoding: literal, as: UTF8.self))"))
            #expect(read == number)
        }
    }

    @Test func integerIsItsDigits() {
        let powers = sequence(first: Int64(1)) { $0.multipliedReportingOverflow(by: 10).overflow ? nil : $0 * 10 }
        for number in powers.flatMap({ [$0 - 1, $0, -$0, 1 - $0] }) + [.max, .min] {
            var text: [UInt8] = []
            SQLLiterals.append(number, to: &text)
            #expect(String(decoding: text, as: UTF8.self) == "\(number)")
        }
    }
}
