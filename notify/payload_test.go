package notify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// check returns which rule of the schema of a format and version the body breaks, nil for none.
func check(t *testing.T, s notify.Settings, body []byte) error {
	t.Helper()

	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	return schema(t, s.Format, s.Version).Validate(value)
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

// everyFormat creates an endpoint of each format and version, under its name in formats.
func (h *deliveryHarness) everyFormat() {
	h.t.Helper()

	for id, s := range formats() {
		h.endpoint(id, func(to *notify.Settings) { to.Format, to.Version = s.Format, s.Version })
	}
}

// TestMessagesFollowTheirSchemas sends notifications in every format and version. A schema
// refuses what another one describes, so none of them accepts everything.
func TestMessagesFollowTheirSchemas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.everyFormat()
		d := h.worker()
		defer h.run(d)()

		placed := notice("o-1", 1, "PENDING")
		placed.From, placed.Attributes = "", nil
		h.accept(d, placed, notice("o-1", 2, "PAYMENT_RECEIVED"))

		for id := range formats() {
			for _, m := range h.at(id).messages {
				for other, o := range formats() {
					if err := check(t, o, m.Body); (err == nil) != (id == other) {
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
	n := notify.Notification{Key: "o-1/0/3/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 3, State: "SHIPPED", At: time.Unix(1700000000, 0).UTC(), Event: "ship", From: "PAID"}

	text, err := json.Marshal(n)
	if want := `{"key":"o-1/0/3/notify","orderId":"o-1","transitionId":3,"state":"SHIPPED","at":"2023-11-14T22:13:20Z"}`; err != nil || string(text) != want {
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

		tenant, _, prefixed := strings.Cut(order, ":")
		if !prefixed {
			tenant = ""
		}

		want := (filter.Tenant == "*" || filter.Tenant == tenant) &&
			(len(filter.States) == 0 || slices.Contains(filter.States, n.State)) &&
			(len(filter.Events) == 0 || slices.Contains(filter.Events, n.Event))

		for name, value := range filter.Attributes {
			want = want && name == "currency" && value == currency
		}

		if got := filter.Matches(n); got != want {
			t.Errorf("%s selects %+v: %t", text, n, got)
		}
	})
}

// TestAnEventThatKeepsTheStateIsForThoseWhoNameIt: other endpoints wait for states.
func TestAnEventThatKeepsTheStateIsForThoseWhoNameIt(t *testing.T) {
	n := notice("o-1", 3, "ACTIVE")
	n.Event, n.Named = "renew", true

	for _, row := range []struct {
		filter notify.Filter
		want   bool
	}{
		{notify.Filter{}, false},
		{notify.Filter{States: []workflow.State{"ACTIVE"}}, false},
		{notify.Filter{Events: []workflow.Event{"cancel"}}, false},
		{notify.Filter{Events: []workflow.Event{"renew"}}, true},
		{notify.Filter{Events: []workflow.Event{"renew"}, States: []workflow.State{"ENDED"}}, false},
	} {
		if got := row.filter.Matches(n); got != row.want {
			t.Errorf("%+v: %t", row.filter, got)
		}
	}
}
