// Package templates executes templates that have the syntax of text/template, whose parser it uses.
//
// A program with text/template keeps every exported method of every type that it has, because a template may
// call any of them by its name: Ratchet would be 16 MB larger. Here a template calls the methods that its
// Options name, and those of times. A test runs the same templates through text/template and expects the same text.
//
// # Caveats
//
// There is no call, and no range over channels and functions. An execution ends after a million steps, and a function takes
// and returns texts of at most 256 KB, so that a template that a user has written takes neither the time nor the memory of the
// process.
package templates
