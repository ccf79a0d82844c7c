package reports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// signed returns the headers and the body of a callback, padded to a size.
func signed(t *testing.T, keys *webhooks.Keys, kind string, data any, size int) (http.Header, []byte) {
	t.Helper()

	body, err := json.Marshal(map[string]any{"type": kind, "timestamp": time.Now(), "data": data})
	if err != nil {
		t.Fatal(err)
	}

	if size > len(body) {
		body = append(body, bytes.Repeat([]byte(" "), size-len(body))...)
	}

	header, err := keys.Sign("msg_1", body)
	if err != nil {
		t.Fatal(err)
	}

	return header, body
}

// TestACallbackIsASignedReport: nothing else is received.
func TestACallbackIsASignedReport(t *testing.T) {
	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}

	stranger, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}

	o := newOffice(t, nil, func(c *reports.Config) { c.Callbacks = keys })
	o.order("o-1", workflow.Pay)

	nameless := report("o-1", shipping.Shipped)
	nameless.ID = ""

	for name, test := range map[string]struct {
		keys *webhooks.Keys
		kind string
		data any
		size int
		want error
		text string
	}{
		"another secret":    {stranger, "shipment.shipped", report("o-1", shipping.Shipped), 0, webhooks.ErrSignature, ""},
		"too long":          {keys, "shipment.shipped", report("o-1", shipping.Shipped), 64<<10 + 1, reports.ErrCallback, "more than 65536 bytes"},
		"no report":         {keys, "shipment.shipped", "a text", 0, reports.ErrCallback, "/data"},
		"another type":      {keys, "shipment.delivered", report("o-1", shipping.Shipped), 0, reports.ErrCallback, `type: must be "shipment."`},
		"a rule is broken":  {keys, "shipment.shipped", nameless, 0, reports.ErrCallback, "id: 1 to 200"},
		"as long as may be": {keys, "shipment.booked", report("o-1", shipping.Booked), 64 << 10, nil, ""},
	} {
		header, body := signed(t, test.keys, test.kind, test.data, test.size)

		effect, err := o.Callback(t.Context(), header, body)
		if !errors.Is(err, test.want) || (test.want == nil) != (effect == reports.Applied) || test.want != nil && !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %q, %v", name, effect, err)
		}
	}

	if got := o.state("o-1"); got != workflow.PaymentReceived {
		t.Fatalf("the order is %s", got)
	}
	header, body := signed(t, keys, "shipment.shipped", report("o-1", shipping.Shipped), 0)

	// What may pass is no fault of the callback.
	broken := o.wire.Inject(embeddedtest.Answer("AccessDeniedException"))
	if _, err := o.Callback(t.Context(), header, body); err == nil || errors.Is(err, reports.ErrCallback) {
		t.Errorf("while nothing answers: %v", err)
	}
	broken.Remove()

	if effect, err := o.Callback(t.Context(), header, body); err != nil || effect != reports.Applied || o.state("o-1") != workflow.Shipped {
		t.Errorf("%q, %v", effect, err)
	}

	if _, err := newOffice(t, nil).Callback(t.Context(), header, body); !errors.Is(err, reports.ErrNoCallbacks) {
		t.Errorf("without a secret: %v", err)
	}
}
