package transitions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// writers are the calls that write an order, each with what comes before it.
var writers = map[string]struct {
	prepare func(t *testing.T, s *orders)
	call    func(ctx context.Context, t *testing.T, s *orders) error
}{
	"apply": {placed, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.Apply(ctx, given("o-1", workflow.Pay, 2))
		return err
	}},
	"apply under a request id": {placed, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.Apply(ctx, keyed("o-1", workflow.Pay, "r"))
		return err
	}},
	"create": {func(*testing.T, *orders) {}, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}})
		return err
	}},
	"ship a parcel": {paid, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.ShipParcel(ctx, parcel("p-1", pieces("mug", 1)))
		return err
	}},
	"add items": {placed, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.AddItems(ctx, edit("o-1", "e"), cup)
		return err
	}},
	"remove an item": {placed, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.RemoveItem(ctx, edit("o-1", "e"), "mug")
		return err
	}},
	"restore": {func(t *testing.T, s *orders) { s.putItem(t, s.history(t, "o-1")) }, func(ctx context.Context, _ *testing.T, s *orders) error {
		_, err := s.Restore(ctx, "o-1", true)
		return err
	}},
	"migrate": {ofVersion1, func(ctx context.Context, t *testing.T, s *orders) error {
		_, _, err := s.Migrate(ctx, ways(t, 1, 2), &transitions.Order{ID: "o-1", State: "PENDING", TransitionID: 1, DefinitionVersion: 1}, transitions.Cause{})
		return err
	}},
}

// definite are the answers that may follow an attempt without an answer. None of them shows what became of
// that attempt.
var definite = []string{"AccessDeniedException", "ExpiredTokenException", "ValidationException", "ThrottlingException", "TransactionConflictException", "the context ends"}

// The first attempt of the write is made, or is lost on its way, and has no answer. Every later call gets a
// definite answer, the reads of the evidence included.
func TestAnUnansweredWriteStaysUnknown(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and every write with every error")
	}

	for name, w := range writers {
		for _, code := range definite {
			for _, made := range []bool{true, false} {
				if !made && code != definite[0] {
					continue // what follows does not depend on whether the first attempt was made
				}

				inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
					s := newOrders(t)
					if name == "restore" && s.mode == transitions.JournalByStream {
						return // no stream writes the rows here
					}
					w.prepare(t, s)

					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()

					lost, later := false, 0
					s.Wire.Before(func(c *embeddedtest.Call) error {
						switch {
						case lost && code == "the context ends":
							cancel()
							later++

							return context.Canceled
						case lost:
							later++
							return &embeddedtest.Error{Code: code}
						case !made && c.Is(embeddedtest.Writes()...):
							lost = true
							return errors.New("connection reset")
						}

						return nil
					})
					s.Wire.After(func(c *embeddedtest.Call) error {
						if lost || !c.Is(embeddedtest.Writes()...) {
							return nil
						}
						lost = true

						return errors.New("connection reset")
					})

					err := w.call(ctx, t, s)
					if !errors.Is(err, transitions.ErrOutcomeUnknown) || errors.Is(err, transitions.ErrContended) || !transitions.Retryable(err) || later == 0 {
						t.Errorf("%s, made %v, then %s %d times: %v", name, made, code, later, err)
					}
				})
			}
		}
	}
}

// An order that is gone after an unanswered write may have been moved by it.
func TestAnOrderThatIsGoneProvesNothing(t *testing.T) {
	for _, again := range []bool{false, true} {
		inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
			for _, r := range []transitions.Request{given("o-1", workflow.Pay, 2), keyed("o-1", workflow.Pay, "r")} {
				s := newOrders(t)
				s.place(t, "o-1")
				s.lose(1)

				n := 0
				s.Wire.Before(func(c *embeddedtest.Call) error {
					if c.Is(moves...) {
						if n++; n == 2 {
							s.remove(t, "o-1")

							if again {
								s.put(t, "orderState", &types.AttributeValueMemberS{Value: string(workflow.Shipped)})
								s.put(t, "createdAt", &types.AttributeValueMemberN{Value: "9999999999999"})
								s.put(t, "incarnation", &types.AttributeValueMemberS{Value: "another"})
							}
						}
					}

					return nil
				})

				if result, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrOutcomeUnknown) {
					t.Errorf("placed again %v: %s, %v", again, result.Verdict, err)
				}
			}
		})
	}
}

// A machine whose clock is hours ahead takes no order that was placed during the call for the one before.
func TestAClockAheadTakesNoNewOrderForTheOneThatIsGone(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	var service embeddedtest.Clock
	s.onAClock(&service, 5*time.Hour)
	s.lose(1)

	n := 0
	s.Wire.Before(func(c *embeddedtest.Call) error {
		if !c.Is("UpdateItem") {
			return nil
		}

		switch n++; n {
		case 1: // whose answer is lost, with its time
			service.Advance(time.Minute)
		case 2:
			s.remove(t, "o-1")
			s.put(t, "orderState", text(string(workflow.Shipped)))
			s.put(t, "createdAt", num(int(service.Now().UnixMilli())))
		}

		return nil
	})

	if result, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, transitions.ErrOutcomeUnknown) || n < 2 {
		t.Errorf("%s, %v", result.Verdict, err)
	}
}

// The evidence cannot be read, or is of a version or a form that this process does not know.
func TestEvidenceThatCannotBeJudgedLeavesTheOutcomeUnknown(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, s *orders){
		"another version": func(t *testing.T, s *orders) {
			s.put(t, "transitionId", num(1))
			s.put(t, "definitionVersion", num(99))
			s.put(t, "recent", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}})
		},
		"unreadable": func(t *testing.T, s *orders) { s.put(t, "transitionId", text("x")) },
	} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.lose(1)

		n := 0
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem") {
				if n++; n == 2 {
					spoil(t, s)
				}
			}

			return nil
		})

		if r, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, transitions.ErrOutcomeUnknown) || errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("%s: %s, %v", name, r.Verdict, err)
		}
	}
}

// What DynamoDB has refused in every attempt was not made, and says so.
func TestAWriteThatWasAlwaysAnsweredIsNotUnknown(t *testing.T) {
	for code, want := range map[string]error{"ThrottlingException": transitions.ErrUnavailable, "TransactionConflictException": transitions.ErrContended} {
		inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
			s := newOrders(t)
			s.place(t, "o-1")

			fault := embeddedtest.Answer(code, moves...)
			if code == "TransactionConflictException" && s.mode == transitions.JournalTransactional {
				fault = embeddedtest.Fault{On: moves, Err: embeddedtest.Canceled("TransactionConflict", "None")}
			}
			s.Wire.Inject(fault)

			if _, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, want) || errors.Is(err, transitions.ErrOutcomeUnknown) || !transitions.Retryable(err) {
				t.Errorf("%s: %v, want %v", code, err, want)
			}
		})
	}
}

// The largest transitionId is 2^53-1. The id after it is not assigned.
func TestNoIDAboveTheLargestIsAssigned(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 1<<53-1), transitions.Applied)

		var limit *transitions.LimitError
		if r, err := s.Apply(t.Context(), keyed("o-1", workflow.Ship, "r")); !errors.As(err, &limit) || limit.What != "transitionId" || transitions.Retryable(err) {
			t.Errorf("%s, %v", r.Verdict, err)
		}
		s.want(t, given("o-1", workflow.Pay, 1<<53-1), transitions.Replayed)
	})
}

// The order is deleted after its write was refused for the map that it lacks.
func TestAnOrderThatIsDeletedBeforeItsMapIsMadeIsNotFound(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.foreign(t, "o-1", workflow.PaymentReceived)
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if makesMap(c) {
				s.remove(t, "o-1")
			}

			return nil
		})
		s.want(t, keyed("o-1", workflow.ShipPart, "r"), transitions.NotFound)
	})
}

// Lines are added to an order that another program has created, which has no map of edits.
func TestLinesAreAddedToAnAdoptedOrderInATransaction(t *testing.T) {
	s := newOrders(t)
	for _, id := range []transitions.OrderID{"seen", "not-seen"} {
		s.adopted(t, id)
		e := edit(id, "e")

		if id == "seen" {
			var err error
			if e.Seen, _, err = s.Get(t.Context(), e.OrderID); err != nil {
				t.Fatal(err)
			}
		}

		if err := s.addIn(t, e, cup); err != nil {
			t.Fatalf("%s: %v", id, err)
		}

		r := edited(t, transitions.Conflict)(s.AddItems(t.Context(), edit(e.OrderID, "e"), cup, cup))
		if r.Order.ContentVersion != 1 || len(r.Order.Items) != 1 {
			t.Errorf("%s: %+v", id, r.Order)
		}
		edited(t, transitions.Replayed)(s.AddItems(t.Context(), edit(e.OrderID, "e"), cup))
	}
}

// adopted puts an order without lines, as another program has created it.
func (s *orders) adopted(t *testing.T, id transitions.OrderID) {
	t.Helper()

	s.putItem(t, map[string]types.AttributeValue{
		"orderId": text(string(id)), "orderState": text(string(workflow.Pending)), "items": &types.AttributeValueMemberL{},
		"total": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"amount": num(0), "currency": text("EUR")}},
	})
}

// Another program has set a slot of the ring to a later id than the order has. The search for the request id
// ends all the same.
func TestASlotBeyondTheOrderDoesNotKeepACallSearching(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.put(t, "recent", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"s4": text("100 pay PAYMENT_RECEIVED mi8qcfy3 kJ3aB3")}})

	if r, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "r")); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Errorf("%s, %v", r.Verdict, err)
	}
	s.put(t, "reqAt", num(1)) // every forgotten request has a row
	s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied)
}

// The caller gives up while it waits for others who keep changing the order. Nothing was written.
func TestACallThatEndsWhileItWaitsIsContended(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.paid(t, "o-1")

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		id := transitions.TransitionID(2)
		s.beforeMoves(2, func() {
			if id++; id == 4 {
				cancel()
			}

			if r, err := s.Apply(t.Context(), given("o-1", workflow.ShipPart, id)); err != nil || r.Verdict != transitions.Applied {
				t.Error(r.Verdict, err)
			}
		})

		_, err := s.Apply(ctx, keyed("o-1", workflow.ShipPart, "r"))
		if !transitions.Retryable(err) {
			t.Errorf("%v", err)
		}
	})
}
