import Foundation

extension Blob {
    /// The blob from its position to its end, in chunks.
    ///
    /// ```swift
    /// for try await chunk in blob.chunks(of: 65_536) { try await connection.send(chunk) }
    /// ```
    /// Reading takes place on the loop's own thread. Without `await`, use ``read(upTo:)``.
    /// The sequence throws what that does.
    /// - Parameter count: the size of a chunk in bytes; the last one may be shorter. Default: 65,536.
    public func chunks(of count: Int = 65_536) -> some AsyncSequence<Data, DatabaseError> { BlobChunks(blob: self, count: count) }
}

private struct BlobChunks: AsyncSequence, AsyncIteratorProtocol {
    let blob: Blob
    let count: Int

    func next() async throws(DatabaseError) -> Data? { try blob.read(upTo: count) }
    func next(isolation actor: isolated (any Actor)?) async throws(DatabaseError) -> Data? { try blob.read(upTo: count) }
    func makeAsyncIterator() -> BlobChunks { self }
}
