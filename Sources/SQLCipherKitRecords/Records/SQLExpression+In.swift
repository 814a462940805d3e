import SQLCipherKitCore

/// A collection of values for `in`: an array, a set, a range, or the values of a query.
public protocol _SQLValues<_Member> {
    associatedtype _Member: SQLValueConvertible

    func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate where Value._Plain == _Member
}

extension _SQLValues {
    /// The condition that an expression equals one of these values; the same as ``SQLExpression/in(_:)``.
    /// ```swift
    /// Book.filter { ids.contains($0.id) }
    /// ```
    public func contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate
    where Value._Plain == _Member { _contains(expression) }
}

extension Array: _SQLValues where Element: SQLValueConvertible {
    public typealias _Member = Element._Plain

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        let present = filter { !$0.isSQLNull }
        let found =
            Element._isJSONDocument
            ? expression.isDocument(in: present.map { expression.bound($0) }) : expression.among(present, expression.form)
        return present.count == count ? found : found || expression.isNull
    }
}

extension Set: _SQLValues where Element: SQLValueConvertible {
    public typealias _Member = Element._Plain

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        Array(self)._contains(expression)
    }
}

extension ClosedRange: _SQLValues where Bound: SQLValueConvertible {
    public typealias _Member = Bound

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.isBetween(lowerBound, upperBound)
    }
}

extension Range: _SQLValues where Bound: SQLValueConvertible {
    public typealias _Member = Bound

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.ordered(.greaterOrEqual, lowerBound) && expression.ordered(.less, upperBound)
    }
}

extension PartialRangeFrom: _SQLValues where Bound: SQLValueConvertible {
    public typealias _Member = Bound

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.ordered(.greaterOrEqual, lowerBound)
    }
}

extension PartialRangeUpTo: _SQLValues where Bound: SQLValueConvertible {
    public typealias _Member = Bound

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.ordered(.less, upperBound)
    }
}

extension PartialRangeThrough: _SQLValues where Bound: SQLValueConvertible {
    public typealias _Member = Bound

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.ordered(.lessOrEqual, upperBound)
    }
}

extension SQLSelection: _SQLValues where Element: SQLValueConvertible {
    public typealias _Member = Element._Plain

    public func _contains<Value: SQLValueConvertible>(_ expression: SQLExpression<Value>) -> SQLPredicate {
        expression.among(self, hasNulls: Element.self is any SQLNullable.Type)
    }
}

extension SQLExpression where Value: SQLValueConvertible {
    /// The condition that the expression equals one of some values: the elements of an array or a set, the values of a range of any
    /// kind, or the rows of a query. NULL matches if the values include nil. Each element of an array or a set is a parameter, of
    /// which a statement has at most 250,000: read more records by `fetchAll(_:ids:in:)`, which has no such limit.
    /// ```swift
    /// Book.filter { $0.pages.in(100..<200) || $0.state.in([.draft, .done]) }
    /// Book.filter { $0.author.in(Author.filter { $0.country == "IT" }.select { $0.id }) }
    /// ```
    public func `in`<Values: _SQLValues>(_ values: Values) -> SQLPredicate where Values._Member == Value._Plain {
        values._contains(self)
    }
}

extension SQLExpression {
    /// The condition that the value of a `Codable` type is among a query's values.
    @_disfavoredOverload
    public func `in`<Request: SQLRequest>(_ request: Request) -> SQLPredicate where Request.Element == Value {
        among(request.selection, hasNulls: Value.self is any SQLNullable.Type)
    }

    fileprivate func among<T>(_ selection: SQLSelection<T>, hasNulls: Bool) -> SQLPredicate {
        let theirs = selection.forms?.first?.profile
        let isSame = SQLForm.isSame(form, theirs, Value.self)
        var (own, list) = (operand(.atom), selection.subquery)
        if let sql = SQLForm.comparable(sql, Value.self, from: form, isSame: isSame) {
            own = sql
            list = selection.mapped { sql, _ in SQLForm.comparable(sql, T.self, from: theirs, isSame: isSame) ?? sql }
        }
        let found = SQLPredicate(.text("\(own) IN (\(list))", .comparison, isLoose: canBeNull || hasNulls))
        guard hasNulls, canBeNull else { return found }
        // NULL is in no list, but INTERSECT takes two of them for the same.
        let hasNull: SQL = "EXISTS (SELECT NULL INTERSECT SELECT * FROM (\(selection.subquery)))"
        return found || isNull && SQLPredicate(hasNull, .atom)
    }
}
