import Foundation

extension Blob {
    /// The blob from its position to its end, in chunks.
    ///
    /// ```swift
    /// for try await chunk in blob.chunks(of: 65_536) { try await connection.send(chunk) }
    /// ```
    /// Reading takes place on the loop's own thread. Without `await`, use ``read(upTo:)``.
    /// - Parameter count: the size of a chunk in bytes; the last one may be shorter. Default: 65,536.
    public func chunks(of count: Int = 65_536) -> BlobChunks { BlobChunks(blob: self, count: count) }
}

/// A blob in chunks; see ``Blob/chunks(of:)``.
public struct BlobChunks: AsyncSequence {
    let blob: Blob
    let count: Int

    /// Reads chunk by chunk.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let blob: Blob
        let count: Int

        /// The next chunk; nil at the end.
        /// - Throws: the same errors as ``Blob/read(upTo:)``.
        public mutating func next() async throws(DatabaseError) -> Data? { try blob.read(upTo: count) }

        /// The next chunk, read on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(DatabaseError) -> Data? {
            try blob.read(upTo: count)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(blob: blob, count: count) }
}
