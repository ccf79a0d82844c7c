package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// A scan goes through all orders, even orders that cannot be read, in every number of segments,
// page by page.
func TestAScanSeesEveryOrder(t *testing.T) {
	const orders = 30
	s := newOrders(t)
	for i := range orders {
		s.place(t, transitions.OrderID(fmt.Sprint("o-", i)))
	}
	s.want(t, given("o-3", workflow.Pay, 7), transitions.Applied)
	s.putOn(t, "o-5", "transitionId", text("x"))

	for _, segments := range []int{0, 1, 3, 64} {
		var mu sync.Mutex
		seen := map[transitions.OrderID]*transitions.Order{}
		var told []int

		sweep := transitions.Sweep{Segments: segments, Progress: func(n int) { told = append(told, n) }}
		err := s.Scan(t.Context(), sweep, dynamodb.ScanInput{Limit: aws.Int32(4)}, func(_ context.Context, o *transitions.Order, err error) error {
			mu.Lock()
			defer mu.Unlock()

			if (err != nil) != (o.ID == "o-5") || err != nil && !strings.Contains(err.Error(), "transitionId") {
				t.Errorf("%s: %v", o.ID, err)
			}
			seen[o.ID] = o

			return nil
		})
		if err != nil || len(seen) != orders || !slices.IsSorted(told) || told[len(told)-1] != orders {
			t.Fatalf("%d segments: %d orders, progress %v, %v", segments, len(seen), told, err)
		}

		if o := seen["o-3"]; o.State != workflow.PaymentReceived || o.TransitionID != 7 || o.Total.Amount != 2500 || o.CreatedAt.IsZero() {
			t.Errorf("%+v", o)
		}

		if o := seen["o-5"]; o.State != workflow.Pending || o.DefinitionVersion != 1 || o.TransitionID != 0 {
			t.Errorf("what cannot be read: %+v", o)
		}
	}
}

// A scan ends with the first error of its function or of a page. The number of segments has bounds.
//
//raced:here
func TestAScanEndsWithAnError(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	nothing := func(context.Context, *transitions.Order, error) error { return nil }

	for _, segments := range []int{-1, 65} {
		if err := s.Scan(t.Context(), transitions.Sweep{Segments: segments}, dynamodb.ScanInput{}, nothing); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("%d segments: %v", segments, err)
		}
	}

	stop := errors.New("stop")
	if err := s.Scan(t.Context(), transitions.Sweep{}, dynamodb.ScanInput{}, func(context.Context, *transitions.Order, error) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "Scan"))

	if err := s.Scan(t.Context(), transitions.Sweep{}, dynamodb.ScanInput{}, nothing); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Error(err)
	}
}
