package main

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is the time between two lines of progress.
const progressInterval = 2 * time.Second

// progress prints how far a long command is, at most every two seconds and not in its
// first two.
type progress struct {
	out     io.Writer
	printed time.Time
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, printed: time.Now()}
}

// print prints a line unless the last one is less than two seconds old.
func (p *progress) print(format string, args ...any) {
	if now := time.Now(); now.Sub(p.printed) >= progressInterval {
		p.printed = now
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}
