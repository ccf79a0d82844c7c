package jsonata

import (
	"math"
	"runtime"
	"strings"
)

// inUse returns about how many bytes of the heap the evaluations of the process had at the end of the last
// garbage collection. The profile of the heap is a sample. Memory that other code has allocated does not
// count, unless the program has switched the profile off.
func (b *budget) inUse() uint64 {
	if runtime.MemProfileRate <= 0 {
		return b.read()
	}

	records := make([]runtime.MemProfileRecord, 1024)
	for {
		n, ok := runtime.MemProfile(records, false)
		if ok {
			records = records[:n]
			break
		}

		// The profile may have grown between the two calls, so there is room for a quarter more.
		records = make([]runtime.MemProfileRecord, n+n/4)
	}

	total := 0.0
	for i := range records {
		if r := &records[i]; r.InUseObjects() > 0 && evaluates(r.Stack()) {
			total += sampled(float64(r.InUseBytes()), float64(r.InUseObjects()))
		}
	}

	return uint64(total)
}

// evaluates reports whether a stack belongs to an evaluation: whether gnata's evaluator or its functions
// are in it. gnata's parser does not count, because its trees stay in memory.
func evaluates(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "github.com/recolabs/gnata/internal/evaluator.") ||
			strings.HasPrefix(frame.Function, "github.com/recolabs/gnata/functions.") {
			return true
		}

		if !more {
			return false
		}
	}
}

// sampled returns the bytes for which the bytes in a sample stand.
func sampled(bytes, objects float64) float64 {
	return bytes / (1 - math.Exp(-bytes/objects/float64(runtime.MemProfileRate)))
}
