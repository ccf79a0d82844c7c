package questions

import (
	"sync/atomic"

	"ratchet/internal/dynamo"
	"ratchet/operate/processes"
)

// mostFindings is how many findings an answer has.
const mostFindings = 100

// maxText bounds the texts of a finding, in bytes, so that an answer has less than 200 KB; an item may have 400 KB.
const maxText = 600

// Run is a question that is being answered. Its methods but Looked must be called from one goroutine at a time.
type Run struct {
	// Owner is whose things the question is about: the text before the colon of their ids, "" without one.
	Owner string

	looked   atomic.Int64
	found    int64
	counts   map[string]int64
	findings []processes.Finding
}

// Looked says how much the run has looked at so far.
func (r *Run) Looked(n int) { r.looked.Store(int64(n)) }

// Count sets a number of the answer.
func (r *Run) Count(name string, n int) { r.counts[name] = int64(n) }

// Found adds something that needs a person.
func (r *Run) Found(f processes.Finding) {
	if r.found++; len(r.findings) == mostFindings {
		return
	}
	f.Subject, f.Text, f.Next = dynamo.Cut(f.Subject, maxText), dynamo.Cut(f.Text, maxText), dynamo.Cut(f.Next, maxText)
	r.findings = append(r.findings, f)
}
