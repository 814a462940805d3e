#if S3
    import Foundation

    /// Large objects (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html>).
    extension S3Store {
        /// The SHA-256 of an object that was stored in parts, by which it is found to be there when an answer was lost.
        static let sumHeader = "x-amz-meta-sha256"

        var usedPartSize: Int { max(5 << 20, min(partSize, 1 << 30)) }

        /// Stores an object in parts. It appears when all of them are there.
        func putParts(_ name: String, _ bytes: [UInt8]) async throws -> String {
            let sum = S3Signature.hash(bytes)
            let begun = try await send("POST", name, [("uploads", "")], [Self.sumHeader: sum], [])
            guard begun.status == 200, let upload = begun.element("UploadId"), (1...4096).contains(upload.utf8.count) else {
                throw begun.error
            }
            do {
                var list = ""
                for (index, start) in stride(from: 0, to: bytes.count, by: usedPartSize).enumerated() {
                    try Task.checkCancellation()
                    let part = Array(bytes[start..<min(start + usedPartSize, bytes.count)])
                    let sent = try await send("PUT", name, [("partNumber", "\(index + 1)"), ("uploadId", upload)], [:], part)
                    guard sent.status == 200, let tag = sent.version, tag.utf8.count <= 1024 else { throw sent.error }
                    let text = tag.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
                    list += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(text)</ETag></Part>"
                }
                return try await complete(name, upload, list, sum, bytes.count)
            } catch {
                await abandon(name, upload)
                throw error
            }
        }

        private func complete(_ name: String, _ upload: String, _ list: String, _ sum: String, _ size: Int) async throws -> String {
            let body = Array("<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>".utf8)
            func version(_ response: Response) -> String? {
                guard response.status == 200, response.element("Code") == nil else { return nil }
                return response.element("ETag").map { $0.hasPrefix("\"") ? $0 : "\"\($0)\"" }
            }
            let answer: Result<Response, any Error>
            do {
                // The head of the answer is sent before the parts are joined, so an error may come with the status 200.
                answer = .success(
                    try await send("POST", name, [("uploadId", upload)], [:], body) {
                        version($0) != nil || !$0.isTemporary && $0.status != 200
                    })
            } catch { answer = .failure(error) }
            if case .success(let response) = answer, let version = version(response) { return version }
            // It may have been completed all the same, by an attempt whose answer was lost.
            let present = try await send("HEAD", name)
            if present.status == 200, present.sum == sum, present.size == size, let version = present.version { return version }
            throw try answer.get().error
        }

        /// Lets the server remove the parts. If that fails, a rule of the bucket has to do it.
        private func abandon(_ name: String, _ upload: String) async {
            var store = self
            (store.attempts, store.timeout) = (1, min(timeout, .seconds(5)))
            // Not part of the task, which may have been cancelled.
            await Task { [store] in _ = try? await store.send("DELETE", name, [("uploadId", upload)]) }.value
        }
    }
#endif
