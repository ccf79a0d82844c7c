// Package judges runs the tests of client libraries, which know nothing of Ratchet, against the engine of `ratchet dev`:
// each library's own suite as its registry has it, with nothing in it changed but the address.
//
//	make judges
//
// fetches the suites below .cache/judges from the Go module proxy and npm (setup.sh), runs one after the other, and prints
// their counts. A suite must have exactly the counts that are written down here, and only the failures that are
// listed with a reason: a known failure that passes is taken from the list. Go, Node and a network are needed: without them
// it fails, it never skips. Suites of libraries whose packages come without tests are listed as not run.
package judges
