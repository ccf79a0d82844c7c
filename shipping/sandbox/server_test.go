package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

// TestTheServerAnswersAsItsDocumentSays: the status, and the beginning of the body. A shipment is
// booked, asked for and canceled; others are canceled before, have left, or are unknown.
func TestTheServerAnswersAsItsDocumentSays(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	carrier := newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
		if r.Milestone == shipping.Delivered {
			stop()
		}

		return shipping.Accepted, nil
	})
	book(t, carrier, "left/2/shipping", "left")

	if err := carrier.Run(ctx); err != nil {
		t.Fatal(err)
	}
	handler := carrier.Handler("secret")

	for _, row := range []struct {
		call, body string
		status     int
		answer     string
	}{
		{"PUT /shipments/o-1~2~shipping", `{"orderId":"o-1"}`, 200, `{"status":"booked","tracking":"trk-o-1-2-shipping"}`},
		{"PUT /shipments/o-1~2~shipping", `{"orderId":"o-1"}`, 200, `{"status":"booked","tracking":"trk-o-1-2-shipping"}`},
		{"GET /shipments/o-1~2~shipping", ``, 200, `{"status":"booked","tracking":"trk-o-1-2-shipping"}`},
		{"POST /shipments/o-1~2~shipping/cancel", ``, 200, `{"status":"canceled","tracking":""}`},
		{"GET /shipments/o-1~2~shipping", ``, 200, `{"status":"canceled"`},
		{"PUT /shipments/o-1~2~shipping", `{"orderId":"o-1"}`, 409, `{"code":"shipment_canceled"`},
		{"POST /shipments/left~2~shipping/cancel", ``, 200, `{"status":"shipped","tracking":"trk-left-2-shipping"}`},
		{"GET /shipments/none~2~shipping", ``, 404, `{"code":"unknown_shipment"`},
		{"PUT /shipments/o-2~2~shipping", ``, 422, `{"code":"invalid_request","detail":"the body must be`},
		{"PUT /shipments/o-2~2~shipping", `{"orderId":""}`, 422, `{"code":"invalid_request","detail":"the body must be`},
		{"PUT /shipments/o-2~2~shipping", `{"orderId":"` + strings.Repeat("o", 16<<10) + `"}`, 422, `{"code":"invalid_request","detail":"the body must be`},
		{"PUT /shipments/o-2~2~shipping", `{"orderId":"o-1"}`, 422, `{"code":"invalid_request","detail":"the id must be`},
		{"DELETE /shipments/o-1~2~shipping", ``, 405, ``},
	} {
		w := serve(handler, "Bearer secret", row.call, row.body)
		if w.Code != row.status || !strings.HasPrefix(w.Body.String(), row.answer) {
			t.Errorf("%s %.40s: %d %s", row.call, row.body, w.Code, w.Body)
		}

		if kind := w.Header().Get("Content-Type"); kind != "application/json" && row.answer != "" {
			t.Errorf("%s: the answer is %s", row.call, kind)
		}
	}
}

func serve(handler http.Handler, authorization, call, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(call, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)

	return w
}

// TestTheServerRequiresItsToken, if it has one.
func TestTheServerRequiresItsToken(t *testing.T) {
	carrier := newCarrier(t, newDB(t), nil)

	for _, row := range []struct {
		token, sent string
		status      int
	}{
		{"secret", "Bearer secret", 404}, {"secret", "Bearer other", 401}, {"secret", "secret", 401}, {"secret", "", 401},
		{"", "", 404}, {"", "Bearer any", 404},
	} {
		w := serve(carrier.Handler(row.token), row.sent, "GET /shipments/none", "")
		if w.Code != row.status || row.status == 401 && !strings.HasPrefix(w.Body.String(), `{"code":"unauthenticated"`) {
			t.Errorf("token %q, sent %q: %d %s", row.token, row.sent, w.Code, w.Body)
		}
	}
}

// TestAServerThatIsDownSaysWhenToComeAgain, to every call.
func TestAServerThatIsDownSaysWhenToComeAgain(t *testing.T) {
	handler := newBadCarrier(t, newDB(t), nil, sandbox.Faults{Down: time.Hour}).Handler("")

	for _, call := range []string{"PUT /shipments/o-1~2~shipping", "GET /shipments/o-1~2~shipping", "POST /shipments/o-1~2~shipping/cancel"} {
		w := serve(handler, "", call, `{"orderId":"o-1"}`)
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" || !strings.HasPrefix(w.Body.String(), `{"code":"unavailable"`) {
			t.Errorf("%s: %d %v %s", call, w.Code, w.Header(), w.Body)
		}
	}
}

// TestAReportIsASignedCallback, and the shop's status is its answer.
func TestAReportIsASignedCallback(t *testing.T) {
	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}

	status := 0
	ids := map[string]bool{}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := keys.Read(r, 1<<16)
		if err != nil {
			t.Error(err)
		}
		ids[message.ID] = true

		var sent struct {
			Type      string
			Timestamp time.Time
			Data      shipping.Report
		}
		if err := json.Unmarshal(message.Body, &sent); err != nil || sent.Type != "shipment.shipped" || time.Since(sent.Timestamp).Abs() > time.Hour || !sent.Data.At.Equal(sent.Timestamp) {
			t.Errorf("%s, %v", message.Body, err)
		}

		if sent.Data.At = (time.Time{}); sent.Data.ID != shipped.ID || sent.Data.Shipment != shipped.Shipment || sent.Data.Tracking != shipped.Tracking {
			t.Errorf("sent %+v, want %+v", sent.Data, shipped)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(shop.Close)

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	deliver := sandbox.Callbacks(client, shop.URL)

	for _, row := range []struct {
		status int
		answer shipping.Answer
		failed bool
	}{
		{200, shipping.Accepted, false},
		{202, shipping.Accepted, false},
		{400, shipping.Accepted, true},
		{422, shipping.Rejected, false},
		{500, shipping.Accepted, true},
	} {
		status = row.status

		answer, err := deliver(t.Context(), shipped)
		if answer != row.answer || (err != nil) != row.failed {
			t.Errorf("%d: %v, %v", row.status, answer, err)
		}

		if refused := (*webhooks.StatusError)(nil); row.failed && (!errors.As(err, &refused) || refused.Status != row.status) {
			t.Errorf("%d: %v", row.status, err)
		}
	}

	if len(ids) != 1 {
		t.Errorf("one report has the ids %v", ids)
	}

	shop.Close()

	if _, err := deliver(t.Context(), shipped); err == nil {
		t.Error("a callback without a shop was delivered")
	}
}

// TestAWrappedDeliveryIsTheCarriers: the function that is wrapped is the carrier's former delivery.
func TestAWrappedDeliveryIsTheCarriers(t *testing.T) {
	carrier, err := sandbox.New(sandbox.Config{DynamoDB: newDB(t), Table: "carrier", Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	carrier.Wrap(func(next sandbox.DeliverFunc) sandbox.DeliverFunc {
		if answer, err := next(t.Context(), shipped); answer != shipping.Accepted || err != nil {
			t.Errorf("the default: %v, %v", answer, err)
		}

		return next
	})
}
