package inventory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/txn"
)

// addIn adds lines to the order's reservation in a transaction of their own.
func (s *stock) addIn(t testing.TB, order string, lines ...inventory.Line) error {
	t.Helper()

	add, err := s.AddIn(order, lines)
	if err != nil {
		t.Fatal(err)
	}

	var tx txn.Transaction
	add(&tx)

	return s.writer.Write(t.Context(), &tx)
}

// TestAnEndThatAnotherCallHasMovedMeanwhileStays lets another call extend the reservation
// between the two writes of this one.
func TestAnEndThatAnotherCallHasMovedMeanwhileStays(t *testing.T) {
	for _, row := range []struct {
		about string
		other time.Duration // the other call's end; 0 for none
	}{
		{about: "to a later end", other: 20 * time.Minute},
		{about: "to no end", other: 0},
	} {
		s := newStock(t)
		set(t, s, "mug", 2)
		s.reserveUntil(t, "o-1", 10*time.Minute)
		began := s.clock.Now()

		var end time.Time
		if row.other > 0 {
			end = began.Add(row.other)
		}

		writes := 0
		s.transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("TransactWriteItems") {
				if writes++; writes == 2 { // the extension; the other call's writes follow
					return s.ReserveUntil(t.Context(), "o-1", twoMugs, end)
				}
			}

			return nil
		})

		err := s.ReserveUntil(t.Context(), "o-1", twoMugs, began.Add(15*time.Minute))
		if !errors.Is(err, inventory.ErrConflict) {
			t.Errorf("%s: %v", row.about, err)
		}

		if r, _, err := s.Reservation(t.Context(), "o-1"); err != nil || !r.ExpiresAt.Equal(end) {
			t.Errorf("%s: it ends at %s, %v", row.about, r.ExpiresAt, err)
		}
	}
}

func TestLinesAreAddedToAReservationWithoutAnEnd(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 4)

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := s.addIn(t, "o-1", inventory.Line{SKU: "mug", Quantity: 1}); err != nil {
			t.Error(err)
		}
	}
	level(t, s, "mug", inventory.Level{Reserved: 4})
}

func TestAReservationHasNoMoreLinesThanATransactionCanEnd(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", inventory.MaxLines+1)

	line := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"sku": &types.AttributeValueMemberS{Value: "mug"}, "quantity": &types.AttributeValueMemberN{Value: "1"}}}
	lines := &types.AttributeValueMemberL{}
	for range inventory.MaxLines - 1 {
		lines.Value = append(lines.Value, line)
	}

	if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("inventory"), Item: map[string]types.AttributeValue{
		"sku": &types.AttributeValueMemberS{Value: "order#o-1"}, "status": &types.AttributeValueMemberS{Value: "RESERVED"},
		"version": &types.AttributeValueMemberN{Value: "1"}, "lines": lines}}); err != nil {
		t.Fatal(err)
	}

	if err := s.addIn(t, "o-1", inventory.Line{SKU: "mug", Quantity: 1}); err != nil {
		t.Errorf("the last line: %v", err)
	}

	if err := s.addIn(t, "o-1", inventory.Line{SKU: "mug", Quantity: 1}); !errors.Is(err, inventory.ErrInvalid) {
		t.Errorf("one line more: %v", err)
	}
}

func TestNothingReservedIsNotCommitted(t *testing.T) {
	s := newStock(t)
	if err := s.Commit(t.Context(), "o-1"); !errors.Is(err, inventory.ErrClosed) {
		t.Errorf("commit: %v", err)
	}
}

// TestAStoreOutOfReachIsAnError: no answer is no "there is none".
func TestAStoreOutOfReachIsAnError(t *testing.T) {
	s := newStock(t)
	s.transport.Inject(embeddedtest.LoseRequest())

	_, _, levelErr := s.Level(t.Context(), "mug")
	_, _, reservationErr := s.Reservation(t.Context(), "o-1")
	setErr := s.Set(t.Context(), "mug", 1)

	for name, err := range map[string]error{"level": levelErr, "reservation": reservationErr, "set": setErr} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestACommitTakesTheLinesThatWereAddedMeanwhile adds a line between the read and the write
// of a commit.
func TestACommitTakesTheLinesThatWereAddedMeanwhile(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 3)

	if err := s.Reserve(t.Context(), "o-1", twoMugs); err != nil {
		t.Fatal(err)
	}

	writes := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("TransactWriteItems") {
			if writes++; writes == 1 { // the commit; the addition follows
				return s.addIn(t, "o-1", inventory.Line{SKU: "mug", Quantity: 1})
			}
		}

		return nil
	})

	if err := s.Commit(t.Context(), "o-1"); err != nil {
		t.Error(err)
	}
	level(t, s, "mug", inventory.Level{Committed: 3})
}
