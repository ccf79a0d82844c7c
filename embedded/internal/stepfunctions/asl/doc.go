// Package asl reads definitions in the Amazon States Language and compiles them
// into an immutable Machine, with every path, template and choice rule ready to
// run. A definition that Parse accepts has no dangling transition, no
// unreachable state and an end in every flow.
//
// Query language is JSONPath. Task states run activities. Everything else the
// language has (JSONata, variables, other task resources, distributed maps) is
// refused with a diagnostic that says so; see Parse.
// Source: https://states-language.net/spec.html
package asl
