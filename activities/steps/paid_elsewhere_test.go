package steps_test

import (
	"strings"
	"testing"

	"ratchet/workflow"
)

const looking = `{"orderId":"o-1","started":"2026-01-01T00:00:00.000Z"}`

// TestAnOrderThatAnotherCallerPaidIsReserved: it was placed and paid through the API before its
// execution began, or while it waited for the release of the order. Accept reserves, and so does
// look; for pieces that are missing, the execution waits.
func TestAnOrderThatAnotherCallerPaidIsReserved(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []workflow.Event
		step   string
		input  string
	}{
		{"before it began", []workflow.Event{workflow.Pay}, "accept", accepted},
		{"before it began, and held", []workflow.Event{workflow.Pay, workflow.Hold}, "accept", accepted},
		{"before it began, and shipped in part", []workflow.Event{workflow.Pay, workflow.ShipPart}, "accept", accepted},
		{"before the payment of its execution", []workflow.Event{workflow.Pay}, "pay", paying},
		{"while it was held", []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay}, "look", looking},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newOrderSteps(t, newKit(t), 1)
			s.setStock(t, 1)
			s.place(t)
			s.move(t, c.before...)

			if _, err := s.run(t, c.step, c.input); name(err) != "Order.Unavailable" || !strings.Contains(err.Error(), "out of stock: sku-1") {
				t.Errorf("without the pieces: %v", err)
			}
			s.wantStock(t, 1, 0, 0)
			s.setStock(t, 3)

			for range 2 {
				if _, err := s.run(t, c.step, c.input); name(err) == "Order.Unavailable" {
					t.Errorf("with the pieces: %v", err)
				}
				s.wantStock(t, 1, 2, 0)
			}
		})
	}
}

// TestACanceledOrderWaitsForNoPieces: it was paid by another caller, its pieces are missing, and it is
// canceled while its execution waits for them.
func TestACanceledOrderWaitsForNoPieces(t *testing.T) {
	s := newOrderSteps(t, newKit(t), 1)
	s.setStock(t, 1)
	s.place(t)
	s.move(t, workflow.Pay)

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.Unavailable" {
		t.Errorf("without the pieces: %v", err)
	}
	s.move(t, workflow.Cancel)

	if _, err := s.run(t, "accept", accepted); name(err) != "Order.WrongState" || !strings.Contains(err.Error(), `"state":"CANCELLED"`) {
		t.Errorf("after the cancellation: %v", err)
	}

	if _, err := s.run(t, "compensate", `{"orderId":"o-1"}`); err != nil {
		t.Error(err)
	}
	s.setStock(t, 3)

	// An attempt that hung comes too late.
	if _, err := s.run(t, "accept", accepted); name(err) != "Order.WrongState" {
		t.Errorf("after the compensation: %v", err)
	}
	s.wantStock(t, 3, 0, 0)
}

// TestPiecesAreReservedForTheOrderAsItIs: another caller paid the order, and it was canceled after it
// was read and before its pieces were reserved.
func TestPiecesAreReservedForTheOrderAsItIs(t *testing.T) {
	kit := newKit(t)
	s := newOrderSteps(t, kit, 1)
	s.setStock(t, 3)
	s.place(t)
	s.move(t, workflow.Pay)
	hung := hangOnce(kit.Wire, func() { s.move(t, workflow.Cancel) })

	if _, err := s.run(t, "accept", accepted); err == nil || !*hung {
		t.Errorf("accepted: %v", err)
	}
	s.wantStock(t, 3, 0, 0)
}
