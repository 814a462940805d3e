import SQLCipherKitStores

// Names before 1.0 that the articles showed; see FormerNames.swift of the module SQLCipherKit.

@available(*, unavailable, renamed: "ObjectStore")
public typealias ReplicaStore = ObjectStore
@available(*, unavailable, renamed: "StoredObject")
public typealias ReplicaObject = StoredObject
