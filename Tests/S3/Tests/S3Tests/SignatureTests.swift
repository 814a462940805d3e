import Foundation
import Testing

import SQLCipherKit
@testable import SQLCipherKitStores

/// The examples of Amazon's documentation.
@Suite struct SignatureTests {
    static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    /// 24 May 2013, 00:00 UTC.
    let date = Date(timeIntervalSince1970: 1_369_353_600)
    var signature: S3Signature {
        S3Signature(S3Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: secret), region: "us-east-1")
    }

    func end(_ headers: [String: String]) -> String { String((headers["authorization"] ?? "").suffix(64)) }

    // https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

    @Test func getObjectSignatureMatchesAmazonExample() {
        let headers = signature.headers(
            "GET", path: "/test.txt", headers: ["host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9"], hash: Self.empty,
            at: date)
        #expect(end(headers) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        #expect(headers["x-amz-date"] == "20130524T000000Z")
        #expect(headers["authorization"]?.contains("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,") == true)
    }

    @Test func putObjectSignatureMatchesAmazonExample() {
        let hash = S3Signature.hash(Array("Welcome to Amazon S3.".utf8))
        #expect(hash == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
        let headers = signature.headers(
            "PUT", path: "/" + S3Signature.encoded("test$file.text"),
            headers: [
                "host": "examplebucket.s3.amazonaws.com", "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            ], hash: hash, at: date)
        #expect(end(headers) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func getLifecycleSignatureMatchesAmazonExample() {
        let headers = signature.headers(
            "GET", path: "/", query: [("lifecycle", "")], headers: ["host": "examplebucket.s3.amazonaws.com"], hash: Self.empty,
            at: date)
        #expect(end(headers) == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func listObjectsSignatureMatchesAmazonExample() {
        let headers = signature.headers(
            "GET", path: "/", query: [("prefix", "J"), ("max-keys", "2")], headers: ["host": "examplebucket.s3.amazonaws.com"],
            hash: Self.empty, at: date)
        #expect(end(headers) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func s3PathsQueriesAndHostsAreEncoded() throws {
        #expect(S3Signature.encoded("a b/ü~-_.", keeps: "/") == "a%20b/%C3%BC~-_.")
        #expect(S3Signature.encoded([("b", "1 2"), ("a", "=")]) == "a=%3D&b=1%202")
        let path = try S3Endpoint("http://localhost:9000/base/", bucket: "bu", .path)
        #expect(path.host == "localhost:9000" && path.path("x y") == "/base/bu/x%20y" && path.path("") == "/base/bu")
        let host = try S3Endpoint("https://s3.eu-central-1.amazonaws.com:443", bucket: "bu", .virtualHost)
        #expect(host.host == "bu.s3.eu-central-1.amazonaws.com" && host.path("x") == "/x" && host.path("") == "/")
        #expect { try S3Endpoint("ftp://x", bucket: "b", .path) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
    }

    @Test func s3ListingParsesObjectsAndContinuation() {
        let listing = S3Listing(
            Array(
                """
                <ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>
                <Contents><Key>a&lt;b</Key><Size>12</Size></Contents><Contents><Key>c</Key><Size>0</Size></Contents></ListBucketResult>
                """.utf8))
        #expect(listing.continuation == "t&1")
        #expect(listing.objects.map(\.name) == ["a<b", "c"] && listing.objects.map(\.size) == [12, 0])
    }

    @Test func s3CredentialsAreReadFromFileAndEnvironment() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(
            "# comment\n[default]\naws_access_key_id = one\naws_secret_access_key=two\n[other]\naws_access_key_id=three\naws_secret_access_key=four\naws_session_token = five\n"
                .utf8
        ).write(to: file)
        let environment = ["AWS_SHARED_CREDENTIALS_FILE": file.path]
        let first = try S3Credentials.standard(environment: environment)
        #expect(first.accessKey == "one" && first.secretKey == "two" && first.sessionToken == nil)
        let other = try S3Credentials.standard(profile: "other", environment: environment)
        #expect(other.accessKey == "three" && other.secretKey == "four" && other.sessionToken == "five")
        let own = try S3Credentials.standard(environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"])
        #expect(own.accessKey == "a" && "\(own)" == "S3Credentials(a)")
        #expect { try S3Credentials.standard(profile: "none", environment: environment) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        let missing = #expect { try S3Credentials.standard(environment: ["HOME": "/somewhere"]) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
        #expect("\(String(describing: missing))".contains("no file /somewhere/.aws/credentials"))
    }
}
