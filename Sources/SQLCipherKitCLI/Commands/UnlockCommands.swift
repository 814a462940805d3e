import ArgumentParser
import Foundation
import SQLCipherKit

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Open a database without asking for its key, for a while.",
        discussion: """
            Puts the database's key into the user's keyring of the Linux kernel. Until the time is over, every command of this \
            user that is given no key takes it from there. The kernel forgets it by itself; sqlcipherkit lock and a restart end it \
            sooner.

            What is kept is the key that the passphrase was turned into, and not the passphrase. It is in no file, in no \
            environment and on no command line, and other users cannot read it. Every program that this user runs can.

            EXAMPLES
              sqlcipherkit unlock notes.db
              sqlcipherkit unlock notes.db --for 8h --key-file notes.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "until")

    @OptionGroup var file: FileOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("For how long, from 1s to 7d, such as 90s, 15m, 8h or 1d.", valueName: "time"))
    var time = Lifetime(seconds: 900)

    @OptionGroup var report: ReportOptions

    func validate() throws {
        if time.seconds > 604_800 { throw ValidationError("--for is at most 7d") }
        if file.key.isPlain { throw ValidationError("a database that is not encrypted needs no unlocking") }
    }

    func run() throws {
        let (db, _) = try file.openWithKey(.readOnly, asking: true)
        let duration = Duration.seconds(time.seconds)
        try UnlockedFiles.add(db, file.path, for: duration)
        let end = Date(timeIntervalSinceNow: time.seconds)
        let shown = end.formatted(date: time.seconds < 43_200 ? .omitted : .abbreviated, time: .shortened)
        try report.write(
            Self.form, [.string(file.path), .string(end.formatted(.iso8601))],
            "\(file.path.onOneLine) is unlocked until \(shown); sqlcipherkit lock ends it sooner")
    }
}

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Forget the keys that unlock keeps.",
        discussion: """
            Without a file, all of this user's. Programs that have a database open keep it open.

            EXAMPLES
              sqlcipherkit lock notes.db
              sqlcipherkit lock

            \(form)
            """)

    private static let form = JSONForm.object("forgotten")

    @Argument(help: ArgumentHelp("The database file; all if none is given.", valueName: "database"), completion: .file())
    var path: String?

    @OptionGroup var report: ReportOptions

    func run() throws {
        let count = try UnlockedFiles.remove(path)
        if let path, count == 0 { throw Failure("\(path) is not unlocked") }
        try report.write(Self.form, [.integer(Int64(count))], "\(count.counted("key")) forgotten")
    }
}
