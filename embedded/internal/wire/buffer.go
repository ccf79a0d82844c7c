package wire

import "sync"

const (
	// leastReused is from how many bytes on the memory of an answer is used again. For less, that
	// costs as much as new memory.
	leastReused = 8 << 10
	// mostReused is up to how many bytes it is: a page of 1 MB of items fits.
	mostReused = 4 << 20
)

// buffers holds the memory of answers that were sent, as *[]byte.
var buffers sync.Pool

// Buffer returns an empty slice with room for size bytes, for an answer that may become large.
func Buffer(size int) []byte {
	if size < leastReused {
		return make([]byte, 0, size)
	}

	if b, ok := buffers.Get().(*[]byte); ok && cap(*b) >= size {
		return *b
	}

	// Answers to the same call differ a little: a later one should find room in this memory.
	return make([]byte, 0, (size/leastReused+1)*leastReused)
}

// reuse lets a later answer have the memory of one that was sent.
func reuse(answer []byte) {
	if size := cap(answer); size >= leastReused && size <= mostReused {
		empty := answer[:0] // a variable of its own, so that small answers allocate nothing here
		buffers.Put(&empty)
	}
}
