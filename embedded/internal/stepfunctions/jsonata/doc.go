// Package jsonata compiles and evaluates the JSONata expressions of the Amazon States
// Language: the texts between {% and %}.
//
//	source, ok := jsonata.Unwrap("{% $states.input.total * 2 %}")
//	expression, err := jsonata.Compile(source, 0)
//	value, err := expression.Evaluate(&jsonata.Scope{Input: input}, "Output/total")
//
// The language is github.com/recolabs/gnata, with the functions that Step Functions adds
// (functions.go) and without $eval. An expression sees no input of its own: it reads $states
// and the variables of the execution. Compile therefore refuses $, $$ and names without a $
// at its top level, as the service does.
//
// # Limits
//
// An expression has at most 32 KiB, and nests at most 100 levels. Its evaluation is bounded in
// time (5 seconds), in steps, and in the size of its values; past a limit it fails with an
// *EvaluationError, as it does when gnata panics. Steps that are known to grow without bound are checked
// beforehand (guards.go). One case remains: a structure that contains itself many times over, made into a
// text by & or compared by =, is one step. Its caller gets the error of the time limit, and the step goes
// on in its own goroutine. The step keeps its slot among the evaluations that run at a time (places.go), so that
// there is a bounded number of such goroutines. Memory is measured by the profile of the heap (memory.go).
//
// # Determinism
//
// Random values come from Scope.Random and the time from Scope.Now, so the same scope gives
// the same value.
//
// Sources: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html,
// https://states-language.net/spec.html#jsonata, https://docs.jsonata.org
package jsonata
