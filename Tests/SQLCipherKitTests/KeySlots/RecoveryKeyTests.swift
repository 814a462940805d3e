import Foundation
import SQLCipherKit
import Testing

@Suite struct RecoveryKeyTests {
    @Test func itIsReadBackHoweverItIsTyped() throws {
        for _ in 0..<50 {
            let text = try RecoveryKey().text
            #expect(text.count == 44)
            #expect(text.split(separator: "-").map(\.count) == [Int](repeating: 4, count: 9))
            #expect(try RecoveryKey(text: text).text == text)
            let typed = " " + text.lowercased().replacingOccurrences(of: "-", with: " ").replacingOccurrences(of: "0", with: "o")
                .replacingOccurrences(of: "1", with: "l") + "\n"
            #expect(try RecoveryKey(text: typed).text == text)
            #expect(try RecoveryKey(utf8: Data(text.replacingOccurrences(of: "-", with: "").utf8)).text == text)
        }
    }

    @Test func twoAreNeverTheSame() throws {
        #expect(try Set((0..<100).map { _ in try RecoveryKey().text }).count == 100)
    }

    /// The checksum finds each wrong character and each swap of neighbours.
    @Test func aTypingMistakeIsNoticed() throws {
        let text = Array(try RecoveryKey().text.replacingOccurrences(of: "-", with: ""))
        var unnoticed = 0
        func attempt(_ characters: [Character]) {
            let error = #expect(throws: DatabaseError.self) { try RecoveryKey(text: String(characters)) }
            if error?.reason != .invalidKey { unnoticed += 1 }
        }
        for index in text.indices {
            for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where other != text[index] {
                var changed = text
                changed[index] = other
                // One in a million goes through by design, and 1,100 are tried here.
                if (try? RecoveryKey(text: String(changed))) != nil { unnoticed += 1 }
            }
            if index > 0, text[index] != text[index - 1] {
                var changed = text
                changed.swapAt(index, index - 1)
                if (try? RecoveryKey(text: String(changed))) != nil { unnoticed += 1 }
            }
        }
        #expect(unnoticed <= 1)
        for malformed in [Array("U") + text.dropFirst(), Array(text.dropLast()), text + ["0"], [], Array("ü") + text.dropFirst()] {
            attempt(malformed)
        }
    }

    @Test func itIsNotShownUnasked() throws {
        let key = try RecoveryKey()
        var shown = "\(key) \(String(reflecting: key)) \(SlotSecret.recoveryKey(key))"
        dump(key, to: &shown)
        #expect(!shown.contains(key.text.prefix(4)))
        #expect(shown.contains("RecoveryKey") && shown.contains("SlotSecret(recovery key)"))
    }
}
