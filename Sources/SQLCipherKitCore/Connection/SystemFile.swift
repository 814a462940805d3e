import Foundation

/// Files that this package opens itself, all but databases: of those, SQLite has the locks.
package enum SystemFile {
    /// Opens a regular file. Never follows a link, and never waits for a pipe.
    /// - Parameters:
    ///   - folder: the descriptor of an open folder that the path begins at. Default: as for `open(2)`.
    ///   - flags: as for `open(2)`.
    ///   - isAlone: whether to refuse a file that has another name too: a user who may write to the folder could have linked a
    ///     file of this user's there, to have its content, its permissions or its owner changed.
    ///   - isOwn: whether to refuse a file of another user, and one that others may read or write.
    /// - Returns: the descriptor; less than 0 if there is none, with the reason in `errno`: `EMLINK` for another name, `EPERM` for
    ///   another user's, `ENXIO` for what is not a regular file.
    package static func open(
        _ path: String, in folder: Int32 = AT_FDCWD, _ flags: Int32, isAlone: Bool = true, isOwn: Bool = false
    ) -> Int32 {
        let flags = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = folder == AT_FDCWD ? Foundation.open(path, flags, 0o600) : openat(folder, path, flags, 0o600)
        guard file >= 0 else { return file }
        var info = stat(), refusal: Int32 = 0
        if fstat(file, &info) != 0 {
            refusal = errno
        } else if info.st_mode & S_IFMT != S_IFREG {
            refusal = ENXIO
        } else if isAlone, info.st_nlink > 1 {
            refusal = EMLINK
        } else if isOwn, info.st_mode & 0o077 != 0 || info.st_uid != geteuid() {
            refusal = EPERM
        }
        if refusal == 0 { return file }
        close(file)
        errno = refusal
        return -1
    }

    /// Gives an open file the permissions of another and, as far as the system lets this user, its owner and its group, without
    /// which group permissions are dropped. Returns false with `errno` if it cannot have the permissions.
    @discardableResult
    package static func takePermissions(of original: stat, _ file: Int32) -> Bool {
        var own = stat()
        guard fstat(file, &own) == 0 else { return false }
        // Only the system's administrator may set another owner.
        if own.st_uid != original.st_uid { _ = fchown(file, original.st_uid, gid_t.max) }
        let isGroupKept = own.st_gid == original.st_gid || fchown(file, uid_t.max, original.st_gid) == 0
        let mode = original.st_mode & (isGroupKept ? 0o777 : 0o707)
        return own.st_mode & 0o777 == mode || fchmod(file, mode) == 0
    }
}
