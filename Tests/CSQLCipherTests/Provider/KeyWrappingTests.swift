import CSQLCipher
import Testing

/// The algorithms that seal key slots, by the vectors of the standards.
@Suite struct KeyWrappingTests {
    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { $0 != " " && $0 != "\n" }.map { UInt8($0.hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    let plain = Array(
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.".utf8)
    let key = (0x80...0x9f).map { UInt8($0) }
    var nonce: [UInt8] { bytes("070000004041424344454647") }
    var associated: [UInt8] { bytes("50515253c0c1c2c3c4c5c6c7") }
    var sealed: [UInt8] {
        bytes("""
            d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b6
            7ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116
            """)
    }
    var tag: [UInt8] { bytes("1ae10b594f09e26a7e902ecbd0600691") }

    @Test func sealingMatchesRFC8439() {
        var made = [UInt8](repeating: 0, count: plain.count), madeTag = [UInt8](repeating: 0, count: 16)
        #expect(sqlcipherkit_seal(key, nonce, associated, associated.count, plain, plain.count, &made, &madeTag) == SQLITE_OK)
        #expect(made == sealed)
        #expect(madeTag == tag)
        var opened = [UInt8](repeating: 0, count: plain.count)
        #expect(sqlcipherkit_unseal(key, nonce, associated, associated.count, sealed, sealed.count, tag, &opened) == SQLITE_OK)
        #expect(opened == plain)
    }

    /// One bit anywhere is noticed, and then nothing of the text comes out.
    @Test func unsealingDetectsAnyChangedBit() {
        let inputs = [key, nonce, associated, sealed, tag]
        for (index, input) in inputs.enumerated() {
            for bit in 0..<input.count * 8 {
                var changed = inputs
                changed[index][bit / 8] ^= 1 << (bit % 8)
                var opened = [UInt8](repeating: 7, count: plain.count)
                let rc = sqlcipherkit_unseal(
                    changed[0], changed[1], changed[2], changed[2].count, changed[3], changed[3].count, changed[4], &opened)
                #expect(rc == SQLITE_AUTH, "input \(index), bit \(bit)")
                #expect(opened.allSatisfy { $0 == 0 })
            }
        }
    }

    @Test func messageCodeMatchesRFC4231() {
        var mac = [UInt8](repeating: 0, count: 64)
        let key = [UInt8](repeating: 0x0b, count: 20), text = Array("Hi There".utf8)
        #expect(sqlcipherkit_mac(key, key.count, text, text.count, &mac) == SQLITE_OK)
        #expect(mac == bytes("""
            87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854
            """))
        let jefe = Array("Jefe".utf8), question = Array("what do ya want for nothing?".utf8)
        #expect(sqlcipherkit_mac(jefe, jefe.count, question, question.count, &mac) == SQLITE_OK)
        #expect(mac == bytes("""
            164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737
            """))
        let long = [UInt8](repeating: 1, count: 129)
        #expect(sqlcipherkit_mac(long, long.count, text, text.count, &mac) == SQLITE_MISUSE)
    }

    @Test func constantTimeEqualityComparesBytes() {
        let a: [UInt8] = [1, 2, 3], b: [UInt8] = [1, 2, 4]
        #expect(sqlcipherkit_equal(a, a, 3) == 1)
        #expect(sqlcipherkit_equal(a, b, 3) == 0)
        #expect(sqlcipherkit_equal(a, b, 2) == 1)
        #expect(sqlcipherkit_equal(a, b, 0) == 1)
    }
}
