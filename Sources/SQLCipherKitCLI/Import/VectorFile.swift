import Foundation

/// Vectors in a file, one on each line.
enum VectorFile {
    static func read(_ path: String) throws -> [(id: Int64, vector: [Float])] {
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe) } catch {
            throw Failure("\(path) cannot be read: \(error.localizedDescription)")
        }
        var rows: [(id: Int64, vector: [Float])] = []
        // CR and LF together are one character, and one end of a line.
        let lines = String(decoding: bytes, as: UTF8.self).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            var list = line.trimmingCharacters(in: .whitespaces)
            if list.isEmpty { continue }
            if list.hasPrefix("["), list.hasSuffix("]") { list = String(list.dropFirst().dropLast()) }
            let fields = list.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let vector = fields.dropFirst().compactMap { Float($0) }
            guard let id = Int64(fields[0]), !vector.isEmpty, vector.count == fields.count - 1 else {
                throw Failure("\(path), line \(number + 1): a row id and numbers are expected, with commas between them")
            }
            rows.append((id, vector))
        }
        return rows
    }
}
