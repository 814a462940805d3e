/// The destination of written elements. Containers that an encoder requests by name may be filled in any order, so each of them
/// gets its own sink, and a placeholder reserves its place until the encoder of its parent has ended.
final class JSONBSink {
    let context: JSONBEncodingContext
    let writer = JSONBWriter()
    private var splices: [Splice] = []

    private struct Splice {
        var offset: Int
        let encoder: JSONBValueEncoder
    }

    init(_ context: JSONBEncodingContext) { self.context = context }

    /// Reserves a place for what another encoder is going to write.
    func reserve(for encoder: JSONBValueEncoder) {
        splices.append(Splice(offset: writer.count, encoder: encoder))
        writer.appendEmpty(.null)
    }

    /// Returns the encoder that a place is reserved for.
    func encoder(at offset: Int) -> JSONBValueEncoder? { splices.first { $0.offset == offset }?.encoder }

    func truncate(to offset: Int) {
        writer.truncate(to: offset)
        guard let first = splices.firstIndex(where: { $0.offset >= offset }) else { return }
        Self.end(take(splices[first...]))
    }

    func remove(_ range: Range<Int>) {
        writer.remove(range)
        if splices.isEmpty { return }
        let lost = splices.filter { range.contains($0.offset) }
        splices.removeAll { range.contains($0.offset) }
        for index in splices.indices where splices[index].offset >= range.upperBound { splices[index].offset -= range.count }
        Self.end(lost.map(\.encoder))
    }

    private func take(_ taken: ArraySlice<Splice>) -> [JSONBValueEncoder] {
        let encoders = taken.map(\.encoder)
        splices.removeSubrange(taken.indices)
        return encoders
    }

    // MARK: The end. In loops, so that deeply nested containers do not use the stack.

    /// Moves what other encoders have written into their reserved places, from an offset on.
    func resolve(from offset: Int) {
        guard let first = splices.firstIndex(where: { $0.offset >= offset }) else { return }
        var encoders = splices[first...].map(\.encoder)
        var index = 0
        while index < encoders.count {
            encoders += encoders[index].sink.splices.map(\.encoder)
            index += 1
        }
        // Each encoder comes after the one that contains it.
        for encoder in encoders.reversed() {
            encoder.sink.join(0...)
            encoder.close()
        }
        join(first...)
    }

    /// Moves what closed encoders have written into their reserved places.
    private func join(_ range: PartialRangeFrom<Int>) {
        let pending = Array(splices[range])
        if pending.isEmpty { return }
        splices.removeSubrange(range)
        let offset = pending[0].offset
        let tail = writer.removeTail(from: offset)
        var position = 0
        for splice in pending {
            tail.withBytes { writer.append(elements: UnsafeRawBufferPointer(rebasing: $0[position..<splice.offset - offset])) }
            splice.encoder.sink.writer.withBytes { writer.append(elements: $0) }
            position = splice.offset - offset + 1
            splice.encoder.end()
        }
        tail.withBytes { writer.append(elements: UnsafeRawBufferPointer(rebasing: $0[position...])) }
    }

    /// Ends all encoders that have a reserved place here.
    func end() { if !splices.isEmpty { Self.end(take(splices[...])) } }

    private static func end(_ encoders: [JSONBValueEncoder]) {
        var pending = encoders
        while let encoder = pending.popLast() {
            encoder.end()
            pending += encoder.sink.take(encoder.sink.splices[...])
        }
    }
}
