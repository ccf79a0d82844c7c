package transitions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestEditsAreIllegalWithoutEditableStates uses a definition without PENDING and ON_HOLD.
func TestEditsAreIllegalWithoutEditableStates(t *testing.T) {
	d, err := workflow.New(workflow.Spec{Name: "ticket", Version: 1, Place: "open", Initial: "OPEN",
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Definition = d })
	s.place(t, "o-1")
	edited(t, transitions.Illegal)(s.AddItems(t.Context(), edit("o-1", "e"), cup))

	var refused *transitions.EditRefusedError
	if err := s.addIn(t, edit("o-1", "e"), cup); !errors.As(err, &refused) || refused.Result.Verdict != transitions.Illegal || refused.Error() != "edit refused: Illegal" {
		t.Errorf("in a transaction: %v", err)
	}

	if len(s.Editable()) != 0 {
		t.Errorf("editable in %v", s.Editable())
	}
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	s := newOrders(t)
	for field, change := range map[string]func(*transitions.Config){
		"DynamoDB: must be set":     func(c *transitions.Config) { c.DynamoDB = nil },
		"Table: must be set":        func(c *transitions.Config) { c.Table = "" },
		"Attempts -1":               func(c *transitions.Config) { c.Attempts = -1 },
		"EditMemory 3":              func(c *transitions.Config) { c.EditMemory = 3 },
		"EditMemory 65":             func(c *transitions.Config) { c.EditMemory = 65 },
		"EditAge 59.999s":           func(c *transitions.Config) { c.EditAge = time.Minute - time.Millisecond },
		"Journal: JournalMode(9)":   func(c *transitions.Config) { c.Journal = 9 },
		"Versions: 0":               func(c *transitions.Config) { c.Versions = []int{2, 0} },
		"JournalTable: must be set": func(c *transitions.Config) { c.Journal, c.JournalTable = transitions.JournalTransactional, "" },
		"": func(c *transitions.Config) {
			c.Attempts, c.EditMemory, c.EditAge, c.Versions = 1, 64, time.Minute, []int{1}
		},
	} {
		c := transitions.Config{DynamoDB: s.DB, Table: shop.OrdersTable, JournalTable: shop.JournalTable}
		change(&c)

		_, err := transitions.New(c)
		if field == "" {
			if err != nil {
				t.Errorf("the least that is allowed: %v", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Each verdict is a line of the log, at the level debug, with the request.
func TestEveryVerdictIsLogged(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		s := newOrders(t)
		var out bytes.Buffer
		s.reconfigure(func(c *transitions.Config) {
			c.Log = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
		})
		s.place(t, "o-1")
		edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup))
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.want(t, keyed("o-1", workflow.Pay, "k"), transitions.WrongState)

		type line struct {
			Order, Event, Kind, Edit, Request string
			Transition                        int
			Verdict                           string
		}

		var got, want []line
		for row := range strings.Lines(out.String()) {
			var l line
			if err := json.Unmarshal([]byte(row), &l); err != nil {
				t.Fatal(err)
			}
			got = append(got, l)
		}

		if level == slog.LevelDebug {
			want = []line{
				{Order: "o-1", Event: "place", Transition: 1, Verdict: "Applied"},
				{Order: "o-1", Kind: "add_items", Edit: transitions.RequestID("e").LogValue().String(), Verdict: "Applied"},
				{Order: "o-1", Event: "pay", Transition: 2, Verdict: "Applied"},
				{Order: "o-1", Event: "pay", Request: transitions.RequestID("k").LogValue().String(), Verdict: "WrongState"},
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

// Decided is called with each verdict on a transition, and not with verdicts on edits.
func TestEveryVerdictIsReported(t *testing.T) {
	s := newOrders(t)
	var decided []string
	s.reconfigure(func(c *transitions.Config) {
		c.Events.Decided = func(id transitions.OrderID, event workflow.Event, v transitions.Verdict) {
			decided = append(decided, fmt.Sprint(id, " ", event, " ", v))
		}
	})
	s.place(t, "o-1")
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup))
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	s.sends(t, parcel("p", pieces("mug", 1)), transitions.Applied)
	s.sends(t, parcel("p", pieces("mug", 2)), transitions.Conflict)

	want := []string{"o-1 place Applied", "o-1 pay Applied", "o-1 ship Applied", "o-1 ship Conflict"}
	if diff := cmp.Diff(want, decided); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
