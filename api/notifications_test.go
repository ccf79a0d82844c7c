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

// notifications returns the endpoints of the server, and deliveries that no worker makes.
func (s *apiServer) notifications() (*notify.Endpoints, *notify.Deliveries) {
	s.t.Helper()
	embeddedtest.Create(s.t, s.db, notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))

	opener := destination.Opener{Reach: webhooks.ReachLoopback, Log: embeddedtest.Quiet()}

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: s.db, Table: "endpoints", CheckDestination: opener.Check})
	if err != nil {
		s.t.Fatal(err)
	}

	deliveries, err := notify.New(notify.Config{DynamoDB: s.db, Table: "deliveries", Endpoints: endpoints, Open: opener.Open, Log: embeddedtest.Quiet()})
	if err != nil {
		s.t.Fatal(err)
	}

	return endpoints, deliveries
}

// anEndpoint creates the endpoint "shop".
func anEndpoint(s *apiServer) string {
	if _, err := s.cfg.Endpoints.Create(context.Background(), "shop", notify.Settings{Destination: "log"}, nil); err != nil {
		s.t.Fatal(err)
	}

	return ""
}

// missedDelivery records a notification that the endpoint "shop" has missed.
func missedDelivery(s *apiServer) string {
	anEndpoint(s)

	ctx := context.Background()
	if _, err := s.cfg.Endpoints.Disable(ctx, "shop", "test"); err != nil {
		s.t.Fatal(err)
	}

	err := s.cfg.Deliveries.Accept(ctx, notify.Notification{Key: "o-1/0/2/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: "SHIPPED", At: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}

	if _, err := s.cfg.Endpoints.Enable(ctx, "shop"); err != nil {
		s.t.Fatal(err)
	}

	return ""
}

func TestTheSecretOfAnEndpointIsShownOnce(t *testing.T) {
	s := newAPIServer(t, dev)
	const path = "/v1/endpoints/shop"

	created := s.want(s.ask("PUT", path, `{"destination":"https://example.com/hook","headers":{"X-Token":"very-secret-token"}}`), http.StatusCreated, "")
	if !strings.Contains(fmt.Sprint(created), "whsec_") {
		t.Errorf("the creation does not show the secret: %v", created)
	}

	for _, again := range []string{
		fmt.Sprint(s.want(s.ask("GET", path, ""), http.StatusOK, "")),
		fmt.Sprint(s.want(s.ask("GET", "/v1/endpoints", ""), http.StatusOK, "")),
		fmt.Sprint(s.want(s.ask("POST", path+"/settings", `{"destination":"https://example.com/hook2","ordered":true}`), http.StatusOK, "")),
		fmt.Sprint(s.want(s.ask("POST", path+"/disable", ""), http.StatusOK, "")),
		s.log.String(),
	} {
		if strings.Contains(again, "whsec_") || strings.Contains(again, "very-secret-token") {
			t.Errorf("a secret is shown: %s", again)
		}
	}

	// The hidden headers were for the first destination.
	if e, err := s.cfg.Endpoints.Get(t.Context(), "shop"); err != nil || len(e.Headers) != 0 || !e.Ordered {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestEndpointsThatMayNotBeAreRefused(t *testing.T) {
	s := newAPIServer(t, dev)
	anEndpoint(s)
	s.want(s.ask("PUT", "/v1/endpoints/shop", `{"destination":"log"}`), http.StatusConflict, "endpoint_exists")

	for _, destination := range []string{"file:/etc/passwd", "dir:/tmp", "https://169.254.169.254/latest", "https://10.0.0.1/", "ftp://example.com", "gopher:", "http://user@127.0.0.1/"} {
		s.want(s.ask("PUT", "/v1/endpoints/other", `{"destination":"`+destination+`"}`), http.StatusUnprocessableEntity, "invalid_request")
	}
	s.want(s.ask("PUT", "/v1/endpoints/other", `{"destination":"log","headers":{"Host":"evil"}}`), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("GET", "/v1/endpoints/other", ""), http.StatusNotFound, "not_found")
}

func TestMissedDeliveriesAreListedAndSentAgain(t *testing.T) {
	s := newAPIServer(t, dev)
	missedDelivery(s)

	for _, path := range []string{"/v1/endpoints/shop/deliveries?status=MISSED", "/v1/orders/o-1/deliveries"} {
		if got := fmt.Sprint(s.want(s.ask("GET", path, ""), http.StatusOK, "")); !strings.Contains(got, "MISSED") || !strings.Contains(got, "o-1/0/2/notify") {
			t.Errorf("%s: %s", path, got)
		}
	}
	s.want(s.ask("POST", "/v1/orders/o-1/deliveries/2/shop/resend", ""), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/orders/o-1/deliveries/2/shop/resend", ""), http.StatusConflict, "delivery_pending")
	s.want(s.ask("POST", "/v1/orders/o-1/deliveries/3/shop/resend", ""), http.StatusNotFound, "not_found")
}
