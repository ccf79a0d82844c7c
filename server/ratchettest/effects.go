package ratchettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/once"
	"ratchet/streams/reactions"
	"ratchet/transitions"
)

// WantEffects waits until the order has exactly these effects, each completed once. An
// effect is named by its transition and its handler, as "2/shipping" or "4/notify"; its
// key is this name with the order's id and incarnation in front.
//
// An effect is completed when its claim is completed, or when every endpoint has got the notification.
// WantEffects fails at once if there is another effect, or if the carrier has two bookings or the
// customer two notifications under a key.
func (e *Env) WantEffects(id transitions.OrderID, effects ...string) {
	e.t.Helper()

	want := slices.Sorted(slices.Values(effects))

	e.Wait(fmt.Sprintf("the effects of order %s to be %s", id, list(want)), func() (bool, string, error) {
		seen := map[string]bool{} // whether the effect is completed

		err := e.readClaims(func(key string, status once.Status) {
			if strings.HasPrefix(key, ids.Encode(string(id))+"/") {
				seen[effectOf(key)] = status == once.StatusCompleted
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
			effect := effectOf(d.Key)
			// One notification has a delivery for each endpoint, and is completed when all are.
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

// effectOf returns the name of an effect, which is its key without the order's id and incarnation.
func effectOf(key string) string {
	parts := strings.SplitN(key, "/", 3)
	return parts[len(parts)-1]
}

// readFarSide adds the effects that the carrier and the customer have seen, and returns
// an error if one was there twice.
func (e *Env) readFarSide(id transitions.OrderID, seen map[string]bool) error {
	sent, err := e.notified()
	if err != nil {
		return err
	}

	// The test may have other orders.
	maps.DeleteFunc(sent, func(key string, _ int) bool { return !strings.HasPrefix(key, ids.Encode(string(id))+"/") })

	err = e.readBookings(func(key, order string) {
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

		// An effect without a claim or a delivery is not completed.
		effect := effectOf(key)
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

// Notifications returns the notifications that were sent to customers, in the order of sending. It
// returns none if Config.Server.Notify was set: it reads Env's own file.
func (e *Env) Notifications() []notify.Notification {
	e.t.Helper()

	if e.core.notifications == "" {
		return nil
	}

	text, err := os.ReadFile(e.core.notifications)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Fatal(err)
	}

	// The last line may be half written, and is left out until its end is there.
	text = text[:bytes.LastIndexByte(text, '\n')+1]

	all, err := destination.ReadLines(text)
	if err != nil {
		e.t.Fatal(err)
	}

	return all
}

// checkNothingTwice checks after the end of all components that no effect of any life of an order was made
// twice.
// That also finds an effect that came after the test's last check.
func (e *Env) checkNothingTwice() {
	e.t.Helper()

	notified, err := e.notified()
	if err != nil {
		e.t.Error(err)
	}

	booked := map[string]int{}

	err = e.readBookings(func(key, order string) {
		// A shipment without an order was canceled before it was booked.
		if order != "" && strings.HasSuffix(key, "/"+reactions.ShippingHandler) {
			// The key begins with orderId/incarnation, and each life of an order has a booking of its own.
			life, _, _ := strings.Cut(strings.TrimPrefix(key, ids.Encode(order)+"/"), "/")
			booked[order+"/"+life]++
		}
	})
	if err != nil {
		e.t.Error(err)
	}

	for key, n := range notified {
		if n > 1 {
			e.t.Errorf("notification %s happened %d times", key, n)
		}
	}

	for life, n := range booked {
		if n > 1 {
			e.t.Errorf("the booking of order %s happened %d times", life, n)
		}
	}
}

// notified returns how often the notification with each key was sent. With Config.Repeats, a repeat with
// the same content is not counted. A repeat with other content is an error.
func (e *Env) notified() (map[string]int, error) {
	first, times := map[string]notify.Notification{}, map[string]int{}

	for _, n := range e.Notifications() {
		earlier, repeated := first[n.Key]
		switch {
		case !repeated:
			first[n.Key] = n
		case !reflect.DeepEqual(n, earlier):
			return nil, fmt.Errorf("notification %s was repeated with other content: %+v after %+v", n.Key, n, earlier)
		case e.core.repeats:
			continue
		}
		times[n.Key]++
	}

	return times, nil
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
	// The check at the end runs after the test's context has ended.
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
