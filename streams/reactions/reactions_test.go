package reactions_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/streams/reactions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestReactionsRefuseAnUnknownVersion: a worker leaves the effects of a newer definition to
// newer workers. It writes the journal all the same.
func TestReactionsRefuseAnUnknownVersion(t *testing.T) {
	s := newOrderSystem(t)

	newer, newHandlers := s.at(t, 2)
	_, oldHandlers := s.at(t, 1)
	record := s.change(t, func() { placeAndPay(t, newer) })
	for _, name := range []string{reactions.ShippingHandler, reactions.NotifyHandler} {
		if err := oldHandlers[name](t.Context(), record); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("%s: got %v", name, err)
		}

		if err := newHandlers[name](t.Context(), record); err != nil {
			t.Errorf("%s of the newer worker: %v", name, err)
		}
	}

	if err := oldHandlers[reactions.JournalHandler](t.Context(), record); err != nil {
		t.Errorf("journal: %v", err)
	}

	if n := s.sent(); len(n) != 1 {
		t.Errorf("notices %v", n)
	}

	if got, want := s.reactions(), []string{"journal", "notify", "shipping"}; !slices.Equal(got, want) {
		t.Errorf("Reacted was called for %q, want %q", got, want)
	}
}

// TestAMigrationBackLetsTheReactionsGoOn: a wrong version was deployed and taken back, so no newer worker comes for the changes
// that it made.
func TestAMigrationBackLetsTheReactionsGoOn(t *testing.T) {
	s := newOrderSystem(t)
	wrong, _ := s.at(t, 2)
	right, handlers := s.at(t, 1)
	record := s.change(t, func() { placeAndPay(t, wrong) })

	if err := handlers[reactions.NotifyHandler](t.Context(), record); !errors.Is(err, transitions.ErrUnknownVersion) {
		t.Fatalf("before the migration: %v", err)
	}

	migrate(t, wrong, right)

	for _, name := range []string{reactions.ShippingHandler, reactions.NotifyHandler} {
		if err := handlers[name](t.Context(), record); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if n := s.sent(); len(n) != 1 {
		t.Errorf("notices %v", n)
	}
}

// migrate brings the order o-1 from one version to another.
func migrate(t *testing.T, from, to *transitions.Orders) {
	t.Helper()

	m, err := workflow.NewMigrations([]*workflow.Definition{from.Definition(), to.Definition()},
		[]workflow.Migration{{From: from.Definition().Version(), To: to.Definition().Version()}})
	if err != nil {
		t.Fatal(err)
	}

	order, _, err := to.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if _, moved, err := to.Migrate(t.Context(), m, order, transitions.Cause{}); err != nil || !moved {
		t.Fatalf("moved %v, %v", moved, err)
	}
}

// TestMigrationTriggersNoReaction: a migration is journaled, but it ships nothing and
// sends no notification.
func TestMigrationTriggersNoReaction(t *testing.T) {
	s := newOrderSystem(t)
	older, _ := s.at(t, 1)
	newer, handlers := s.at(t, 2)
	placeAndPay(t, older)

	record := s.change(t, func() { migrate(t, older, newer) })
	for name, handle := range handlers {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := handle(ctx, record); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}

	if n := s.sent(); len(n) != 0 {
		t.Errorf("notices %v", n)
	}

	count, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.CarrierTable)})
	if err != nil || count.Count != 0 {
		t.Errorf("%d shipments, %v", count.Count, err)
	}

	rows, err := newer.History(t.Context(), "o-1", 2, 0)
	if err != nil || len(rows) != 1 || rows[0].Event != workflow.Migrate {
		t.Errorf("journal %+v, %v", rows, err)
	}
}

func TestNewNamesEveryMissingField(t *testing.T) {
	_, err := reactions.New(reactions.Config{FreshFor: -1})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"Orders", "Booker", "Stock", "Payments", "Parked", "Completer", "Notifier", "FreshFor"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
