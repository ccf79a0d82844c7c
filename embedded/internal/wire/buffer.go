package wire

import (
	"math/bits"
	"sync"
)

const (
	// leastReused is the size in bytes of the smallest memory that is used for another answer. The
	// reuse of less costs as much as new memory.
	leastReused = 8 << 10
	// mostReused is the size of the largest such memory: a page of 1 MB of items fits.
	mostReused = 4 << 20
)

// buffers holds the memory of answers that were sent, as *[]byte, by size: pool n has memory of
// leastReused<<n bytes or more, so that no answer gets memory that is much too large for it.
var buffers [10]sync.Pool

// poolOf returns the pool for memory of size bytes, nil if memory of that size is not reused.
func poolOf(size int) *sync.Pool {
	if size < leastReused || size > mostReused {
		return nil
	}

	return &buffers[bits.Len(uint(size/leastReused))-1]
}

// Buffer returns an empty slice with room for size bytes, for an answer that may become large.
func Buffer(size int) []byte {
	if size < leastReused {
		return make([]byte, 0, size)
	}

	// Answers to the same call differ a little: a later one should find room in this memory.
	room := (size/leastReused + 1) * leastReused
	if pool := poolOf(room); pool != nil {
		// Memory of the same pool differs in size by up to a factor of two.
		if b, ok := pool.Get().(*[]byte); ok && cap(*b) >= size {
			return *b
		}
	}

	return make([]byte, 0, room)
}

// Grow returns an answer with room for size more bytes. It takes over answer, whose memory another answer may have afterwards.
func Grow(answer []byte, size int) []byte {
	grown := append(Buffer(len(answer)+size), answer...)
	reuse(answer)

	return grown
}

// reuse lets a later answer use the memory of an answer that was sent.
func reuse(answer []byte) {
	if pool := poolOf(cap(answer)); pool != nil {
		empty := answer[:0] // a variable of its own, so that small answers allocate nothing here
		pool.Put(&empty)
	}
}
