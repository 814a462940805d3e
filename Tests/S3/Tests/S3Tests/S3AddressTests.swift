import SQLCipherKit
@testable import SQLCipherKitStores
import Testing

/// Stores by their URL, with an environment.
@Suite struct S3AddressTests {
    private let environment = ["AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret"]

    @Test(arguments: [
        ("s3://backup", "backup", ""), ("s3://backup/", "backup", ""), ("s3://backup/notes", "backup", "notes/"),
        ("s3://backup/notes/", "backup", "notes/"), ("s3://backup/a/b//", "backup", "a/b/"), ("s3://backup//a", "backup", "/a/"),
    ]) func urlNamesBucketAndPrefix(url: String, bucket: String, prefix: String) throws {
        let store = try S3Store(url, environment: environment)
        #expect(store.bucket == bucket)
        #expect(store.prefix == prefix)
        #expect(store.endpoint.host == "backup.s3.us-east-1.amazonaws.com")
    }

    @Test func environmentNamesRegionAndServer() throws {
        var environment = environment
        environment["AWS_DEFAULT_REGION"] = "eu-west-1"
        #expect(try S3Store("s3://backup", environment: environment).endpoint.host == "backup.s3.eu-west-1.amazonaws.com")
        environment["AWS_REGION"] = "eu-central-1"
        #expect(try S3Store("s3://backup", environment: environment).endpoint.host == "backup.s3.eu-central-1.amazonaws.com")
        environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000"
        let store = try S3Store("s3://backup/notes", environment: environment)
        #expect(store.endpoint.host == "127.0.0.1:9000")
        #expect(store.endpoint.path(store.prefix + "head") == "/backup/notes/head")
    }

    @Test(arguments: ["", "s3://", "s3:///notes", "backup/notes", "https://backup/notes", "S3://backup"])
    func invalidS3URLsAreRefused(url: String) {
        #expect { try S3Store(url, environment: environment) } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
    }

    @Test func missingCredentialsAreReported() {
        #expect {
            try S3Store("s3://backup", environment: ["AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials"])
        } throws: { ($0 as? DatabaseError)?.reason == .storeUnavailable }
    }
}
