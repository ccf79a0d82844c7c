package leases

import (
	"maps"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// SuspectAfter is how many deaths of holders without progress make a lease suspect.
const SuspectAfter = 3

// TryNote says which records of a suspect shard are being tried: a batch, or one record of a batch
// that has ended a worker. A TryNote is never modified.
type TryNote struct {
	UpTo     string         // last record of the batch
	Sequence string         // the record that is tried alone; "" for none
	Tries    map[string]int // how many calls for sequence were begun and did not return, by handler
}

// With returns a copy of the note for the record, With tries as the number of tries of the handler.
func (n *TryNote) With(sequence, handler string, tries int) *TryNote {
	next := &TryNote{UpTo: n.UpTo, Sequence: sequence, Tries: map[string]int{}}
	if n.Sequence == sequence {
		maps.Copy(next.Tries, n.Tries)
	}

	if next.Tries[handler] = tries; tries == 0 {
		delete(next.Tries, handler)
	}

	return next
}

// Of returns how many calls Of the handler for the record did not return.
func (n *TryNote) Of(sequence, handler string) int {
	if n.Sequence != sequence {
		return 0
	}

	return n.Tries[handler]
}

// InBatch reports whether the record belongs to the batch that has ended a worker.
func (n *TryNote) InBatch(sequence string) bool {
	return n.UpTo != "" && store.CompareSequence(sequence, n.UpTo) <= 0
}

// decodeTryNote returns the note of a lease, nil if it has none.
func decodeTryNote(row dynamo.Item) *TryNote {
	note := &TryNote{UpTo: dynamo.Text(row, leaseTryingTo), Sequence: dynamo.Text(row, leaseTrying), Tries: map[string]int{}}
	if note.UpTo == "" {
		return nil
	}

	if stored, ok := row[leaseTries].(*ddbtypes.AttributeValueMemberM); ok {
		for handler := range stored.Value {
			note.Tries[handler] = int(dynamo.Number(stored.Value, handler))
		}
	}

	return note
}

// addTo adds the note n to an update of the lease. If n is nil, the update removes the stored note.
func (n *TryNote) addTo(update *dynamo.Update, stored *TryNote) {
	if n == nil {
		if stored != nil {
			update.RemoveAttribute(leaseTryingTo).RemoveAttribute(leaseTrying).RemoveAttribute(leaseTries)
		}

		return
	}

	tries := dynamo.Item{}
	for handler, count := range n.Tries {
		tries[handler] = dynamo.N(int64(count))
	}

	for name, value := range map[string]string{leaseTryingTo: n.UpTo, leaseTrying: n.Sequence} {
		if value != "" {
			update.SetValue(name, dynamo.S(value))
		} else {
			update.RemoveAttribute(name)
		}
	}
	update.SetValue(leaseTries, dynamo.M(tries))
}

// IsTried reports whether a call for the record that is tried alone has begun and not returned.
func (n *TryNote) IsTried() bool { return n != nil && len(n.Tries) > 0 }

// IsSuspect reports whether the lease is suspect: its holders have died several times without
// progress, or a holder has died during a noted try.
func (l Lease) IsSuspect() bool { return l.DeathsSoFar() >= SuspectAfter || l.Trying != nil }

// DeathsSoFar returns how many holders in a row have died since the checkpoint last moved.
func (l Lease) DeathsSoFar() int64 {
	if l.deathsAt != l.Checkpoint {
		return 0
	}

	return l.Deaths
}
