import Testing

/// A declaration that cannot be a record is reported in its place, and expands to nothing.
@Suite struct DiagnosticTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let source: String
        let message: String
        let place: String
        var fixed: String?
        var testDescription: String { message }

        init(_ source: String, _ message: String, at place: String, fixed: String? = nil) {
            (self.source, self.message, self.place, self.fixed) = (source, message, place, fixed)
        }
    }

    static let cases = [
        Case("@Record class A { var a = 1 }", "a record is a struct", at: "class", fixed: "@Record struct A { var a = 1 }"),
        Case("@Record enum A { case a }", "a record is a struct", at: "enum"),
        Case("@Record actor A { var a = 1 }", "a record is a struct", at: "actor"),
        Case("@Record struct A<T> { var a: T }", "a record cannot be generic: a type has one table", at: "<T>"),
        Case("@Record struct A { static let a = 1\n var b: Int { 1 } }", "A has no stored property that could be a column", at: "A"),
        Case("@Record struct A { @Ignored var a = 1 }", "A has no stored property that could be a column", at: "A"),
        Case("@Record struct A { var a: Int\n @Column(\"x\") var b: Int { 1 } }",
             "a computed property has no column: @Column belongs to a stored one", at: "@Column(\"x\")"),
        Case("@Record struct A { var a: Int\n lazy var b = 1 }", "a lazy property cannot be a column", at: "lazy var b = 1"),
        Case("@Record struct A { var (a, b) = (1, 2) }", "each column of a record needs a property of its own", at: "(a, b) = (1, 2)"),
        Case("@Record struct A { let a = 1 }", "a has a value that no row can change: make it a var, or static", at: "let",
             fixed: "@Record struct A { var a = 1 }"),
        Case("@Record struct A { var a: Int\n @Ignored var b: Int }", "an ignored property needs a value to begin with", at: "b: Int"),
        Case("@Record struct A { var a: Int\n @Ignored @Column(\"x\") var b = 1 }", "b is ignored: @Column says nothing about it",
             at: "@Column(\"x\")"),
        Case("@Record struct A { @PrimaryKey var a: Int\n @PrimaryKey(autoincrement: true) var b: Int }",
             "a table has one primary key: for one of several columns write constraints: [.primaryKey(\"a\", \"b\")]", at: "b: Int"),
        Case("@Record struct A { @PrimaryKey(autoincrement: true) var a: String? }",
             "only an integer key can be chosen by SQLite: autoincrement cannot be for a String", at: "a: String?"),
        Case("@Record(options: .withoutRowID) struct A { @PrimaryKey(autoincrement: true) var a: Int? }",
             "a table without row ids has no autoincrement", at: "a: Int?"),
        Case("@Record(constraints: [.primaryKey(\"a\")]) struct A { @PrimaryKey var a: Int }",
             "the table has a primary key among its constraints already", at: "a: Int"),
        Case("@Record(constraints: [.unique(\"a\", \"c\")]) struct A { var a: Int, b: Int }", "the record has no column c", at: "\"c\""),
        Case("@Record(indexes: [SQLIndex(\"i\", on: [.column(\"c\")])]) struct A { var a: Int }", "the record has no column c", at: "\"c\""),
        Case("@Record(indexes: [SQLIndex(\"i\", on: [\"a\", \"c\"])]) struct A { var a: Int }", "the record has no column c", at: "\"c\""),
        Case("@Record(indexes: all) struct A { var a: Int }", "write the list out, in brackets", at: "all"),
        Case("@Record(name) struct A { var a: Int }", "a table's name is a literal", at: "name"),
        Case("@Record struct A { @Column(\"\\(x)\") var a: Int }", "a column's name is a literal", at: "\"\\(x)\""),
        Case("@Record struct A { var a: Int\n @Column(\"A\") var b: Int }", "the record has two columns named A", at: "b: Int"),
        Case("@Record struct A { @Column(\"x\") var a, b: Int }", "@Column needs a declaration with one property", at: "@Column(\"x\")"),
        Case("@Record struct A { @Column(size: 3) var a: Int }", "@Column has no argument size", at: "size: 3"),
        Case("@Record struct A { @Column(unique: flag) var a: Int }", "unique is true or false, written out", at: "flag"),
        Case("@Record struct A { @Column(default: 1, defaultSQL: \"2\") var a: Int }", "a column has one default", at: "\"2\""),
        Case("@Record struct A { var a: Int\n @Generated(as: \"a\") @Column(default: 1) var b: Int }",
             "a generated column has no default", at: "1"),
        Case("@Record struct A { var a: Int\n #if X\n var b: Int\n #endif\n }",
             "@Record sees no properties inside of #if: move the condition around the type", at: "#if X\n var b: Int\n #endif"),
    ]

    @Test(arguments: cases)
    func invalidRecordDeclarationIsDiagnosed(_ wrong: Case) {
        let expansion = Expansion(wrong.source)
        #expect(expansion.problems.contains { $0.message == wrong.message && $0.place == wrong.place }, "\(expansion.problems)")
        #expect(!expansion.text.contains("extension"))
        #expect(expansion.fixed == wrong.fixed ?? wrong.source)
    }
}
