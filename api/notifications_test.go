package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
)

// notifications returns the endpoints of the world, and deliveries that no worker makes.
func (w *world) notifications() (*notify.Endpoints, *notify.Deliveries) {
	w.t.Helper()
	embeddedtest.Create(w.t, w.db, notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))

	opener := destination.Opener{Reach: webhooks.ReachLoopback, Log: embeddedtest.Quiet()}

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: w.db, Table: "endpoints", CheckDestination: opener.Check})
	if err != nil {
		w.t.Fatal(err)
	}

	deliveries, err := notify.New(notify.Config{DynamoDB: w.db, Table: "deliveries", Endpoints: endpoints, Open: opener.Open, Log: embeddedtest.Quiet()})
	if err != nil {
		w.t.Fatal(err)
	}

	return endpoints, deliveries
}

// anEndpoint creates the endpoint "shop".
func anEndpoint(w *world) string {
	if _, err := w.cfg.Endpoints.Create(context.Background(), "shop", notify.Settings{Destination: "log"}, nil); err != nil {
		w.t.Fatal(err)
	}

	return ""
}

// missedDelivery records a notification that the endpoint "shop" has missed.
func missedDelivery(w *world) string {
	anEndpoint(w)

	ctx := context.Background()
	if _, err := w.cfg.Endpoints.Disable(ctx, "shop", "test"); err != nil {
		w.t.Fatal(err)
	}

	err := w.cfg.Deliveries.Accept(ctx, notify.Notification{Key: "o-1/2/notify", OrderID: "o-1", TransitionID: 2, State: "SHIPPED", At: time.Now()})
	if err != nil {
		w.t.Fatal(err)
	}

	if _, err := w.cfg.Endpoints.Enable(ctx, "shop"); err != nil {
		w.t.Fatal(err)
	}

	return ""
}

func TestTheSecretOfAnEndpointIsShownOnce(t *testing.T) {
	w := newWorld(t, dev)
	const path = "/v1/endpoints/shop"

	created := w.want(w.ask("PUT", path, `{"destination":"https://example.com/hook","headers":{"X-Token":"very-secret-token"}}`), http.StatusCreated, "")
	if !strings.Contains(fmt.Sprint(created), "whsec_") {
		t.Errorf("the creation does not show the secret: %v", created)
	}

	for _, again := range []string{
		fmt.Sprint(w.want(w.ask("GET", path, ""), http.StatusOK, "")),
		fmt.Sprint(w.want(w.ask("GET", "/v1/endpoints", ""), http.StatusOK, "")),
		fmt.Sprint(w.want(w.ask("POST", path+"/settings", `{"destination":"https://example.com/hook2","ordered":true}`), http.StatusOK, "")),
		fmt.Sprint(w.want(w.ask("POST", path+"/disable", ""), http.StatusOK, "")),
		w.log.String(),
	} {
		if strings.Contains(again, "whsec_") || strings.Contains(again, "very-secret-token") {
			t.Errorf("a secret is shown: %s", again)
		}
	}

	if e, err := w.cfg.Endpoints.Get(t.Context(), "shop"); err != nil || e.Headers["X-Token"] != "very-secret-token" || !e.Ordered {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestEndpointsThatMayNotBeAreRefused(t *testing.T) {
	w := newWorld(t, dev)
	anEndpoint(w)
	w.want(w.ask("PUT", "/v1/endpoints/shop", `{"destination":"log"}`), http.StatusConflict, "endpoint_exists")

	for _, destination := range []string{"file:/etc/passwd", "dir:/tmp", "https://169.254.169.254/latest", "https://10.0.0.1/", "ftp://example.com", "gopher:", "http://user@127.0.0.1/"} {
		w.want(w.ask("PUT", "/v1/endpoints/other", `{"destination":"`+destination+`"}`), http.StatusUnprocessableEntity, "invalid_request")
	}
	w.want(w.ask("PUT", "/v1/endpoints/other", `{"destination":"log","headers":{"Host":"evil"}}`), http.StatusUnprocessableEntity, "invalid_request")
	w.want(w.ask("GET", "/v1/endpoints/other", ""), http.StatusNotFound, "not_found")
}

func TestMissedDeliveriesAreListedAndSentAgain(t *testing.T) {
	w := newWorld(t, dev)
	missedDelivery(w)

	for _, path := range []string{"/v1/endpoints/shop/deliveries?status=MISSED", "/v1/orders/o-1/deliveries"} {
		if got := fmt.Sprint(w.want(w.ask("GET", path, ""), http.StatusOK, "")); !strings.Contains(got, "MISSED") || !strings.Contains(got, "o-1/2/notify") {
			t.Errorf("%s: %s", path, got)
		}
	}
	w.want(w.ask("POST", "/v1/endpoints/shop/redeliver", `{"since":"2020-01-01T00:00:00Z"}`), http.StatusOK, "")
	w.want(w.ask("POST", "/v1/orders/o-1/deliveries/2/shop/redeliver", ""), http.StatusConflict, "delivery_pending")
	w.want(w.ask("POST", "/v1/orders/o-1/deliveries/3/shop/redeliver", ""), http.StatusNotFound, "not_found")
}
