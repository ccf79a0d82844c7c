package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ratchet/transitions"
	"ratchet/workflow"
)

// clock gives every call one more minute.
func clock(start time.Time) func() time.Time {
	now := start.Add(-time.Minute)
	return func() time.Time { now = now.Add(time.Minute); return now }
}

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestAnOrderAsItWas(t *testing.T) {
	for name, journaled := range map[string]transitions.TransitionID{"all in the journal": 9, "half of it only in the ring": 2, "nothing in the journal": 0} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.reconfigure(t, func(c *transitions.Config) { c.Now = clock(noon) })
			var old, now map[string]types.AttributeValue
			step := func(id transitions.TransitionID) {
				old, now = now, s.item(t, "o-1")
				if id <= journaled {
					s.record(t, old, now)
				}
			}
			s.place(t, "o-1") // 12:00
			step(1)

			for i, r := range []transitions.Request{given("o-1", workflow.Hold, 2), given("o-1", workflow.Release, 5), given("o-1", workflow.Pay, 6)} {
				s.want(t, r, transitions.Applied) // 12:01, 12:02, 12:03
				step(transitions.TransitionID(i + 2))
			}

			rows := []struct {
				at    time.Duration
				after transitions.TransitionID
				state workflow.State
			}{
				{0, 1, workflow.Pending}, {59 * time.Second, 1, workflow.Pending}, {time.Minute, 2, workflow.OnHold},
				{90 * time.Second, 3, workflow.OnHold}, {2 * time.Minute, 5, workflow.Pending}, {time.Hour, 99, workflow.PaymentReceived},
			}
			for _, row := range rows {
				if view, err := s.StateAt(t.Context(), "o-1", noon.Add(row.at)); err != nil || view.State != row.state {
					t.Errorf("at 12:00 + %s: %+v, error %v, want %s", row.at, view, err, row.state)
				}

				if view, err := s.StateAfter(t.Context(), "o-1", row.after); err != nil || view.State != row.state || view.OrderID != "o-1" {
					t.Errorf("after transition %d: %+v, error %v, want %s", row.after, view, err, row.state)
				}
			}

			if _, err := s.StateAt(t.Context(), "o-1", noon.Add(-time.Second)); !errors.Is(err, transitions.ErrBeforeOrder) {
				t.Errorf("before it was placed: %v", err)
			}
		})
	}
}

func TestAViewIsNotGuessed(t *testing.T) {
	s := newShop(t)
	s.toAndFro(t, "o-1", 30, 3)

	if _, err := s.StateAfter(t.Context(), "o-1", 10); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Errorf("ids 4 to 22 are in neither journal nor ring: %v", err)
	}

	if view, err := s.StateAfter(t.Context(), "o-1", 2); err != nil || view.State != workflow.PaymentReceived {
		t.Errorf("what the journal proves is known: %+v, %v", view, err)
	}

	if _, err := s.StateAt(t.Context(), "nobody", noon); !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("an unknown order: %v", err)
	}

	if _, err := s.StateAt(t.Context(), "a/b", noon); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("an invalid id: %v", err)
	}
}

// TestAnOrderIsRebuiltFromItsJournal moves orders at random and compares what their
// journals say with what their items hold.
func TestAnOrderIsRebuiltFromItsJournal(t *testing.T) {
	s := newShopIn(t, transitions.JournalTransactional)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := transitions.OrderID(fmt.Sprintf("o-%d", n))
		s.place(t, id)

		last := transitions.PlaceID
		for range rapid.IntRange(0, 20).Draw(rt, "events") {
			last += transitions.TransitionID(rapid.IntRange(1, 4).Draw(rt, "gap"))
			event := rapid.SampledFrom(workflow.Order().Events()).Draw(rt, "event")
			if _, err := s.Apply(t.Context(), given(id, event, last)); err != nil {
				rt.Fatal(err)
			}
		}

		order, _, err := s.Get(t.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}

		facts, err := transitions.Rebuild(s.Rows(t.Context(), id, 0))
		if err != nil || facts.State != order.State || facts.PreviousState != order.PreviousState || facts.TransitionID != order.TransitionID || facts.DefinitionVersion != 1 {
			rt.Fatalf("rebuilt %+v, error %v, the order is %+v", facts, err, order)
		}

		if diff := cmp.Diff(order.Recent(), facts.Recent(), cmpopts.IgnoreUnexported(transitions.Transition{})); diff != "" {
			rt.Fatalf("ring (-order +journal):\n%s", diff)
		}
	})
}

func TestABrokenJournalIsNotRebuilt(t *testing.T) {
	row := func(id, previous transitions.TransitionID, from, to workflow.State) transitions.Row {
		return transitions.Row{Transition: transitions.Transition{ID: id, From: from, To: to}, PreviousID: previous}
	}
	first := row(1, 0, "", workflow.Pending)
	for name, rows := range map[string][]transitions.Row{
		"the first row is missing":    {row(2, 1, workflow.Pending, workflow.OnHold)},
		"a row in between is missing": {first, row(3, 2, workflow.OnHold, workflow.Pending)},
		"the states do not meet":      {first, row(2, 1, workflow.OnHold, workflow.Pending)},
		"the ids do not grow":         {first, row(1, 1, workflow.Pending, workflow.OnHold)},
	} {
		_, err := transitions.Rebuild(func(yield func(transitions.Row, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		})
		var chain *transitions.ChainError
		if !errors.Is(err, transitions.ErrJournalBroken) || !errors.As(err, &chain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// verify returns what Verify finds, by order.
func (s *shop) verify(t testing.TB) map[transitions.OrderID][]transitions.FindingKind {
	t.Helper()

	found := map[transitions.OrderID][]transitions.FindingKind{}
	if err := s.Verify(t.Context(), func(c transitions.Check) error {
		kinds := []transitions.FindingKind{}
		for _, f := range c.Findings {
			kinds = append(kinds, f.Kind)
			if f.Detail == "" || f.Kind == transitions.FindingBehind && f.Since.IsZero() {
				t.Errorf("a finding says nothing: %+v", f)
			}
		}
		slices.Sort(kinds)
		found[c.OrderID] = slices.Compact(kinds)

		return nil
	}); err != nil {
		t.Fatal(err)
	}

	return found
}

// TestVerifyFindsEveryDisagreement damages one order for each kind of finding.
func TestVerifyFindsEveryDisagreement(t *testing.T) {
	s := newShopIn(t, transitions.JournalTransactional)
	set := func(table string, key map[string]types.AttributeValue, update string, value types.AttributeValue) {
		t.Helper()

		in := &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &update}
		if value != nil {
			in.ExpressionAttributeValues = map[string]types.AttributeValue{":v": value}
		}

		if _, err := s.db.UpdateItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	order := func(id string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}}
	}
	row := func(id, n string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}, "transitionId": &types.AttributeValueMemberN{Value: n}}
	}

	drop := func(id, n string) {
		t.Helper()

		if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("events"), Key: row(id, n)}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	want := map[transitions.OrderID][]transitions.FindingKind{}
	for _, damage := range []struct {
		id     string
		finds  []transitions.FindingKind
		damage func(id string)
	}{
		{"sound", []transitions.FindingKind{}, func(string) {}},
		{"edited", []transitions.FindingKind{}, func(id string) {
			_, _ = s.AddNote(t.Context(), edit(transitions.OrderID(id), "e"), transitions.Note{Text: "x"})
		}},
		{"behind", []transitions.FindingKind{transitions.FindingBehind}, func(id string) { drop(id, "3") }},
		{"broken", []transitions.FindingKind{transitions.FindingBroken}, func(id string) { drop(id, "2") }},
		{"ahead", []transitions.FindingKind{transitions.FindingAhead, transitions.FindingState, transitions.FindingRing}, func(id string) {
			set("orders", order(id), "SET transitionId = :v", &types.AttributeValueMemberN{Value: "2"})
		}},
		{"state", []transitions.FindingKind{transitions.FindingState}, func(id string) { set("orders", order(id), "SET orderState = :v", text("SHIPPED")) }},
		{"previous", []transitions.FindingKind{transitions.FindingState}, func(id string) { set("orders", order(id), "REMOVE previousState", nil) }},
		{"ring", []transitions.FindingKind{transitions.FindingRing}, func(id string) {
			set("orders", order(id), "SET recent.r2 = :v", &types.AttributeValueMemberB{Value: []byte("1234567890123456")})
		}},
		{"illegal", []transitions.FindingKind{transitions.FindingIllegal, transitions.FindingState}, func(id string) {
			set("events", row(id, "3"), "SET toState = :v", text("DELIVERED"))
		}},
		{"unreadable-order", []transitions.FindingKind{transitions.FindingUnreadable}, func(id string) {
			set("orders", order(id), "SET orderState = :v", &types.AttributeValueMemberN{Value: "7"})
		}},
		{"unreadable-row", []transitions.FindingKind{transitions.FindingUnreadable}, func(id string) {
			set("events", row(id, "3"), "SET toState = :v", &types.AttributeValueMemberN{Value: "7"})
		}},
	} {
		s.place(t, transitions.OrderID(damage.id))
		s.want(t, given(transitions.OrderID(damage.id), workflow.Hold, 2), transitions.Applied)
		s.want(t, keyed(transitions.OrderID(damage.id), workflow.Cancel, "r"), transitions.Applied)
		damage.damage(damage.id)
		slices.Sort(damage.finds)
		want[transitions.OrderID(damage.id)] = damage.finds
	}
	got := s.verify(t)
	delete(want, "illegal") // the ring differs, too

	if kinds := got["illegal"]; !slices.Contains(kinds, transitions.FindingIllegal) {
		t.Errorf("illegal: %v", kinds)
	}
	delete(got, "illegal")

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestVerifyTellsLagFromLoss(t *testing.T) {
	s := newShop(t)
	s.toAndFro(t, "lag", 10, 4)
	s.toAndFro(t, "loss", 30, 4)

	want := map[transitions.OrderID][]transitions.FindingKind{"lag": {transitions.FindingBehind}, "loss": {transitions.FindingGap}}
	if diff := cmp.Diff(want, s.verify(t)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}

	enough := errors.New("enough")
	if err := s.Verify(t.Context(), func(transitions.Check) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of the caller ends it: %v", err)
	}
}

// TestVerifyOverManyPages looks at more orders than one page holds, while they move.
func TestVerifyOverManyPages(t *testing.T) {
	s := newShopIn(t, transitions.JournalTransactional)
	for i := range 250 {
		s.place(t, transitions.OrderID(fmt.Sprintf("o-%d", i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	moved := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := transitions.OrderID(fmt.Sprintf("o-%d", i%250))
			event := workflow.Hold
			if (i/250)%2 == 1 {
				event = workflow.Release
			}

			if _, err := s.Apply(ctx, given(id, event, transitions.TransitionID(2+i/250))); err != nil && ctx.Err() == nil {
				moved <- err
				return
			}
		}
		moved <- nil
	}()
	seen := 0
	err := s.Verify(t.Context(), func(c transitions.Check) error {
		if seen++; len(c.Findings) > 0 {
			t.Errorf("order %s moves, and is sound: %+v", c.OrderID, c.Findings)
		}
		return nil
	})
	stop()

	if moving := <-moved; err != nil || moving != nil || seen != 250 {
		t.Errorf("%d orders, errors %v, %v", seen, err, moving)
	}
}

func TestVerifyNeedsAJournal(t *testing.T) {
	s := newShop(t)
	s.reconfigure(t, func(c *transitions.Config) { c.JournalTable = "" })

	if err := s.Verify(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "journal table") {
		t.Errorf("got %v", err)
	}
}
