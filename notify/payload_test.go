package notify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ratchet/notify"
	"ratchet/workflow"
)

func schema(t testing.TB, format notify.Format, version int) *jsonschema.Schema {
	t.Helper()

	text, err := notify.Schema(format, version)
	if err != nil {
		t.Fatal(err)
	}

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}

	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()

	name := fmt.Sprintf("urn:ratchet:schema:%s.v%d", format, version)
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatal(err)
	}

	compiled, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}

	return compiled
}

func formats() map[string]notify.Settings {
	all := map[string]notify.Settings{}
	for _, format := range []notify.Format{notify.Standard, notify.CloudEvents} {
		for version := range notify.LatestVersion {
			all[fmt.Sprintf("%s-%d", format, version+1)] = notify.Settings{Format: format, Version: version + 1}
		}
	}

	return all
}

// TestMessagesFollowTheirSchemas sends notifications in every format and version. A schema
// refuses what another one describes, so none of them accepts everything.
func TestMessagesFollowTheirSchemas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for id, s := range formats() {
			w.endpoint(id, func(to *notify.Settings) { to.Format, to.Version = s.Format, s.Version })
		}
		d := w.worker()
		defer w.run(d)()

		placed := notice("o-1", 1, "PENDING")
		placed.From, placed.Attributes = "", nil
		w.accept(d, placed, notice("o-1", 2, "PAYMENT_RECEIVED"))

		for id := range formats() {
			for _, m := range w.at(id).messages {
				for other, o := range formats() {
					value, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Body))
					if err != nil {
						t.Fatal(err)
					}

					if err := schema(t, o.Format, o.Version).Validate(value); (err == nil) != (id == other) {
						t.Errorf("a message of %s under the schema of %s: %v\n%s", id, other, err, m.Body)
					}
				}
			}
		}

		if _, err := notify.Schema("xml", 1); err == nil {
			t.Error("there is a schema of an unknown format")
		}
	})
}

// TestVersionOneDoesNotChange: receivers depend on it.
func TestVersionOneDoesNotChange(t *testing.T) {
	n := notify.Notification{Key: "o-1/3/notify", OrderID: "o-1", TransitionID: 3, State: "SHIPPED", At: time.Unix(1700000000, 0).UTC(), Event: "ship", From: "PAID"}

	text, err := json.Marshal(n)
	if want := `{"key":"o-1/3/notify","orderId":"o-1","transitionId":3,"state":"SHIPPED","at":"2023-11-14T22:13:20Z"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}

	if id := n.ID(); id != (notify.Notification{Key: n.Key}).ID() || !strings.HasPrefix(id, "ntf_") {
		t.Errorf("id %s", id)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`{"states":["SHIPPED"],"tenant":"*"}`, "acme:o-1", "SHIPPED", "ship", "EUR")
	f.Add(`{"attributes":{"currency":"EUR"}}`, "o-1", "PAID", "pay", "")

	f.Fuzz(func(t *testing.T, text, order, state, event, currency string) {
		var filter notify.Filter
		if json.Unmarshal([]byte(text), &filter) != nil {
			return
		}

		n := notice(order, 2, workflow.State(state))
		n.Event, n.Attributes = workflow.Event(event), map[string]string{"currency": currency}

		// A filter only selects: without one of its parts it selects no less.
		matches := filter.Matches(n)
		wider := filter
		wider.States, wider.Attributes = nil, nil

		if matches && !wider.Matches(n) {
			t.Errorf("%s selects %+v, and less without a part", text, n)
		}
	})
}
