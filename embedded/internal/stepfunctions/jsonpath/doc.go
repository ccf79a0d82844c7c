// Package jsonpath evaluates the expressions of the Amazon States Language:
//
//   - [Path]: $.order.id, and $$.Execution.Id in the context object
//   - [Reference]: a path that names one place to write to
//   - [Expression]: a path or an intrinsic function, States.Format('{}', $.id)
//   - [Template]: a payload template, {"id.$": "$.order.id"}
//
// An expression is compiled once, when a definition is accepted, and evaluated over raw
// JSON text (package rawjson):
//
//	path, err := jsonpath.Compile("$.order.id")
//	value, err := path.Evaluate(&jsonpath.Scope{Input: []byte(`{"order":{"id":7}}`)})
//
// Compiled values are immutable and may be shared.
//
// # Paths
//
// A path has members, quoted members, indexes (negative ones count from the end), unions,
// slices, wildcards, descent (..) and filters ([?(@.price < 10 && @.stock)]). A path that
// can match more than one place returns an array, empty when nothing matches. Any other
// path that matches nothing is a [NotFoundError]. Functions in paths ($.a.length()) and
// regular expressions in filters fail to compile.
//
// # Functions
//
// The table in functions.go has all 18 intrinsic functions. A function that does not accept
// its arguments fails with an [IntrinsicError].
package jsonpath
