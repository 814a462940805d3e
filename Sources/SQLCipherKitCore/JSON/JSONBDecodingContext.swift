import Foundation

/// A document being decoded: its checked bytes, and what all decoders of one call share.
final class JSONBDecodingContext {
    private(set) var base: UnsafeRawPointer
    let count: Int
    // A type may decode while it returns its options, but in another context.
    @exclusivity(unchecked) var scopes: JSONScopes
    private var ownsBytes = false
    let stack: StackLimit
    /// For each nesting level, where the last member was found.
    let hints: UnsafeMutablePointer<JSONBLookupHint>
    private let hintCount: Int
    /// The members of large objects, by the offset of the object.
    var indexes: [Int: JSONBMemberIndex] = [:]
    /// An error of a call that cannot throw.
    var failure: DecodingError?

    init(_ base: UnsafeRawPointer, _ count: Int, _ depth: Int, _ options: JSONCodingOptions) {
        self.base = base
        self.count = count
        scopes = JSONScopes(options)
        stack = .ofThisThread()
        hintCount = depth + 1
        hints = .allocate(capacity: hintCount)
        hints.initialize(repeating: JSONBLookupHint(), count: hintCount)
    }

    deinit {
        hints.deallocate()
        if ownsBytes { base.deallocate() }
    }

    /// Copies the bytes before their owner takes them back.
    func keepBytes() {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 1)
        copy.copyMemory(from: base, byteCount: count)
        base = UnsafeRawPointer(copy)
        ownsBytes = true
        indexes = [:]
    }

    @inline(__always)
    func element(at offset: Int) -> JSONB.Element { JSONB.checkedElement(base, at: offset) }

    @inline(__always)
    func payload(_ element: JSONB.Element) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + element.start, count: element.count)
    }

    /// Must be called before each recursion.
    @inline(__always)
    func checkStack(_ element: JSONB.Element) throws {
        if stack.isReached { throw corrupted(element, "the JSON is nested too deeply for the thread's stack") }
    }

    // MARK: Errors

    /// Returns the keys and indexes that lead to an element. Finds them by walking through the document, so that no decoder has to
    /// store them.
    func path(to offset: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var container = element(at: 0)
        while container.offset != offset, container.kind.isContainer {
            var position = container.start
            var index = 0
            var found: JSONB.Element?
            while position < container.end, found == nil {
                var key: JSONB.Element?
                if container.kind == .object {
                    key = element(at: position)
                    position = key?.end ?? position
                }
                let value = element(at: position)
                if offset >= value.offset, offset < value.end {
                    path.append(key.map { JSONBKey((try? JSONB.string(base, $0)) ?? "") } ?? JSONBKey(index: index))
                    found = value
                }
                position = value.end
                index += 1
            }
            guard let found else { return path }
            container = found
        }
        return path
    }

    @inline(never)
    func corrupted(_ element: JSONB.Element, _ message: String) -> DecodingError {
        .dataCorrupted(.own(path(to: element.offset), message))
    }

    @inline(never)
    func mismatch(_ element: JSONB.Element, _ type: Any.Type, _ wanted: String? = nil) -> DecodingError {
        let path = path(to: element.offset)
        let wanted = wanted ?? "\(type)"
        if element.kind == .null { return .valueNotFound(type, .own(path, "expected \(wanted), found null")) }
        let found =
            switch element.kind {
            case .null: "null"
            case .true, .false: "a boolean"
            case .integer, .hexInteger, .real, .real5: "a number"
            case .text, .rawText, .escapedText, .escapedText5: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        return .typeMismatch(type, .own(path, "expected \(wanted), found \(found)"))
    }
}
