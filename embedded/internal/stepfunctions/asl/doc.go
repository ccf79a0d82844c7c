// Package asl compiles definitions in the Amazon States Language into an immutable
// [Machine], with every path, template and choice rule ready to run.
//
//	machine, diagnostics := asl.Parse(definition)
//	if machine == nil {
//		return diagnostics.Err()
//	}
//
// In a definition that Parse accepts, every transition has a target, every state can be
// reached, and every flow can end. Parse reports all faults that it finds, with their
// places, and warnings.
//
// A state is written in JSONPath or in JSONata, and has only the fields of that query language
// (language.go). Parse refuses features that the engine does not have (other task resources, items and
// results in S3) with a diagnostic that names the feature: see unsupported.go.
//
// To add a field to a kind of state, add it to the tables in compile.go and to [State], and
// read it in the compile_*.go file of that kind.
// Source: https://states-language.net/spec.html
package asl
