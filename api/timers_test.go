package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/transitions"
	"ratchet/workflow"
)

// timed is an order as far as it says what time does.
type timed struct {
	OrderID string
	Timers  []struct {
		Event, To, Unmet, Overdue string
		At                        time.Time
	}
}

// withPayBy lets orders expire at the time in their metadata, unless they are kept.
func (s *apiServer) withPayBy(t *testing.T) {
	t.Helper()

	terms, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	spec := terms.Spec()
	for i := range spec.Transitions {
		if tr := &spec.Transitions[i]; tr.Event == workflow.Expire {
			tr.After = &workflow.After{Attribute: "metadata.payBy"}
			tr.Guards = []workflow.Guard{{Name: "not-kept", Attribute: "metadata.kept", Op: "missing"}}
		}
	}

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.Orders = s.kit.Orders(func(c *transitions.Config) { c.Definition = d })

	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}
}

// TestReadsSayWhatTimeDoesAndWhyItDidNot for one order, in lists and in the explanation, without a further read.
func TestReadsSayWhatTimeDoesAndWhyItDidNot(t *testing.T) {
	s := newAPIServer(t, dev)
	s.withPayBy(t)

	for id, metadata := range map[string]string{
		"o-later": `"payBy":"2100-01-01T00:00:00Z"`,
		"o-late":  `"payBy":"2020-01-01T00:00:00Z"`,
		"o-kept":  `"payBy":"2020-01-01T00:00:00Z","kept":"yes"`,
		"o-never": `"payBy":"some time"`,
	} {
		s.must("PUT", "/v1/orders/"+id, strings.Replace(mugs, "{", `{"metadata":{`+metadata+`},`, 1))
	}

	check := func(where string, got timed) {
		t.Helper()

		if got.OrderID == "o-never" {
			if len(got.Timers) != 0 {
				t.Errorf("%s: %+v", where, got)
			}

			return
		}

		if len(got.Timers) != 1 || got.Timers[0].Event != "expire" || got.Timers[0].To != "EXPIRED" {
			t.Errorf("%s: %+v", where, got)
			return
		}

		timer := got.Timers[0]
		want := map[string][2]string{
			"o-later": {"", ""},
			"o-late":  {"", "no worker has made it"},
			"o-kept":  {"guard not-kept needs metadata.kept missing", "guard not-kept needs metadata.kept missing; it is tried again"},
		}[got.OrderID]

		if timer.Unmet != want[0] || !strings.HasPrefix(timer.Overdue, want[1]) || want[1] == "" && timer.Overdue != "" || timer.At.IsZero() {
			t.Errorf("%s: %+v", where, got)
		}
	}

	ids := []string{"o-kept", "o-late", "o-later", "o-never"}
	for _, id := range ids {
		var got timed
		s.want(s.ask("GET", "/v1/orders/"+id, ""), http.StatusOK, "").read(t, &got)
		check("the order", got)

		var explained struct {
			Order    timed
			Due      []struct{ Event, What string }
			Timeline []struct{ What string }
		}
		s.want(s.ask("GET", "/v1/orders/"+id+"/explanation", ""), http.StatusOK, "").read(t, &explained)
		check("the explanation", explained.Order)

		if isDue := len(explained.Due) == 1 && explained.Due[0].Event == "expire"; isDue != (id != "o-never") {
			t.Errorf("%s: due %+v", id, explained.Due)
		}
	}
	s.transport.Reset()
	s.want(s.ask("GET", "/v1/orders/o-late", ""), http.StatusOK, "")

	if !slices.Equal(s.transport.Calls(), []string{"GetItem"}) {
		t.Errorf("the read of an order makes %v", s.transport.Calls())
	}
	s.transport.Reset()

	var list struct{ Orders []timed }
	s.want(s.ask("GET", "/v1/orders?state=PENDING", ""), http.StatusOK, "").read(t, &list)

	for _, o := range list.Orders {
		check("the list", o)
	}

	if len(list.Orders) != len(ids) || !slices.Equal(s.transport.Calls(), []string{"Scan"}) {
		t.Errorf("%d orders, by %v", len(list.Orders), s.transport.Calls())
	}
}
