package inventory_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
)

// TestExpectedLinesAreCommittedWithoutARead, and leave what the commit after a read leaves.
func TestExpectedLinesAreCommittedWithoutARead(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := newStock(t)
		until := time.Time{}
		if ends {
			until = s.clock.Now().Add(time.Hour)
		}

		set(t, s, "mug", 10)
		set(t, s, "cup", 10)
		lines := []inventory.Line{pieces("mug", 1), pieces("cup", 2), pieces("mug", 3)}
		items := map[string]dynamo.Item{}

		for order, expected := range map[string][]inventory.Line{"o-1": lines, "o-2": nil} {
			if err := s.ReserveUntil(t.Context(), order, lines, until); err != nil {
				t.Fatal(err)
			}
			calls := s.transport.Count("GetItem")

			if err := s.CommitAndClose(t.Context(), order, expected...); err != nil {
				t.Fatal(err)
			}

			if read := s.transport.Count("GetItem") > calls; read == (expected != nil) {
				t.Errorf("%s: read %t", order, read)
			}

			out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: aws.String("inventory"),
				Key:       dynamo.Item{"sku": dynamo.S("order#" + order)},
			})
			if err != nil {
				t.Fatal(err)
			}
			items[order] = out.Item
		}
		level(t, s, "mug", inventory.Level{Available: 2, Committed: 8})
		level(t, s, "cup", inventory.Level{Available: 6, Committed: 4})

		for _, item := range items {
			// The orders differ in these.
			for _, name := range []string{"sku", "reservedAt", "endedAt"} {
				if item[name] == nil {
					t.Errorf("no %s", name)
				}
				delete(item, name)
			}
		}

		if !reflect.DeepEqual(items["o-1"], items["o-2"]) {
			t.Errorf("without a read: %v\nafter a read: %v", items["o-1"], items["o-2"])
		}
	}
}

// TestTheReservationDecidesAndNotWhatIsExpectedOfIt.
func TestTheReservationDecidesAndNotWhatIsExpectedOfIt(t *testing.T) {
	one := []inventory.Line{pieces("mug", 1)}

	for name, test := range map[string]struct {
		before func(*stock) error
		want   error
		level  inventory.Level
		then   error // of a reservation
	}{
		"other lines": {
			func(s *stock) error { return s.Reserve(t.Context(), "o-1", []inventory.Line{pieces("mug", 2)}) },
			nil, inventory.Level{Available: 8, Committed: 2}, inventory.ErrClosed,
		},
		"none": {func(*stock) error { return nil }, nil, inventory.Level{Available: 10}, inventory.ErrClosed},
		"released": {
			func(s *stock) error {
				return errors.Join(s.Reserve(t.Context(), "o-1", one), s.Release(t.Context(), "o-1"))
			},
			inventory.ErrClosed, inventory.Level{Available: 10}, inventory.ErrClosed,
		},
		"committed before": {
			func(s *stock) error {
				return errors.Join(s.Reserve(t.Context(), "o-1", one), s.Commit(t.Context(), "o-1"))
			},
			nil, inventory.Level{Available: 9, Committed: 1}, inventory.ErrClosed,
		},
		"the answer is lost": {
			func(s *stock) error {
				err := s.Reserve(t.Context(), "o-1", one)
				s.transport.Inject(embeddedtest.LoseAnswer("TransactWriteItems").Next(1))

				return err
			},
			nil, inventory.Level{Available: 9, Committed: 1}, inventory.ErrClosed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStock(t)
			set(t, s, "mug", 10)

			if err := test.before(s); err != nil {
				t.Fatal(err)
			}

			if err := s.CommitAndClose(t.Context(), "o-1", one...); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			level(t, s, "mug", test.level)

			if err := s.Reserve(t.Context(), "o-1", one); !errors.Is(err, test.then) {
				t.Errorf("a late reservation: %v", err)
			}
		})
	}
}

// TestExpectedLinesOfAnExpiredReservationAreNotCommitted, before a sweep has come to it.
func TestExpectedLinesOfAnExpiredReservationAreNotCommitted(t *testing.T) {
	s := newStock(t)
	set(t, s, "mug", 10)
	one := []inventory.Line{pieces("mug", 1)}

	if err := s.ReserveUntil(t.Context(), "o-1", one, s.clock.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Hour)

	if err := s.CommitAndClose(t.Context(), "o-1", one...); !errors.Is(err, inventory.ErrExpired) {
		t.Error(err)
	}
	level(t, s, "mug", inventory.Level{Available: 9, Reserved: 1})
}
