//go:build !cgo

package store

// cacheSize bounds the memory for blocks of data read from disk and for the tables of the newest
// changes, which Pebble counts against it.
//
// Without cgo Pebble takes this memory from Go's heap. The collector lets the heap grow to a multiple of
// what is in use (five times with GOGC=400), so the bound is lower.
const cacheSize = 64 << 20
