import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// The form of a store, as the article has it.
@Suite struct ReplicaFormatTests {
    /// A reader that was written after the article alone restores the newest state, with two terms, pages of the index, and links
    /// that no head knows yet.
    @Test func independentReaderRestoresReplica() async throws {
        let folder = try TemporaryFolder(), store = try FolderStore(folder.path("store")), oracle = CommitOracle(seed: 91)
        let key = try CommitOracle.key, pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        var options = Replicator.Options.forTests
        (options.fanOut, options.snapshotInterval) = (2, .seconds(1000))
        for _ in 0..<2 {
            let replica = try await Replicator(of: pool, in: store, options: options)
            for _ in 0..<45 {
                try oracle.commit(pool)
                try await replica.waitUntilStored(timeout: .forTests)
            }
            await replica.stop()
        }
        #expect(try await store.list(prefix: "").contains { $0.name.contains("/index-") })
        let restored = folder.path("b.db"), hexadecimal = String(repeating: "07", count: 32)
        let outcome = try Python.run(Self.reader, store.path, hexadecimal, restored)
        #expect(outcome.hasPrefix("commit "), "\(outcome)")
        #expect(try oracle.check(fileAt: restored) == oracle.commits)
        // A flipped bit is found by it too.
        let head = URL(fileURLWithPath: store.path + "/head")
        var bytes = try Data(contentsOf: head)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: head)
        #expect(throws: Python.Failure.self) { try Python.run(Self.reader, store.path, hexadecimal, folder.path("c.db")) }
    }

    private static let reader = #"""
        import hashlib, hmac, os, struct, sys

        store, raw, target = sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]
        key = hmac.new(raw, b"SQLCipherKit replication 2", hashlib.sha512).digest()[:32]

        # ChaCha20-Poly1305, RFC 8439.
        def rotate(x, n): return ((x << n) | (x >> (32 - n))) & 0xFFFFFFFF
        def block(counter, nonce):
            start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8L", key), counter, *struct.unpack("<3L", nonce)]
            s = list(start)
            def quarter(a, b, c, d):
                s[a] = (s[a] + s[b]) & 0xFFFFFFFF; s[d] = rotate(s[d] ^ s[a], 16)
                s[c] = (s[c] + s[d]) & 0xFFFFFFFF; s[b] = rotate(s[b] ^ s[c], 12)
                s[a] = (s[a] + s[b]) & 0xFFFFFFFF; s[d] = rotate(s[d] ^ s[a], 8)
                s[c] = (s[c] + s[d]) & 0xFFFFFFFF; s[b] = rotate(s[b] ^ s[c], 7)
            for _ in range(10):
                for q in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                          (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)): quarter(*q)
            return struct.pack("<16L", *((a + b) & 0xFFFFFFFF for a, b in zip(s, start)))
        def unseal(sealed, associated, nonce):
            text, tag = sealed[:-16], sealed[-16:]
            one = block(0, nonce)
            r = int.from_bytes(one[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
            pad = lambda b: b + bytes(-len(b) % 16)
            data = pad(associated) + pad(text) + struct.pack("<QQ", len(associated), len(text))
            sum = 0
            for i in range(0, len(data), 16):
                sum = (sum + int.from_bytes(data[i:i + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
            assert ((sum + int.from_bytes(one[16:32], "little")) % (1 << 128)).to_bytes(16, "little") == tag, "not authentic"
            stream = b"".join(block(1 + i, nonce) for i in range(-(-len(text) // 64)))
            return bytes(a ^ b for a, b in zip(text, stream)), tag

        class Parser:
            def __init__(self, data): self.data, self.at = data, 0
            def take(self, count):
                self.at += count
                assert self.at <= len(self.data), "cut off"
                return self.data[self.at - count:self.at]
            def short(self):
                result = shift = 0
                while True:
                    byte = self.take(1)[0]
                    result |= (byte & 127) << shift
                    shift += 7
                    if byte < 128: return result
            def signed(self):
                n = self.short()
                return n >> 1 ^ -(n & 1)
            def shorts(self, count): return [self.short() for _ in range(count)]
            def place(self): return self.take(8), self.short(), self.take(16)

        def read(name):
            with open(os.path.join(store, name), "rb") as file: return file.read()

        def blocks(data):
            at = 0
            while at < len(data):
                header = data[at:at + 60]
                assert header[:5] == b"SCKR\2"
                generation, count, size, table = struct.unpack(">4L", header[8:24])
                pages = data[at + 60:at + 60 + count * size]
                end = at + 60 + count * size + table + 16
                plain, tag = unseal(data[at + 60 + count * size:end], header + pages, header[48:60])
                p = Parser(plain)
                time, age, commits = p.signed(), p.short(), p.short()
                frames = [(p.short(), p.short()) for _ in range(count)]
                yield dict(kind=header[5], generation=generation, first=struct.unpack(">Q", header[24:32])[0], before=header[32:48],
                           size=size, pages=pages, frames=frames, commits=commits, record=plain[p.at:], tag=tag)
                at = end

        # The head: its last section is that of the present key.
        p = Parser(read("head"))
        assert p.take(5) == b"SCKH\2"
        p.take(8 * p.short())
        for _ in range(p.short()):
            id, salt, nonce = p.take(8), p.take(16), p.take(12)
            sealed = p.take(struct.unpack(">L", p.take(4))[0])
        plain, _ = unseal(sealed, b"SCKH\2" + id + salt, nonce)
        prefix = id.hex() + "/"
        p = Parser(plain)
        term, link, tag = p.place()
        p.shorts(4); p.take(16); p.shorts(3); p.signed(); p.shorts(2)
        if p.short(): p.shorts(3)
        p.shorts(5)
        p.take(8 * p.short())
        first, kept, following = p.shorts(3)

        def entries(p):
            for _ in range(p.short()):
                kind, term = p.take(1)[0], p.take(8)
                if kind == 1:
                    n = p.shorts(6); p.signed(); p.signed(); p.shorts(2)
                    yield dict(kind=1, term=term, link=n[0], generation=n[1], first=n[2], tag=p.take(16))
                elif kind == 2:
                    n = p.shorts(8); p.signed(); p.shorts(1); pages = p.short()
                    yield dict(kind=2, term=term, number=n[0], parts=n[1], generation=n[3], size=n[4], first=n[5], pages=pages,
                               before=p.take(16), after=p.place())
                elif kind == 3:
                    p.shorts(5)
                    yield dict(kind=3)
                else:
                    n = p.shorts(7); p.signed(); p.short(); tag = p.take(16)
                    (only,) = blocks(read(f"{prefix}index-{term.hex()}-{n[0]}"))
                    assert only["kind"] == 5 and only["tag"] == tag
                    yield from entries(Parser(only["record"]))
        levels = [list(entries(p)) for _ in range(p.short())]
        known = [entry for level in reversed(levels) for entry in level]
        objects = [e for e in known if e["kind"] == 1]

        # What was stored since.
        while True:
            try: data = read(f"{prefix}log-{term.hex()}-{link}")
            except FileNotFoundError: break
            if next(blocks(data))["kind"] == 4: break
            objects.append(dict(term=term, link=link))
            link += 1

        snapshot = [e for e in known if e["kind"] == 2][-1]
        size, pages, tag = snapshot["size"], {}, snapshot["before"]
        for part in range(snapshot["parts"]):
            (only,) = blocks(read(f"{prefix}snapshot-{snapshot['term'].hex()}-{snapshot['number']}.{part}"))
            assert only["kind"] == 2 and only["before"] == tag
            tag = only["tag"]
            for i, (number, _) in enumerate(only["frames"]): pages[number] = only["pages"][i * size:(i + 1) * size]
        count, tag, commit, waiting = snapshot["pages"], snapshot["before"], 0, {}
        for entry in objects:
            for b in blocks(read(f"{prefix}log-{entry['term'].hex()}-{entry['link']}")):
                # From the snapshot on, each block once, in the order of the chain.
                if b["before"] != tag: continue
                tag = b["tag"]
                commit = b["commits"]
                for i, (number, after) in enumerate(b["frames"]):
                    waiting[number] = b["pages"][i * size:(i + 1) * size]
                    if after:
                        pages.update(waiting)
                        waiting, count, commit = {}, after, commit + 1
        with open(target, "wb") as file:
            for number in range(1, count + 1): file.write(pages.get(number, bytes(size)))
        print("commit", commit)
        """#
}
