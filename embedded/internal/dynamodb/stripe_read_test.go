package dynamodb

import (
	"testing"

	"ratchet/embedded/internal/dynamodb/stripes"
)

// lateWriter is a store in which a writer begins in the middle of the first read. The read sees the
// change, but the change is not on disk, and a crash a moment later undoes it.
type lateWriter struct {
	stripe *stripes.Stripe
	reads  int
}

func (l *lateWriter) Get([]byte) (value []byte, found bool, err error) {
	if l.reads++; l.reads > 1 {
		return []byte("on disk"), true, nil
	}
	l.stripe.Lock()
	l.stripe.Begin()

	go func() {
		l.stripe.End()
		l.stripe.Unlock()
	}()

	return []byte("visible"), true, nil
}

// TestAReadWaitsForAWriterWhoBeginsInItsMiddle: the test of linearizability meets this case once in
// millions of reads.
//
//raced:here
func TestAReadWaitsForAWriterWhoBeginsInItsMiddle(t *testing.T) {
	t.Parallel()

	for range 100 { // the writer ends before the read looks at it, or later
		s := new(stripes.Stripe)
		db := &lateWriter{stripe: s}

		if got, err := s.Read(db, nil); err != nil || string(got) != "on disk" || db.reads != 2 {
			t.Fatalf("%q after %d reads, %v", got, db.reads, err)
		}
	}
}
