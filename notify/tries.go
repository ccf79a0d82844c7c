package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/dynamo"
)

// Try is an attempt of a delivery that has ended.
type Try struct {
	At time.Time `json:"at"`
	// Number is the number of the attempt since the last resend before it.
	Number int `json:"number"`
	// Answer is the status of the far side's answer, 0 without an answer. Head is the beginning of the answer, or
	// of the error without one, in up to 128 bytes.
	Answer int           `json:"answer,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	Head   string        `json:"head,omitempty"`
}

// A delivery keeps its last attempts in the attributes try0 to try19, of which each new one takes the place of the
// oldest: "<time in ms>|<number>|<answer>|<duration in ms>|<head>". The attribute tried counts the attempts. The index of the
// queues does not have them, so they cost nothing there, and a delivery whose first attempt succeeds has none: its
// record says the same.
const (
	mostTries     = 20
	maxTry        = 147 // bytes, so that all of them have 3 KB with their names
	maxTryHead    = 128
	deliveryTry   = "try"
	deliveryCount = "tried"
)

func tryAttribute(n int) string { return deliveryTry + strconv.Itoa(n%mostTries) }

// noteTry notes an attempt that has ended. A first attempt that succeeds is not noted.
func (d *Delivery) noteTry(o outcome, now time.Time) {
	if o.err == nil && d.tried == 0 {
		return
	}

	head := o.answer.Text
	if o.err != nil && o.answer.Status == 0 {
		head = o.err.Error()
	}
	d.tried++
	d.newest = &Try{At: now.UTC(), Number: d.Attempts, Answer: o.answer.Status, Took: o.took, Head: dynamo.Cut(head, maxTryHead)}
}

func (t Try) encode() string {
	text := fmt.Sprintf("%d|%d|%d|%d|%s", t.At.UnixMilli(), t.Number, t.Answer, t.Took.Milliseconds(), t.Head)

	return dynamo.Cut(text, maxTry)
}

// decodeTries returns the attempts that the item has, oldest first. Those of a delivery without noted attempts are
// what its record says of the newest one.
func decodeTries(item dynamo.Item, d Delivery) (tries []Try) {
	for n := range mostTries {
		parts := strings.SplitN(dynamo.Text(item, tryAttribute(n)), "|", 5)
		if len(parts) != 5 {
			continue
		}

		at, err := strconv.ParseInt(parts[0], 10, 64)
		number, numberErr := strconv.Atoi(parts[1])
		answer, answerErr := strconv.Atoi(parts[2])
		took, tookErr := strconv.ParseInt(parts[3], 10, 64)

		if cmp.Or(err, numberErr, answerErr, tookErr) == nil {
			tries = append(tries, Try{time.UnixMilli(at).UTC(), number, answer, time.Duration(took) * time.Millisecond, parts[4]})
		}
	}
	slices.SortStableFunc(tries, func(a, b Try) int { return a.At.Compare(b.At) })

	if len(tries) == 0 && !d.TriedAt.IsZero() {
		tries = []Try{{At: d.TriedAt, Number: 1, Answer: d.Answer, Head: dynamo.Cut(d.Response, maxTryHead)}}
	}

	return tries
}
