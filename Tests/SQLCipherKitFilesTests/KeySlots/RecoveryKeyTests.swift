import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing

@Suite struct RecoveryKeyTests {
    @Test func recoveryKeyIgnoresCaseSpacesAndLookalikes() throws {
        for _ in 0..<50 {
            let text = try KeySlots.RecoveryKey().text
            #expect(text.count == 44)
            #expect(text.split(separator: "-").map(\.count) == [Int](repeating: 4, count: 9))
            #expect(try KeySlots.RecoveryKey(text: text).text == text)
            let typed = " " + text.lowercased().replacingOccurrences(of: "-", with: " ").replacingOccurrences(of: "0", with: "o")
                .replacingOccurrences(of: "1", with: "l") + "\n"
            #expect(try KeySlots.RecoveryKey(text: typed).text == text)
            #expect(try KeySlots.RecoveryKey(utf8: Data(text.replacingOccurrences(of: "-", with: "").utf8)).text == text)
        }
    }

    /// As word processors, mail programs and phones change it.
    @Test func recoveryKeyAcceptsPastedSeparators() throws {
        let text = try KeySlots.RecoveryKey().text
        let separators = [
            "\u{2013}", "\u{2014}", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2015}", "\u{2212}", "\u{FE63}", "\u{FF0D}", "\u{AD}",
            "\u{2043}", "\u{A0}", "\u{202F}", "\u{2007}", "\u{2009}", "\u{3000}", "\u{200B}", "\u{FEFF}", "\u{2060}", "\t", "\r\n",
            "\u{2028}", "\u{B}", " \u{2013} ",
        ]
        for separator in separators {
            let pasted = separator + text.lowercased().replacingOccurrences(of: "-", with: separator) + separator
            #expect(try KeySlots.RecoveryKey(text: pasted).text == text, "\(separator.unicodeScalars.map(\.properties.name))")
        }
        // No other character is passed over, nor are bytes that are no text.
        for other in ["_", ".", "\u{0}", "é", "\u{FF10}", "·"] {
            #expect(throws: DatabaseError.self) {
                try KeySlots.RecoveryKey(text: text + other)
            }
        }
        for bytes in [[0xff], [0xe2, 0x80], [0xc0, 0xad]] as [[UInt8]] {
            #expect(throws: DatabaseError.self) { try KeySlots.RecoveryKey(utf8: Array(text.utf8) + bytes) }
        }
    }

    @Test func recoveryKeysAreUnique() throws {
        #expect(try Set((0..<100).map { _ in try KeySlots.RecoveryKey().text }).count == 100)
    }

    /// The checksum finds each wrong character and each swap of neighbours.
    @Test func recoveryKeyChecksumDetectsTypos() throws {
        let text = Array(try KeySlots.RecoveryKey().text.replacingOccurrences(of: "-", with: ""))
        var unnoticed = 0
        func attempt(_ characters: [Character]) {
            let error = #expect(throws: DatabaseError.self) { try KeySlots.RecoveryKey(text: String(characters)) }
            if error?.reason != .invalidKey { unnoticed += 1 }
        }
        for index in text.indices {
            for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where other != text[index] {
                var changed = text
                changed[index] = other
                // One change in a million goes through by design, and 1,100 are tried here.
                if (try? KeySlots.RecoveryKey(text: String(changed))) != nil { unnoticed += 1 }
            }
            if index > 0, text[index] != text[index - 1] {
                var changed = text
                changed.swapAt(index, index - 1)
                if (try? KeySlots.RecoveryKey(text: String(changed))) != nil { unnoticed += 1 }
            }
        }
        #expect(unnoticed <= 1)
        for malformed in [Array("U") + text.dropFirst(), Array(text.dropLast()), text + ["0"], [], Array("ü") + text.dropFirst()] {
            attempt(malformed)
        }
    }

    @Test func recoveryKeyDescriptionContainsNoKey() throws {
        let key = try KeySlots.RecoveryKey()
        var shown = "\(key) \(String(reflecting: key)) \(KeySlots.Secret.recoveryKey(key))"
        dump(key, to: &shown)
        #expect(!shown.contains(key.text.prefix(4)))
        #expect(shown.contains("KeySlots.RecoveryKey") && shown.contains("KeySlots.Secret(recovery key)"))
    }
}
