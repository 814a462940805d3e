import Foundation

extension TemporaryFolder {
    /// Takes the page authentication of a file of SQLCipher 4 off without its key: in each page, the initialization vector is
    /// copied to where a file without authentication has it. CBC then lets anyone change the content.
    /// - Parameters:
    ///   - pages: the numbers of the pages. Default: all.
    ///   - change: a byte of the file to change, and the bits to flip.
    public func stripAuthentication(
        _ name: String, pageSize: Int = 4096, pages: ClosedRange<Int> = 1...Int.max, flipping change: (offset: Int, bits: UInt8)? = nil
    ) throws {
        let url = URL(fileURLWithPath: path(name))
        var file = try Data(contentsOf: url)
        for end in stride(from: pageSize, through: file.count, by: pageSize) where pages.contains(end / pageSize) {
            let vector = Data(file[end - 80..<end - 64])
            file.replaceSubrange(end - 16..<end, with: vector)
        }
        if let change { file[change.offset] ^= change.bits }
        try file.write(to: url)
    }
}
