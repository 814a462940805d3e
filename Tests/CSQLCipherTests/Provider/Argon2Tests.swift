import CSQLCipher
import TestSupport
import Testing

/// Argon2id, by the RFC's vector and against the reference implementation.
@Suite struct Argon2Tests {
    struct Input {
        var password: [UInt8] = Array("password".utf8), salt = [UInt8](repeating: 2, count: 16)
        var memory: UInt32 = 64, passes: UInt32 = 1, lanes: UInt32 = 1
        var size = 32
    }

    private func derive(_ input: Input) -> (rc: Int32, out: [UInt8]) {
        var out = [UInt8](repeating: 0x55, count: input.size)
        let rc = sqlcipherkit_argon2id(
            input.password, input.password.count, input.salt, input.salt.count, input.memory, input.passes, input.lanes, &out,
            out.count)
        return (rc, out)
    }

    @Test func argon2MatchesRFC9106VectorInAllKernels() throws {
        let output = try Probe.expect("argon2")
        #expect(output.contains("portable C: the vector holds"))
    }

    @Test func argon2WithoutMemoryFailsAndWritesNothing() throws { try Probe.expect("argon2-memory") }

    /// Every kind of figure: one pass and several, one lane and several, memory that is no multiple of four blocks for each lane,
    /// passwords of nothing and of more than BLAKE2b's block, results on both sides of its 64 bytes.
    @Test func argon2MatchesReferenceForRandomParameters() throws {
        var numbers = SeededGenerator()
        var inputs = [4, 31, 32, 33, 63, 64, 65, 95, 96, 97, 128, 129, 500].map { Input(size: $0) }
        for lanes in 1...4 as ClosedRange<UInt32> {
            for passes in 1...3 as ClosedRange<UInt32> {
                for memory in [8 * lanes, 8 * lanes + 1, 12 * lanes - 1, 130 * lanes * 4 + 3] {
                    var input = Input(memory: memory, passes: passes, lanes: lanes, size: Int.random(in: 4...200, using: &numbers))
                    input.password = (0..<Int.random(in: 0...300, using: &numbers)).map { _ in numbers.next() }
                    input.salt = (0..<Int.random(in: 8...150, using: &numbers)).map { _ in numbers.next() }
                    inputs.append(input)
                }
            }
        }
        inputs.append(Input(memory: 1 << 12, passes: 2, lanes: 3))
        func hex(_ bytes: [UInt8]) -> String { bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
        let lines = inputs.map { "\(hex($0.password)),\(hex($0.salt)),\($0.memory),\($0.passes),\($0.lanes),\($0.size)" }
        let expected = try Python.run(
            """
            import sys
            from argon2.low_level import hash_secret_raw, Type
            for line in sys.argv[1].split():
                password, salt, memory, passes, lanes, size = line.split(",")
                print(hash_secret_raw(bytes.fromhex(password), bytes.fromhex(salt), int(passes), int(memory), int(lanes), int(size),
                                      Type.ID, 0x13).hex())
            """, lines.joined(separator: "\n")
        ).split(separator: "\n").map(String.init)
        try #require(expected.count == inputs.count)
        for (index, input) in inputs.enumerated() {
            let (rc, out) = derive(input)
            #expect(rc == SQLITE_OK)
            #expect(hex(out) == expected[index], "\(lines[index])")
        }
    }

    @Test func argon2RefusesParametersOutOfBounds() {
        let wrong = [
            Input(memory: 7), Input(memory: 0), Input(memory: 31, lanes: 4), Input(passes: 0), Input(lanes: 0),
            Input(memory: .max, lanes: 1 << 24), Input(size: 3), Input(size: 0),
        ]
        for input in wrong {
            let (rc, out) = derive(input)
            #expect(rc == SQLITE_MISUSE, "\(input)")
            #expect(out.allSatisfy { $0 == 0x55 })
        }
        var out = [UInt8](repeating: 0x55, count: 32)
        #expect(sqlcipherkit_argon2id(nil, 1, "salt", 4, 64, 1, 1, &out, 32) == SQLITE_MISUSE)
        #expect(sqlcipherkit_argon2id("x", 1, nil, 1, 64, 1, 1, &out, 32) == SQLITE_MISUSE)
        #expect(sqlcipherkit_argon2id("x", 1, "salt", 4, 64, 1, 1, nil, 32) == SQLITE_MISUSE)
        #if arch(x86_64) || arch(arm64)
        #expect(sqlcipherkit_argon2id("x", 1 << 32, "salt", 4, 64, 1, 1, &out, 32) == SQLITE_MISUSE)
        #expect(sqlcipherkit_argon2id("x", 1, "salt", 1 << 32, 64, 1, 1, &out, 32) == SQLITE_MISUSE)
        #expect(sqlcipherkit_argon2id("x", 1, "salt", 4, 64, 1, 1, &out, 1 << 32) == SQLITE_MISUSE)
        #endif
        #expect(out.allSatisfy { $0 == 0x55 })
        // Nothing to hash is allowed.
        #expect(sqlcipherkit_argon2id(nil, 0, nil, 0, 8, 1, 1, &out, 32) == SQLITE_OK)
    }
}
