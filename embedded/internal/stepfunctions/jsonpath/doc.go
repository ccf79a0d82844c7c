// Package jsonpath evaluates what the Amazon States Language writes with a
// dollar: paths ($.order.id), paths into the context object ($$.Execution.Id),
// reference paths that name one place to write to, intrinsic functions
// (States.Format(...)) and payload templates (objects with members "name.$").
//
// Everything is compiled once, when a definition is accepted, and evaluated
// over raw JSON text; see package rawjson. Compiled values are immutable and
// may be shared.
//
// Paths know members, quoted members, indexes (negative from the end), unions,
// slices, wildcards, descent (..) and filters ([?(@.price < 10 && @.stock)]).
// A path that can match more than one place gives an array, empty when nothing
// matches; any other path that matches nothing is an error. The functions of
// some JSONPath dialects ($.a.length()) and regular expressions in filters are
// refused when compiled.
package jsonpath
