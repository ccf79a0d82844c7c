//go:build cgo

package store

// cacheSize bounds the memory for blocks of data read from disk and for the tables of the newest
// changes, which Pebble counts against it.
const cacheSize = 160 << 20
