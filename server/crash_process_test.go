package server_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ratchet/embedded/embeddedtest"
)

// point is a call of the worker: the nth with this name for one order.
type point struct {
	call string
	n    int
}

// blow is the fault that strikes the worker at a point.
type blow string

const (
	// loseRequests: the call and its retries do not arrive.
	loseRequests blow = "its requests are lost"
	// loseAnswers: the call arrives, its answer is lost, and the retries do not arrive.
	loseAnswers blow = "its answer is lost"
	// stopBefore and stopAfter: the process ends before or after the call is carried out.
	stopBefore blow = "the process ends before it"
	stopAfter  blow = "the process ends after it"
)

var blows = []blow{loseRequests, loseAnswers, stopBefore, stopAfter}

// failedTries is how many calls a lost call takes with it: as many as the SDK tries.
const failedTries = 3

// process is one worker process. It dies at its point.
type process struct {
	mu     sync.Mutex
	counts map[string]int
	points []point
	at     *point
	how    blow
	failed int  // tries of the call that was struck
	dead   bool // every later call fails
	stop   context.CancelFunc
}

var (
	errDead   = errors.New("the process has ended")
	tableName = regexp.MustCompile(`"TableName":"[a-z-]*?ratchet-([a-z-]+)"`)
)

// callName names a call of interest; polls and the work on leases are not.
func callName(c *embeddedtest.Call) string {
	if c.Service != "dynamodb" && !strings.HasPrefix(c.Operation, "SendTask") || c.Is("SendTaskHeartbeat", "DescribeTable", "DescribeTimeToLive") {
		return ""
	}

	var tables []string
	for _, match := range tableName.FindAllSubmatch(c.Body(), -1) {
		if table := string(match[1]); !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}

	// What goes on in the background, whether there is an order or not.
	idle := []string{"leases", "payments-due", "inventory-due", "holds", "dead-letters", "endpoints", "processes"}
	isLook := strings.Contains(string(c.Body()), `"IndexName"`) || strings.Contains(string(c.Body()), `"S":"ready"`) // health reads that order

	if isLook || len(tables) == 0 && c.Service == "dynamodb" || len(tables) == 1 && slices.Contains(idle, tables[0]) {
		return ""
	}

	return c.Operation + " " + strings.Join(tables, ",")
}

// before strikes the process. It runs for every call.
func (p *process) before(c *embeddedtest.Call) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.dead {
		return errDead
	}

	name := callName(c)
	if name == "" {
		return nil
	}

	p.counts[name]++
	here := point{name, p.counts[name]}
	p.points = append(p.points, here)

	if p.at == nil || name != p.at.call || p.counts[name] < p.at.n || p.counts[name] >= p.at.n+failedTries {
		return nil
	}
	p.failed++

	switch {
	case p.how == stopBefore:
		p.die()
		return errDead
	case p.how == stopAfter:
		p.die()
		return embeddedtest.ErrAnswerLost
	case p.how == loseAnswers && p.failed == 1:
		return embeddedtest.ErrAnswerLost
	}

	return embeddedtest.ErrLost
}

func (p *process) die() {
	p.dead = true
	p.stop()
}

// start runs a worker process until ctx ends or it dies.
func (m *matrix) start(ctx context.Context, name string, p *process) (ended chan struct{}) {
	b, wire, err := m.Process()
	if err != nil {
		m.t.Fatal(err)
	}

	ctx, p.stop = context.WithCancel(ctx)
	p.counts = map[string]int{}
	wire.Before(p.before)

	ended = make(chan struct{})
	go func() {
		defer close(ended)

		err := b.Run(ctx, name)

		p.mu.Lock()
		defer p.mu.Unlock()

		if err != nil && !p.dead {
			m.t.Errorf("%s: %v", name, err)
		}
	}()

	return ended
}
