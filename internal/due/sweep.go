package due

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"ratchet/internal/dynamo"
)

// Sweep says what one call handles.
type Sweep struct {
	Kind string
	// Limit is how many rows the call handles at most.
	Limit int
	// After is the Next of the call before, for a sweep that goes on behind rows that stay where they are. "" is
	// the beginning.
	After string
	// Margin is how much later than its time a row is due, for times that another clock has given.
	Margin time.Duration
	// Parallel is how many rows are handled at once. Default 1.
	Parallel int
	// Pace bounds how many rows are handled per second, in all calls that share it, so that other work has room beside
	// what is due. nil is no bound.
	Pace *rate.Limiter
	// Consistent reads see every row that is there, at twice the cost.
	Consistent bool
}

// PerSecond returns the pace of so many rows, nil for 0. They are spread evenly: a burst is what other work would notice.
func PerSecond(rows float64) *rate.Limiter {
	if rows == 0 {
		return nil
	}

	return rate.NewLimiter(rate.Limit(rows), 1)
}

// Swept is the result of a sweep.
type Swept struct {
	// Handled is how many rows were handled and are no longer due.
	Handled int
	// Oldest is the time of the oldest row that was found due, zero if there was none.
	Oldest time.Time
	// Next is the After of the next call, "" if this one has come to the end, or was parallel.
	Next string
	// More: other rows may be due, and the next call can be made at once, because most rows of this one were handled.
	More bool
}

// Handle does what is due of a row. It is called from several goroutines if the sweep is parallel. After an error, the row
// is postponed.
type Handle func(context.Context, Row) (Answer, error)

// Answer says what becomes of a row. The zero value deletes it.
type Answer struct {
	kind answerKind
	at   time.Time
}

type answerKind uint8

const (
	remove answerKind = iota
	gone
	keep
	move
	retry
)

var (
	// Remove deletes the row.
	Remove = Answer{}
	// Gone means that the row was deleted in the transaction that did what was due.
	Gone = Answer{kind: gone}
	// Keep leaves the row as it is: it is not due yet.
	Keep = Answer{kind: keep}
)

// MoveTo makes the row due at another time.
func MoveTo(at time.Time) Answer { return Answer{kind: move, at: at} }

// Retry postpones the row like an error, but not beyond the time, unless that is zero.
func Retry(by time.Time) Answer { return Answer{kind: retry, at: by} }

// maxErrors bounds the errors that a sweep returns.
const maxErrors = 10

// Sweep handles the rows of a kind that are due, oldest first, and up to the limit. If it is parallel, it takes rows whose times
// are in the same minute in a random order, one shard after the other, so that several sweeps at once rarely handle the same row. It
// ends early when it meets rows that others have handled meanwhile: the next one finds another shard. A
// row whose handling fails is postponed, and its error is in the returned one, which joins at most 10.
func (t *Table) Sweep(ctx context.Context, s Sweep, handle Handle) (Swept, error) {
	// With a clock that is ahead, rows would look due that are not.
	err := t.Clock.Learn(ctx, func(ctx context.Context) error {
		_, err := t.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: Row{Kind: s.Kind}.key()}, t.Clock.Listen)
		return err
	})
	if err != nil {
		return Swept{}, err
	}

	rows, oldest, err := t.read(ctx, s, t.Clock.Now().Add(-s.Margin))
	if err != nil {
		return Swept{}, err
	}
	out := Swept{Oldest: oldest}

	if len(rows) == s.Limit && s.Parallel <= 1 {
		last := rows[len(rows)-1].key()
		out.Next = dynamo.Text(last, timeKey)
	}

	if s.Parallel > 1 {
		mix(rows)
	}

	crew := &crew{}
	if s.Parallel > 1 {
		crew.most = 2 * s.Parallel
	}
	err = t.handleAll(ctx, s, rows, handle, crew)
	out.Handled = crew.handled
	out.More = (len(rows) == s.Limit || crew.inTheWay()) && crew.handled > 2*crew.failed

	return out, err
}

// crew counts what the goroutines of a sweep have done.
type crew struct {
	mu      sync.Mutex
	handled int // rows that are no longer due
	failed  int
	taken   int // rows that another sweep has handled
	most    int // of those; 0 is no bound
	errs    []error
}

// inTheWay reports whether another sweep handles the same rows.
func (c *crew) inTheWay() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.most > 0 && c.taken > c.most
}

// note counts one row.
func (c *crew) note(moved, taken bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if moved {
		c.handled++
	}

	if taken {
		c.taken++
	}

	if err == nil {
		return
	}

	if c.failed++; len(c.errs) < maxErrors {
		c.errs = append(c.errs, err)
	}
}

// handleAll handles the rows.
func (t *Table) handleAll(ctx context.Context, s Sweep, rows []Row, handle Handle, crew *crew) error {
	var group errgroup.Group
	group.SetLimit(max(1, s.Parallel))

	for _, row := range rows {
		if crew.inTheWay() {
			break
		}

		if s.Pace != nil && s.Pace.Wait(ctx) != nil || ctx.Err() != nil {
			break // the time is not long enough for another row
		}

		group.Go(func() error {
			crew.note(t.handle(ctx, row, handle))
			return nil
		})
	}
	_ = group.Wait() // no function returns an error

	return errors.Join(append(crew.errs, ctx.Err())...)
}

// handle handles one row. It reports whether the row is no longer due, and whether another sweep has taken it meanwhile.
func (t *Table) handle(ctx context.Context, row Row, handle Handle) (moved, taken bool, err error) {
	answer, err := handle(ctx, row)

	switch {
	// The call was ended from outside, which says nothing about the row.
	case err != nil && ctx.Err() != nil:
		return false, false, err
	case err != nil:
		answer = Retry(time.Time{})
	}

	there := true

	var stored error
	switch answer.kind {
	case gone:
	case keep:
		return false, false, err
	case move:
		there, stored = t.move(ctx, row, answer.at, 0)
	case retry:
		at := t.postponed(t.Clock.Now(), row.Attempts)
		if !answer.at.IsZero() && answer.at.Before(at) {
			at = answer.at
		}
		there, stored = t.move(ctx, row, at, row.Attempts+1)
	default:
		there, stored = t.remove(ctx, row)
	}

	return stored == nil, stored == nil && !there, errors.Join(err, stored)
}

const (
	// pageSize is how many rows of a shard are read at once.
	pageSize = 100
	// glance is how many rows of a shard a parallel sweep reads first, which it needs to know the oldest: it takes its rows from few
	// shards. So many cost no more than one.
	glance = 25
)

// read reads the oldest rows that are due, up to the limit. It also returns the time of the oldest one.
func (t *Table) read(ctx context.Context, s Sweep, until time.Time) (rows []Row, oldest time.Time, err error) {
	heads := make([]*head, shards)
	for n := range heads {
		heads[n] = &head{partition: partition(s.Kind, n), after: s.After, more: true, byMinute: s.Parallel > 1, page: pageSize}
	}

	if s.Parallel > 1 {
		for _, h := range heads {
			h.page = glance
		}
		rand.Shuffle(len(heads), func(i, k int) { heads[i], heads[k] = heads[k], heads[i] }) //nolint:gosec // G404: the order needs no cryptographic randomness
	}

	for len(rows) < s.Limit {
		for _, h := range heads {
			if err := t.fill(ctx, h, s, until); err != nil {
				return nil, oldest, err
			}
		}

		heads = slices.DeleteFunc(heads, func(h *head) bool { return len(h.items) == 0 })
		if len(heads) == 0 {
			break
		}

		if oldest.IsZero() {
			oldest = slices.MinFunc(heads, func(a, b *head) int { return cmp.Compare(a.key(), b.key()) }).at()
		}

		// The first of those that are equally old.
		next := slices.MinFunc(heads, (*head).compare)
		if row, ok := parse(next.items[0]); ok {
			rows = append(rows, row)
		}
		next.items = next.items[1:]
	}

	return rows, oldest, nil
}

// mix brings rows whose times are in the same minute into a random order.
func mix(rows []Row) {
	rand.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] }) //nolint:gosec // G404: the order needs no cryptographic randomness
	slices.SortStableFunc(rows, func(a, b Row) int {
		return a.At.Truncate(time.Minute).Compare(b.At.Truncate(time.Minute))
	})
}

// head is what is read of a shard and not yet taken.
type head struct {
	partition string
	items     []dynamo.Item
	after     string // the sort key of the last one that was read
	more      bool
	byMinute  bool // rows of the same minute are equally old
	page      int  // how many are read next
}

func (h *head) key() string { return dynamo.Text(h.items[0], timeKey) }

// at is the time of the next row, zero for an item that is none.
func (h *head) at() time.Time {
	row, _ := parse(h.items[0])
	return row.At
}

// compare says whose next row is older.
func (h *head) compare(other *head) int {
	if h.byMinute {
		return h.at().Truncate(time.Minute).Compare(other.at().Truncate(time.Minute))
	}

	return cmp.Compare(h.key(), other.key())
}

// fill reads the next rows of a shard, if none is left.
func (t *Table) fill(ctx context.Context, h *head, s Sweep, until time.Time) error {
	// A row of the millisecond has a # behind its time and sorts after it.
	end := moment(until.Add(time.Millisecond))

	// The clock may have been set back since the call before.
	if h.after >= end {
		return nil
	}

	for len(h.items) == 0 && h.more {
		out, err := t.DynamoDB.Query(ctx, &dynamodb.QueryInput{
			TableName:                &t.Name,
			ConsistentRead:           aws.Bool(s.Consistent),
			Limit:                    aws.Int32(int32(min(h.page, s.Limit))),
			KeyConditionExpression:   aws.String("#shard = :shard AND #due BETWEEN :after AND :until"),
			ExpressionAttributeNames: map[string]string{"#shard": shardKey, "#due": timeKey},
			ExpressionAttributeValues: dynamo.Item{
				":shard": dynamo.S(h.partition),
				":after": dynamo.S(h.after + "\x00"), // behind that key
				":until": dynamo.S(end),
			},
		}, t.Clock.Listen)
		if err != nil {
			return err
		}

		h.items, h.more, h.page = out.Items, len(out.LastEvaluatedKey) > 0, pageSize
		if len(h.items) > 0 {
			h.after = dynamo.Text(h.items[len(h.items)-1], timeKey)
		}
	}

	return nil
}

// IsNext reports whether the text may be the Next of a sweep.
func IsNext(text string) bool {
	_, isKey := parse(dynamo.Item{timeKey: dynamo.S(text)})

	return text == "" || isKey
}
