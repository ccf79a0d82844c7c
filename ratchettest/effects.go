package ratchettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/once"
	"ratchet/streams/reactions"
	"ratchet/transitions"
)

// WantEffects waits until the order has exactly these effects, each completed once. An
// effect is named by its transition and its handler, as "2/shipping" or "4/notify"; its
// key is that with the order's id in front.
//
// An effect is completed when its claim is, or when every endpoint has the notification, and
// it is there once when the carrier has one booking and the customer one notification under
// its key. WantEffects fails at once if there is an effect besides those.
func (e *Env) WantEffects(id transitions.OrderID, effects ...string) {
	e.t.Helper()

	want := slices.Sorted(slices.Values(effects))

	e.Wait(fmt.Sprintf("the effects of order %s to be %s", id, list(want)), func() (bool, string, error) {
		seen := map[string]bool{} // whether the effect is completed

		err := e.readClaims(func(key string, status once.Status) {
			if effect, ok := strings.CutPrefix(key, string(id)+"/"); ok {
				seen[effect] = status == once.StatusCompleted
			}
		})
		if err != nil {
			return false, "", err
		}

		deliveries, err := e.Backend.Deliveries.OfOrder(context.WithoutCancel(e.t.Context()), string(id))
		if err != nil {
			return false, "", err
		}

		for _, d := range deliveries {
			effect := strings.TrimPrefix(d.Key, string(id)+"/")
			before, known := seen[effect]
			seen[effect] = d.Status == notify.Delivered && (before || !known)
		}

		if err := e.readFarSide(id, seen); err != nil {
			return false, "", err
		}

		completed, status := describeEffects(seen)
		for effect := range seen {
			if !slices.Contains(want, effect) {
				return false, "", fmt.Errorf("effect %s is one too many; there are %s", effect, status)
			}
		}

		return slices.Equal(completed, want), status, nil
	})
}

// readFarSide adds the effects that the carrier and the customer have seen, and returns
// an error if one was there twice.
func (e *Env) readFarSide(id transitions.OrderID, seen map[string]bool) error {
	sent := map[string]int{}

	for _, n := range e.Notifications() {
		if n.OrderID == id {
			sent[n.Key]++
		}
	}

	err := e.readBookings(func(key, order string) {
		if order == string(id) {
			sent[key]++
		}
	})
	if err != nil {
		return err
	}

	for key, n := range sent {
		if n > 1 {
			return fmt.Errorf("effect %s happened %d times", key, n)
		}

		// What was done without a claim or a delivery is not completed.
		effect := strings.TrimPrefix(key, string(id)+"/")
		if _, claimed := seen[effect]; !claimed {
			seen[effect] = false
		}
	}

	return nil
}

// describeEffects returns the completed effects, sorted, and a text about all.
func describeEffects(seen map[string]bool) (completed []string, text string) {
	var all []string

	for effect, done := range seen {
		if done {
			completed = append(completed, effect)
			all = append(all, effect)
		} else {
			all = append(all, effect+" (in progress)")
		}
	}
	slices.Sort(completed)
	slices.Sort(all)

	return completed, list(all)
}

// Notifications returns what customers were sent, in the order of sending. It needs the
// notifications to go to Env's own file: Config.Server.Notify is empty.
func (e *Env) Notifications() []notify.Notification {
	e.t.Helper()

	if e.core.notifications == "" {
		return nil
	}

	text, err := os.ReadFile(e.core.notifications)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Fatal(err)
	}

	// A line without its end is being written.
	text = text[:bytes.LastIndexByte(text, '\n')+1]

	all, err := destination.ReadLines(text)
	if err != nil {
		e.t.Fatal(err)
	}

	return all
}

// checkNothingTwice checks, after everything has stopped, what WantEffects checks for one
// order: an effect that came after the last look of the test counts, too.
func (e *Env) checkNothingTwice() {
	e.t.Helper()

	sent := map[string]int{}
	for _, n := range e.Notifications() {
		sent["notification "+n.Key]++
	}

	err := e.readBookings(func(key, order string) {
		if order != "" && strings.HasSuffix(key, "/"+reactions.ShippingHandler) {
			sent["the booking of order "+order]++
		}
	})
	if err != nil {
		e.t.Error(err)
	}

	for what, n := range sent {
		if n > 1 {
			e.t.Errorf("%s happened %d times", what, n)
		}
	}
}

// readClaims calls fn with every key that was claimed.
func (e *Env) readClaims(fn func(key string, status once.Status)) error {
	return e.scan(e.Backend.Tables.Once, func(item map[string]types.AttributeValue) {
		fn(dynamo.Text(item, "idempotencyKey"), once.Status(dynamo.Text(item, "status")))
	})
}

// readBookings calls fn with the effect key and the order of every booking at the sandbox
// carrier. A shipment that was canceled before it was booked has no order.
func (e *Env) readBookings(fn func(key, order string)) error {
	return e.scan(e.Backend.Tables.SandboxShipments, func(item map[string]types.AttributeValue) {
		if key, ok := strings.CutPrefix(dynamo.Text(item, "pk"), "shipment#"); ok {
			fn(key, dynamo.Text(item, "orderId"))
		}
	})
}

func (e *Env) scan(table string, fn func(map[string]types.AttributeValue)) error {
	// The last check runs after the test's own context has ended.
	ctx := context.WithoutCancel(e.t.Context())

	pages := dynamodb.NewScanPaginator(e.Backend.DynamoDB, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("scan %s: %w", table, err)
		}

		for _, item := range page.Items {
			fn(item)
		}
	}

	return nil
}
