package jsonata

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"time"
)

// Limits of an evaluation. The limits of values and levels are the service's, as measured on AWS. The
// service does not publish its time limit.
// Source: https://github.com/floci-io/floci/pull/2783
const (
	maxTime   = 5 * time.Second
	maxSteps  = 1_000_000
	maxDepth  = 100       // nested nodes
	maxValue  = 6_990_256 // bytes
	maxItems  = 873_782   // of an array
	maxRanged = 360_145   // of $range
	maxCall   = 64 << 20  // bytes that a single call of a function may make

	// maxHeap is how much memory an evaluation may hold, in bytes. When the heap of the process
	// has grown by this much, a step measures the evaluations' part of it.
	maxHeap = 128 << 20
	// busyHeap is the growth, in bytes, after which every step looks at the heap. After warmHeap one of warmEvery
	// steps looks, and before that one of lookEvery: a text that a few steps double, as $a & $a does, grows by
	// 16 or 32 times between two looks.
	busyHeap, warmHeap   = 8 << 20, 512 << 10
	warmEvery, lookEvery = 4, 16
)

// The errors of the limits. The texts are from JSONata's own guards, which the service uses.
var (
	errMemory = errors.New("Expression evaluation memory limit exceeded: Check for excessive memory usage")
	errTime   = errors.New("Expression evaluation timeout: Check for infinite loop")
	errDepth  = errors.New("Stack overflow error: Check for non-terminating recursive function. " + //nolint:staticcheck // AWS's own words
		"Consider rewriting as tail-recursive. Depth=101 max=100")
	// errUnsupported reports a result that JSON cannot hold.
	errUnsupported = errors.New("unsupported result type")
)

// budget ends an evaluation at its limits. gnata asks its context before each node of the
// syntax tree, so that Err counts the steps.
type budget struct {
	context.Context

	deadline time.Time
	steps    int
	heap     []metrics.Sample
	before   uint64 // size of the heap, in bytes; 0 until the first look
	every    int    // so many steps are between two looks
	err      error
}

func newBudget(life context.Context, deadline time.Time) *budget {
	return &budget{Context: life, deadline: deadline, every: lookEvery}
}

// Err returns the error of the limit that the evaluation has reached.
func (b *budget) Err() error {
	if b.err != nil {
		return b.err
	}

	b.steps++
	switch {
	case b.steps > maxSteps:
		b.err = errTime
	// Reading the heap's size at every step would cost more than most steps do.
	case b.steps%b.every == 0:
		b.look()
	}

	return b.err
}

// look compares the time and the heap with their limits. Short evaluations end before the
// first look.
func (b *budget) look() {
	if err := b.Context.Err(); err != nil {
		b.err = err
		return
	}

	if time.Now().After(b.deadline) {
		b.err = errTime
		return
	}

	now := b.read()
	// The collector has run since, so the growth is counted from here.
	if b.before == 0 || now < b.before {
		b.before = now
	}

	// The growth may be garbage. Only a collection can tell.
	if now-b.before > maxHeap {
		b.collect()
		return
	}

	switch growth := now - b.before; {
	case growth > busyHeap:
		b.every = 1
	case growth > warmHeap:
		b.every = warmEvery
	default:
		b.every = lookEvery
	}
}

// read returns the size of the heap with its garbage, in bytes.
func (b *budget) read() uint64 {
	if b.heap == nil {
		b.heap = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	}

	metrics.Read(b.heap)

	return b.heap[0].Value.Uint64()
}

// collect finds out how much of the growth is held by evaluations. It runs once for each maxHeap bytes.
// The profile does not tell the evaluations apart: each running evaluation adds its share to the limit, so
// that a small evaluation does not fail because of a large one.
func (b *budget) collect() {
	runtime.GC()

	if b.inUse() > maxHeap/2*uint64(max(1, len(running))) {
		b.err = errMemory
	}

	b.before, b.every = b.read(), lookEvery
}
