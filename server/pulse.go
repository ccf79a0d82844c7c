package server

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"ratchet/operate/processes"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	// pulseFor is how far back a process remembers what all processes did.
	pulseFor = time.Hour
	// pulseEvery is the time between two reads of it, pulseLate how late a row may be written.
	pulseEvery = 65 * time.Second
	pulseLate  = 3 * time.Minute
)

// pulse counts what this process decides, and remembers what all processes did in the last hour.
type pulse struct {
	mu      sync.Mutex
	decided map[processes.Decided]int64 // with Count 0
	moved   map[processes.Moved]int64   // with By 0
	unnoted int64                       // requests of which moved does not know what the order was before

	minutes map[string]processes.Minute
	since   time.Time // minutes has everything from here on; zero before the first read
	readAt  time.Time
	failed  error // the error of the newest read
	taken   bool  // since then, this process has stored a minute
}

// decide counts a request.
func (p *pulse) decide(event workflow.Event, verdict transitions.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.decided == nil {
		p.decided = map[processes.Decided]int64{}
	}
	p.decided[processes.Decided{Event: string(event), Verdict: verdict.String()}]++
}

// move counts an order that has left one state for another one. acceptsOthers says that it may have been of another version before.
func (p *pulse) move(r transitions.Result, acceptsOthers bool) {
	o := r.Order
	// An order that another request has moved on by now has the states of that one.
	if r.Verdict != transitions.Applied || o == nil || r.Transition.To == "" {
		return
	}

	from := r.Transition.From
	if from == "" && o.TransitionID == r.Transition.ID {
		from = o.PreviousState
	}

	owner := ownerOf(o.ID)

	p.mu.Lock()
	defer p.mu.Unlock()

	// Which version had moved the order before, a result does not say.
	if acceptsOthers || from == "" && r.Transition.ID > 1 {
		p.unnoted++
	}

	if p.moved == nil {
		p.moved = map[processes.Moved]int64{}
	}
	p.moved[processes.Moved{Owner: owner, Version: o.DefinitionVersion, State: string(r.Transition.To)}]++

	if from != "" {
		p.moved[processes.Moved{Owner: owner, Version: o.DefinitionVersion, State: string(from)}]--
	}
}

// take returns what was counted since the last call.
func (p *pulse) take() processes.Minute {
	p.mu.Lock()
	defer p.mu.Unlock()

	m := p.now()
	p.decided, p.moved, p.unnoted = nil, nil, 0
	p.taken = true

	return m
}

// now returns what was counted since the last take. Call it with the lock.
func (p *pulse) now() (m processes.Minute) {
	m.Unnoted = p.unnoted

	for of, n := range p.decided {
		of.Count = n
		m.Decided = append(m.Decided, of)
	}

	for of, n := range p.moved {
		if of.By = n; n != 0 {
			m.Moved = append(m.Moved, of)
		}
	}

	return m
}

// look reads what all processes did, once a minute: first the last hour, then what is new.
func (p *pulse) look(ctx context.Context, now time.Time, read func(context.Context, time.Time) ([]processes.Minute, error)) {
	p.mu.Lock()
	// What this process has told is read again at once, so that no decision is missing meanwhile.
	if !p.taken && now.Sub(p.readAt) < pulseEvery {
		p.mu.Unlock()
		return
	}
	p.taken = false

	from := now.Add(-pulseFor)
	if !p.since.IsZero() && p.readAt.Add(-pulseLate).After(from) {
		from = p.readAt.Add(-pulseLate)
	}
	p.mu.Unlock()

	found, err := read(ctx, from)

	p.mu.Lock()
	defer p.mu.Unlock()

	if p.failed = err; err != nil {
		return // the next look reads from where this one did
	}

	if p.minutes == nil {
		p.minutes = map[string]processes.Minute{}
	}

	for _, m := range found {
		p.minutes[m.Key] = m
	}
	maps.DeleteFunc(p.minutes, func(_ string, m processes.Minute) bool { return m.At.Before(now.Add(-pulseFor)) })

	p.readAt, p.since = now, now.Add(-pulseFor)

	// More are there: the next look goes on behind these.
	if n := len(found); n >= processes.MaxMinutes {
		p.readAt, p.taken = found[n-1].At.Add(pulseLate-time.Second), true
	}
}

// LastHour returns what all processes did in the last hour. It reads nothing.
func (b *Backend) LastHour() (processes.Hour, error) {
	p := &b.pulse

	p.mu.Lock()
	defer p.mu.Unlock()

	if p.since.IsZero() && p.failed != nil {
		return processes.Hour{}, p.failed
	}

	h := processes.Hour{UpTo: p.readAt, Since: p.since, Minutes: slices.SortedFunc(maps.Values(p.minutes), func(a, b processes.Minute) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key))
	})}

	// No process has told of what was before: it ran with another version, or none did.
	if len(h.Minutes) > 0 && h.Minutes[0].At.Add(-time.Minute).After(h.Since) {
		h.Since = h.Minutes[0].At.Add(-time.Minute)
	}

	own := p.now()
	own.At = time.Now().UTC()
	h.Minutes = append(h.Minutes, own)

	return h, nil
}
