import CSQLCipher
import Foundation

extension KeyProvider where Self == KeySource {
    /// A file that only its owner can read.
    ///
    /// The file must be a regular file, belong to root or to the user that the process runs as, and grant no permissions to group
    /// and others; its last path component must not be a symbolic link. These checks are made on the opened file, so that it cannot
    /// be swapped in between. Protecting the folders above it is up to you.
    /// - Parameters:
    ///   - path: the file's path, as for ``DatabaseLocation/file(_:)-(String)``. The source gives nil if there is no such file.
    ///   - encoding: the format of its bytes. Default: a passphrase.
    /// - Throws: ``DatabaseError/Reason/keyProvider`` for a file that fails these checks; ``DatabaseError/Reason/emptyKey`` for an
    ///   empty file.
    public static func file(_ path: String, as encoding: KeyEncoding = .passphrase) -> KeySource {
        let path = Paths.absolute(path)
        return KeySource("the file \(path)") { try KeyFile.read(path, encoding, forbidden: 0o077) }
    }

    /// An open file descriptor, which is read to its end and closed, such as a pipe from another program.
    ///
    /// The source never gives nil: a descriptor that you name is expected to have a key.
    /// - Parameters:
    ///   - descriptor: the descriptor, which is closed after it is read.
    ///   - encoding: the format of the bytes. Default: a passphrase.
    /// - Throws: ``DatabaseError/Reason/keyProvider`` if it cannot be read or gives more than 64 KiB,
    ///   ``DatabaseError/Reason/emptyKey`` if it is empty.
    public static func fileDescriptor(_ descriptor: Int32, as encoding: KeyEncoding = .passphrase) -> KeySource {
        KeySource("the file descriptor \(descriptor)") {
            defer { close(descriptor) }
            return try KeyFile.read(descriptor, encoding, "the file descriptor \(descriptor)")
        }
    }

    /// A credential that systemd passes to a service (`LoadCredential=`, `LoadCredentialEncrypted=`;
    /// <https://systemd.io/CREDENTIALS/>): a file in the folder that `$CREDENTIALS_DIRECTORY` names. The source gives nil outside
    /// such a service, and for a credential that the service was not given.
    /// - Parameters:
    ///   - name: the credential's name.
    ///   - encoding: the format of its bytes. Default: a passphrase.
    public static func systemdCredential(_ name: String, as encoding: KeyEncoding = .passphrase) -> KeySource {
        KeySource("the credential \(name)") {
            guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else {
                throw DatabaseError.keyProvider("a credential cannot have the name \(name)")
            }
            guard let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), folder.hasTextPrefix("/")
            else { return nil }
            // systemd grants the service's user access through an ACL, which shows as group read permission.
            return try KeyFile.read("\(folder)/\(name)", encoding, forbidden: 0o037)
        }
    }
}

/// Files that hold keys.
private enum KeyFile {
    static func read(_ path: String, _ encoding: KeyEncoding, forbidden: mode_t) throws -> DatabaseKey? {
        if path.isEmpty || path.utf8.contains(0) {
            throw DatabaseError.keyProvider("the path of a key file is empty or contains a NUL character")
        }
        let file = SystemFile.open(path, O_RDONLY, isAlone: false)
        guard file >= 0 else {
            let error = errno
            if error == ENOENT { return nil }
            let reasons = [ELOOP: "it is a symbolic link", ENXIO: "it is not a regular file"]
            throw refused(path, reasons[error] ?? String(cString: strerror(error)))
        }
        defer { close(file) }
        var info = stat()
        let isKnown = fstat(file, &info) == 0
        guard isKnown, info.st_uid == geteuid() || info.st_uid == 0 else { throw refused(path, "it belongs to another user") }
        guard info.st_mode & forbidden == 0 else {
            throw refused(
                path, "other users can use it: its mode is \(String(info.st_mode & 0o7777, radix: 8)), and 600 or 400 is expected"
            )
        }
        return try read(file, encoding, "the key file \(path)")
    }

    static func read(_ file: Int32, _ encoding: KeyEncoding, _ name: String) throws -> DatabaseKey {
        // Room for one byte more than allowed, to detect contents that are too large.
        let bytes = try SecureBytes(upTo: KeySource.maximumBytes + 1) { memory in
            var count = 0
            while count < memory.count, let base = memory.baseAddress {
                let got = Foundation.read(file, base + count, memory.count - count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { throw DatabaseError.keyProvider("\(name) cannot be read: \(String(cString: strerror(errno)))") }
                if got == 0 { break }
                count += got
            }
            guard count < memory.count else {
                throw DatabaseError.keyProvider("\(name) holds more than \(KeySource.maximumBytes) bytes")
            }
            return 0..<count
        }
        return try bytes.withUnsafeBytes { bytes in try encoding.key(bytes) }
    }

    private static func refused(_ path: String, _ reason: String) -> DatabaseError {
        .keyProvider("the key file \(path) cannot be used: \(reason)", path: path)
    }
}

/// Overwrites bytes with zeroes.
package func wipe(_ bytes: UnsafeMutableRawPointer, _ count: Int) { sqlcipherkit_wipe(bytes, count) }
