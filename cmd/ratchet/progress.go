package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells how far something has come, at most every two seconds.
type progress struct {
	out  io.Writer
	told time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out, time.Now()} }

func (p *progress) print(format string, args ...any) {
	if now := time.Now(); now.Sub(p.told) >= 2*time.Second {
		p.told = now
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}
