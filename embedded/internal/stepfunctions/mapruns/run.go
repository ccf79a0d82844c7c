package mapruns

import (
	"math"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
)

// runOf returns the Map Run that has started an execution.
func runOf(c *execution.Child) keys.Run { return keys.Run{Machine: c.Machine, ID: c.Run} }

// Owner returns the number of the machine of an execution.
func Owner(k keys.Execution, st *execution.State) uint64 {
	if st.Child != nil {
		return st.Child.Machine
	}

	return k.Machine
}

// Run is the record of a Map Run. It changes under the lock of its book: in the batch of a turn of its
// parent or of one of its children, or by Change.
type Run struct {
	ID uint64 `json:"id"`
	// Name is the label and the name with a colon between them.
	Name     string `json:"name"`
	Machine  string `json:"machine"`
	Express  bool   `json:"express,omitempty"`
	Revision uint64 `json:"revision"`
	Map      int    `json:"map"` // the ordinal of the state

	// The thread of the execution that waits for the Map Run.
	ParentMachine uint64 `json:"parentMachine"`
	Parent        uint64 `json:"parent"`
	ParentName    string `json:"parentName"`
	ParentLabel   string `json:"parentLabel,omitempty"` // of a parent that is a child itself
	Thread        int64  `json:"thread"`

	Started  int64            `json:"started"`
	Stopped  int64            `json:"stopped,omitempty"`
	Status   execution.Status `json:"status"`
	Redriven int64            `json:"redriven,omitempty"`
	Redrives int64            `json:"redrives,omitempty"`
	// Ending is the status that a running Map Run gets as soon as none of its children runs. Such a
	// Map Run starts no more children. 0 means that it goes on.
	Ending execution.Status `json:"ending,omitempty"`
	// Failure is why it fails, nil for too many failed items.
	Failure *execution.CallFailure `json:"failure,omitempty"`
	// Again tells an ending Map Run to go on when it has ended.
	Again bool `json:"again,omitempty"`

	Concurrency         int64   `json:"concurrency,omitempty"`
	ToleratedCount      int64   `json:"toleratedCount,omitempty"`
	ToleratedPercentage float64 `json:"toleratedPercentage,omitempty"`

	// TotalItems is the number of all items, and Next the place of the first that no child has.
	TotalItems int64               `json:"totalItems"`
	BatchItems int64               `json:"batchItems,omitempty"` // the limit of a batch, 0 for none
	Batches    bool                `json:"batches,omitempty"`
	Next       execution.MapCursor `json:"next"`

	// Executions counts the children that have started, and Items their items, by status.
	Executions Tally `json:"executions"`
	Items      Tally `json:"items"`
	// WaitingExecutions and WaitingItems count the children that wait for a redrive, and their items, by
	// the status that the children still have. A redrive has not reached the children from the number
	// RedriveAt on. 0 means that no child waits.
	WaitingExecutions Tally  `json:"waitingExecutions"`
	WaitingItems      Tally  `json:"waitingItems"`
	RedriveAt         uint64 `json:"redriveAt,omitempty"`
	// NotRedrivable and NotRedrivableItems count the children that a
	// redrive could not run again, and their items.
	NotRedrivable      int64 `json:"notRedrivable,omitempty"`
	NotRedrivableItems int64 `json:"notRedrivableItems,omitempty"`
}

// Tally has a number for each status of an execution.
type Tally [execution.Aborted + 1]int64

// Total returns the sum of all numbers.
func (t *Tally) Total() (sum int64) {
	for _, n := range t {
		sum += n
	}

	return sum
}

// unsuccessful are the statuses that a redrive runs again.
var unsuccessful = []execution.Status{execution.Failed, execution.TimedOut, execution.Aborted}

// Waiter returns the execution that waits for the Map Run.
func (r *Run) Waiter() keys.Execution {
	return keys.Execution{Machine: r.ParentMachine, ID: r.Parent}
}

// Running reports whether the Map Run has not ended.
func (r *Run) Running() bool { return r.Status == execution.Running }

// maxChildren is the number of children of a Map Run that run at a time.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const maxChildren = 10_000

// Room returns how many more children may run.
func (r *Run) Room() int64 {
	limit := r.Concurrency
	if limit == 0 || limit > maxChildren {
		limit = maxChildren
	}

	return limit - r.Executions[execution.Running]
}

// Exhausted reports whether every item has been given to a child.
func (r *Run) Exhausted() bool { return int64(r.Next.Item) >= r.TotalItems }

// pending returns the number of children that have not started. With batches that are limited by their
// size only, it is computed from the number of items that are left.
func (r *Run) pending() int64 {
	left := r.TotalItems - int64(r.Next.Item)
	switch {
	case !r.Batches || left == 0:
		return left
	case r.BatchItems == 0:
		// How many items fit into a batch is known only when it is filled.
		return 1
	default:
		return (left + r.BatchItems - 1) / r.BatchItems
	}
}

// Exceeded reports whether more items have failed or timed out than the Map Run tolerates. A limit of 0 is
// not set. Without a limit, no failure is tolerated.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
func (r *Run) Exceeded() bool {
	failed := r.Items[execution.Failed] + r.Items[execution.TimedOut]
	if r.ToleratedCount == 0 && r.ToleratedPercentage == 0 {
		return failed > 0
	}

	// Max avoids a division by zero for a Map without items.
	percentage := float64(failed) * 100 / math.Max(1, float64(r.TotalItems))

	return r.ToleratedCount > 0 && failed > r.ToleratedCount ||
		r.ToleratedPercentage > 0 && percentage > r.ToleratedPercentage
}

// count records the change of a child by a turn. was is its status before the turn. A child that starts
// has none, and next is the place after its items.
func (r *Run) count(k keys.Execution, st *execution.State, was execution.Status, next *execution.MapCursor) {
	switch {
	case next != nil:
		// The cursor moves in the batch that stores the child: a crash
		// neither skips an item nor gives it out twice.
		r.Next = *next
	case was == execution.Running:
		r.Executions[was]--
		r.Items[was] -= st.Child.Items
	default: // a redrive, in which the child was not running before
		r.leaveWaiting(k, st.Child, was)
	}

	r.Executions[st.Status]++
	r.Items[st.Status] += st.Child.Items
}

// leaveWaiting takes a child out of the counts of the children that wait for a redrive.
func (r *Run) leaveWaiting(k keys.Execution, c *execution.Child, was execution.Status) {
	r.WaitingExecutions[was]--
	r.WaitingItems[was] -= c.Items
	// Children are redriven in the order of their numbers.
	r.RedriveAt = k.ID + 1
}

// Leave records that a redrive leaves a child as it is.
func (r *Run) Leave(k keys.Execution, st *execution.State) {
	r.leaveWaiting(k, st.Child, st.Status)
	r.Executions[st.Status]++
	r.Items[st.Status] += st.Child.Items
	r.NotRedrivable++
	r.NotRedrivableItems += st.Child.Items
}

// abandon records that no state waits for the Map Run any more.
func (r *Run) abandon() {
	r.Again = false
	if r.Running() && r.Ending == 0 {
		r.Ending = execution.Aborted
	}
}

// Finish ends the Map Run. Children that wait for a redrive keep
// their status and are counted under it again.
func (r *Run) Finish(status execution.Status, now time.Time) {
	r.Status, r.Stopped, r.Ending = status, now.UnixMilli(), 0
	for _, s := range unsuccessful {
		r.Executions[s] += r.WaitingExecutions[s]
		r.Items[s] += r.WaitingItems[s]
	}

	r.WaitingExecutions, r.WaitingItems, r.RedriveAt = Tally{}, Tally{}, 0
}

// redrive lets the Map Run go on, now or as soon as it has ended.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/redrive-map-run.html
func (r *Run) redrive(now time.Time) {
	r.Redrives, r.Redriven = r.Redrives+1, now.UnixMilli()
	// It is still stopping its children. closeRun resumes it after that.
	if r.Running() {
		r.Again = true
		return
	}

	r.Resume()
}

// Resume lets a Map Run that has ended go on: its unsuccessful children wait for a redrive.
func (r *Run) Resume() {
	r.Status, r.Stopped, r.Ending, r.Again, r.Failure = execution.Running, 0, 0, false, nil
	// Numbers of executions are at least 1, so no child has been reached yet.
	r.NotRedrivable, r.NotRedrivableItems, r.RedriveAt = 0, 0, 1

	for _, s := range unsuccessful {
		r.WaitingExecutions[s], r.Executions[s] = r.Executions[s], 0
		r.WaitingItems[s], r.Items[s] = r.Items[s], 0
	}
}

// Waits reports whether a child of the Map Run, which may be nil, waits for a redrive.
// A redrive takes the children in the order of their numbers. RedriveAt is
// the first child that the redrive has not reached.
func (r *Run) Waits(k keys.Execution, st *execution.State) bool {
	return r != nil && r.RedriveAt != 0 && k.ID >= r.RedriveAt &&
		st.Status != execution.Running && st.Status != execution.Succeeded
}
