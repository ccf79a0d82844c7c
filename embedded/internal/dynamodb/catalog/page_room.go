package catalog

import "sync/atomic"

const (
	// firstRoom is the least memory with which the items of a page begin.
	firstRoom = 2 << 10
	// maxFirstRoom is the most. A page that needs more grows to it.
	maxFirstRoom = 64 << 10
)

// pageRoom estimates how much memory the next page of a table needs, from what its last pages needed: a
// page that begins with too little copies its items each time that it grows.
type pageRoom struct{ average atomic.Int64 }

// First returns the memory with which the items of the next page begin.
func (r *pageRoom) First() int {
	average := int(r.average.Load())

	// A quarter more, because pages differ.
	return min(max(average+average/4, firstRoom), maxFirstRoom)
}

// Learn adds a page that needed that number of bytes to the average. If two pages end at once, one
// may not count.
func (r *pageRoom) Learn(needed int) {
	average := r.average.Load()
	r.average.Store(average + (int64(needed)-average)/4)
}
