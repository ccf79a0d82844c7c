package ratchettest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"pgregory.net/rapid"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/operate/executions"
	"ratchet/queues/requests"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// keyed are the parts of which keys are made.
type keyed struct {
	id   transitions.OrderID
	life transitions.Incarnation
	at   transitions.TransitionID
}

// aKeyed draws ids of the characters that separate the parts of keys. A few lives and transitions are enough: that they
// differ must not make up for ids that differ, and the other way round.
func aKeyed(t *rapid.T, label string) keyed {
	separators := rapid.StringOfN(rapid.RuneFrom([]rune("o01./%#~:|-_ '\"é2F")), 1, 9, 256)
	long := rapid.StringOfN(rapid.RuneFrom([]rune("o/é")), 120, 128, 256)

	return keyed{
		id: transitions.OrderID(rapid.OneOf(separators, long, rapid.StringN(1, 40, 256)).Filter(func(text string) bool {
			return utf8.ValidString(text) && transitions.OrderID(text).Validate() == nil
		}).Draw(t, label)),
		life: transitions.Incarnation(rapid.SampledFrom([]string{"0000000000001", "06h1hnv0clhti"}).Draw(t, "life of "+label)),
		at:   transitions.TransitionID(rapid.IntRange(1, 11).Draw(t, "transition of "+label)),
	}
}

// keysOf are the keys and names that the parts of Ratchet give an order, its life and its transition.
func keysOf(t *rapid.T, k keyed) (ofOrder, ofLife, ofTransition map[string]string) {
	order := &transitions.Order{ID: k.id, Incarnation: k.life}

	message, err := requests.Input("https://sqs/requests.fifo", transitions.Request{OrderID: k.id, Event: workflow.Pay, RequestID: "1/2"})
	if err != nil {
		t.Fatal(err)
	}

	ofOrder = map[string]string{
		"group of messages":  aws.ToString(message.MessageGroupId),
		"id of a message":    aws.ToString(message.MessageDeduplicationId),
		"name of executions": executions.Name(k.id),
		"word of a command":  k.id.Arg(),
	}
	for name, mapping := range shop.Mappings() {
		key, err := json.Marshal(mapping.ItemKey(k.id))
		if err != nil {
			t.Fatal(err)
		}
		ofOrder["item in "+name] = string(key)

		if id, is := mapping.OrderOf(mapping.ItemKey(k.id)); !is || id != k.id {
			t.Fatalf("%s: the key of %q is that of %q", name, k.id, id)
		}
	}

	ofLife = map[string]string{"payment, reservation and parked task": order.LifeID()}
	ofTransition = map[string]string{
		"effect":   order.EffectKey(k.at, "notify"),
		"delivery": notify.Delivery{Notification: notify.Notification{OrderID: k.id, Incarnation: k.life, TransitionID: k.at, Key: order.EffectKey(k.at, "notify")}, Endpoint: "shop"}.ID(),
		"file":     fileOf(t, order, k.at),
	}

	return ofOrder, ofLife, ofTransition
}

// fileOf returns the path of the file that a notification gets, below its directory.
func fileOf(t *rapid.T, order *transitions.Order, at transitions.TransitionID) (file string) {
	dir, err := os.MkdirTemp("", "notices")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)

	files, err := destination.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := files.Send(t.Context(), notify.Message{Notification: notify.Notification{OrderID: order.ID, Key: order.EffectKey(at, "notify")}}); err != nil {
		t.Fatal(err)
	}

	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			file, err = filepath.Rel(dir, path)
		}

		return err
	}); err != nil || file == "" {
		t.Fatal(fmt.Errorf("no file below the directory: %w", err))
	}

	return file
}

// Two orders share no key, whichever ids they have: in the table, of their effects, deliveries, messages and executions,
// and as a file. Nor do two lives, or two transitions.
func TestNoTwoIDsShareAKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := aKeyed(t, "a"), aKeyed(t, "b")
		ordersA, livesA, transitionsA := keysOf(t, a)
		ordersB, livesB, transitionsB := keysOf(t, b)

		for _, of := range []struct {
			a, b map[string]string
			same bool
		}{
			{ordersA, ordersB, a.id == b.id},
			{livesA, livesB, a.id == b.id && a.life == b.life},
			{transitionsA, transitionsB, a == b},
		} {
			for what, key := range of.a {
				if (key == of.b[what]) != of.same {
					t.Fatalf("%s: %+v has %q, %+v has %q", what, a, key, b, of.b[what])
				}
			}
		}
	})
}
