// Your program names stores: folders, and object stores with the trait S3.
@_exported import SQLCipherKitStores

@available(*, unavailable, renamed: "Replicator")
public typealias Replica = Replicator
