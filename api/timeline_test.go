package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/operate/inspect"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
)

// seen has the same surroundings for every order, for two tenants.
type seen struct{ err error }

func (s seen) Of(_ context.Context, order string) (refusals.Entries, error) {
	return refusals.Entries{List: []refusals.Entry{{Event: "add_items", Code: "out-of-stock", Text: "out of stock: mug, wanted 2, 1 left", Count: 1, Last: time.Now()}}}, s.err
}

func (s seen) OfOrder(_ context.Context, order string) ([]notify.Delivery, error) {
	d := notify.Delivery{Notification: notify.Notification{OrderID: transitions.OrderID(order), State: "PENDING"}, Status: notify.Delivered, CreatedAt: time.Now()}
	own, other := d, d
	own.Endpoint, other.Endpoint = "acme:shop", "evil:spy"

	return []notify.Delivery{own, other}, s.err
}

func (s seen) OfItem(context.Context, string, map[string]types.AttributeValue, string, int) ([]deadletters.Letter, string, error) {
	return nil, "", errors.New("table ratchet-dead-letters: denied")
}

func TestAnExplanationHasATimeLine(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		c.Around = inspect.Around{Refusals: seen{}, Deliveries: seen{}, DeadLetters: seen{}, Handlers: []string{"notify"}}
		c.Around.Executions = func(_ context.Context, id transitions.OrderID) ([]inspect.Moment, error) {
			return []inspect.Moment{{At: time.Now(), Kind: inspect.AboutExecution, What: "execution ended: FAILED", Next: "`ratchet executions repair " + string(id) + "`"}}, nil
		}
	})
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", s.key("acme", auth.Act)), http.StatusCreated, "")

	a := s.want(s.ask("GET", "/v1/orders/o-1/explanation", "", "Authorization", s.key("acme", auth.Read)), http.StatusOK, "")
	for _, want := range []string{"1 place to PENDING", `"what":"add_items was refused: out-of-stock","why":"out of stock: mug, wanted 2, 1 left"`, `"code":"out-of-stock","count":1`, "`ratchet executions repair o-1`"} {
		if !strings.Contains(a.text, want) {
			t.Errorf("%q is missing in %s", want, a.text)
		}
	}

	if strings.Contains(a.text, "notification") || strings.Contains(a.text, "incomplete") {
		t.Errorf("a reader sees what is for administrators: %s", a.text)
	}

	a = s.want(s.ask("GET", "/v1/orders/o-1/explanation", "", "Authorization", s.key("acme", auth.Admin)), http.StatusOK, "")
	if !strings.Contains(a.text, "notification of PENDING to shop: DELIVERED") || a.field("incomplete") != `["dead letters of notify"]` {
		t.Errorf("an administrator sees %s", a.text)
	}

	for _, secret := range []string{"spy", "ratchet-dead-letters", "acme:"} {
		if strings.Contains(a.text, secret) {
			t.Errorf("%q is in %s", secret, a.text)
		}
	}
}

// failing are a delivery and a dead letter whose errors say something of a person.
type failing struct{ seen }

func (failing) OfOrder(_ context.Context, order string) ([]notify.Delivery, error) {
	n := notify.Notification{OrderID: transitions.OrderID(order), State: "PENDING"}
	tries := []notify.Try{{Number: 1, At: time.Now(), Answer: 500, Head: "no Ada here"}, {Number: 2, At: time.Now()}}

	return []notify.Delivery{{Notification: n, Endpoint: "acme:shop", Status: notify.Missed, CreatedAt: time.Now(), Error: "Ada is unknown", Tries: tries}}, nil
}

func (failing) OfItem(context.Context, string, map[string]types.AttributeValue, string, int) ([]deadletters.Letter, string, error) {
	return []deadletters.Letter{{ID: "l-1", FailedAt: time.Now(), Error: "Ada has no address"}}, "", nil
}

// TestATimeLineMasksTheTextsOfErrors: what has happened is said with them.
func TestATimeLineMasksTheTextsOfErrors(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		c.Around = inspect.Around{Deliveries: failing{}, DeadLetters: failing{}, Handlers: []string{"notify"}}
	})
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", s.key("acme", auth.Act)), http.StatusCreated, "")

	for personal, want := range map[bool][]string{
		true:  {"handler notify gave up: Ada has no address", "Ada is unknown", "was answered with 500: no Ada here"},
		false: {"handler notify gave up: [masked]", "MISSED after 0 attempts: [masked]", "was answered with 500: [masked]"},
	} {
		by := s.keyOf(auth.NewKey{Tenant: "acme", Scope: auth.Admin, Personal: personal})
		a := s.want(s.ask("GET", "/v1/orders/o-1/explanation", "", "Authorization", by), http.StatusOK, "")

		for _, text := range want {
			if !strings.Contains(a.text, text) {
				t.Errorf("with the grant %v, %q is missing in %s", personal, text, a.text)
			}
		}

		if !personal && strings.Contains(a.text, "Ada") {
			t.Errorf("without the grant, the person is in %s", a.text)
		}
	}
}

// TestRefusalsOfAnOrder are data; their texts are for callers with the grant.
func TestRefusalsOfAnOrder(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { c.Around = inspect.Around{Refusals: seen{}} })
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", s.key("acme", auth.Act)), http.StatusCreated, "")

	a := s.want(s.ask("GET", "/v1/orders/o-1/refusals", "", "Authorization", s.keyOf(auth.NewKey{Tenant: "acme", Scope: auth.Read})), http.StatusOK, "")
	if !strings.Contains(a.text, `{"event":"add_items","code":"out-of-stock","text":"[masked]","count":1,`) {
		t.Error(a.text)
	}

	s.want(s.ask("GET", "/v1/orders/o-1/refusals", "", "Authorization", s.key("evil", auth.Read)), http.StatusNotFound, "order_not_found")
}
