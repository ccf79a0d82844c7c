package notify

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
	"ratchet/transitions"
)

// TestADeliveryIsReadAsItWasStored: with every field, and with as few as possible. An empty field is
// no attribute.
func TestADeliveryIsReadAsItWasStored(t *testing.T) {
	least := Delivery{
		Notification: Notification{Key: "o-1/0/2/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: "SHIPPED", At: noon},
		Endpoint:     "shop", Status: Delivered, CreatedAt: noon, version: 1, call: "c",
	}

	most := least
	most.Event, most.From, most.Attributes = "ship", "PAID", map[string]string{"currency": "EUR", "customer": "c-1"}
	most.Cause = transitions.Cause{Code: "late", Actor: "cli:ada"}
	most.Status, most.NextTry, most.TriedAt, most.Attempts = Pending, noon.Add(time.Minute), noon.Add(time.Second), 3
	most.Answer, most.Response, most.Error = 503, "try later", "down"
	// Without noted attempts, the record says what is known of one.
	most.Tries = []Try{{At: most.TriedAt, Number: 1, Answer: 503, Head: "try later"}}

	for name, d := range map[string]Delivery{"least": least, "most": most} {
		item := d.encode(noon)
		if diff := cmp.Diff(d, decodeDelivery(item), cmp.AllowUnexported(Delivery{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		for _, attribute := range []string{deliveryAttributes, deliveryCause, deliveryQueue, deliveryDue, deliveryTried, deliveryAnswer, deliveryResponse, deliveryError} {
			if _, has := item[attribute]; has != (name == "most") {
				t.Errorf("%s: has %s: %t", name, attribute, has)
			}
		}
	}

	// A cause that cannot be read is left out.
	item := most.encode(noon)
	item[deliveryCause] = dynamo.S(`{"code":"late","actor":1}`)

	if d := decodeDelivery(item); d.Cause != (transitions.Cause{}) {
		t.Errorf("%+v", d.Cause)
	}
}

// TestTheQueuesOfDeliveries: their names are stored, and a missed delivery stands at the time of its
// transition.
func TestTheQueuesOfDeliveries(t *testing.T) {
	if pending, missed := queueName("shop", Pending, 1), queueName("shop", Missed, 1); pending != "shop#1" || missed != "shop#missed#1" {
		t.Errorf("%s, %s", pending, missed)
	}

	d := Delivery{Notification: Notification{At: noon}, NextTry: noon.Add(time.Hour), Status: Pending}
	if !d.queuedAt().Equal(d.NextTry) {
		t.Errorf("pending at %v", d.queuedAt())
	}

	if d.Status = Missed; !d.queuedAt().Equal(noon) {
		t.Errorf("missed at %v", d.queuedAt())
	}
}

// TestARecordEndsAtItsTime: at that second it counts as deleted. One that is PENDING has no end.
func TestARecordEndsAtItsTime(t *testing.T) {
	if item := (Delivery{Status: Pending}).encode(noon); dynamo.HasExpired(item, DeliveryExpiryAttribute, noon.Add(10*retention)) {
		t.Errorf("a delivery that is under way expires at %d", dynamo.Number(item, DeliveryExpiryAttribute))
	}

	item := Delivery{Status: Missed}.encode(noon)

	for after, want := range map[time.Duration]bool{retention - time.Second: false, retention: true, retention + time.Second: true} {
		if dynamo.HasExpired(item, DeliveryExpiryAttribute, noon.Add(after)) != want {
			t.Errorf("expired %v after its write: %t", after, !want)
		}
	}
}

// TestAnEndpointIsReadAsItWasStored: with all it may have, and with as little.
func TestAnEndpointIsReadAsItWasStored(t *testing.T) {
	least := Endpoint{ID: "shop", Settings: Settings{Destination: "log:"}.withDefaults(), Status: Active, CreatedAt: noon, UpdatedAt: noon, Revision: 1, generation: "g"}
	most := least
	most.Headers = map[string]string{"X-Shop": "secret"}
	most.Secrets = []Secret{{Key: webhooks.NewSecret()}, {Key: webhooks.NewSecret(), Until: noon.Add(time.Hour)}}

	for name, e := range map[string]Endpoint{"least": least, "most": most} {
		item, err := encodeEndpoint(e)
		if err != nil {
			t.Fatal(err)
		}

		got, err := decodeEndpoint(item)
		if diff := cmp.Diff(e, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(Endpoint{}, health{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}

		if name == "least" && (got.Headers != nil || got.Secrets != nil) {
			t.Errorf("%+v", got)
		}

		// One secret that cannot be read hides no other.
		item[endpointSecrets] = &types.AttributeValueMemberL{Value: []types.AttributeValue{
			dynamo.S("text"), dynamo.M(dynamo.Item{secretKey: dynamo.S("text")}), dynamo.M(dynamo.Item{secretKey: dynamo.B([]byte("key"))}),
		}}

		if got, err := decodeEndpoint(item); err != nil || len(got.Secrets) != 1 || string(got.Secrets[0].Key) != "key" {
			t.Errorf("%+v, %v", got.Secrets, err)
		}
		item[endpointSettings] = dynamo.S("{")

		if _, err := decodeEndpoint(item); err == nil || !strings.Contains(err.Error(), "endpoint shop: its settings are not JSON") {
			t.Errorf("settings that are no JSON: %v", err)
		}
	}

	if e, err := decodeEndpoint(dynamo.Item{endpointKey: dynamo.S("configured")}); err != nil || e.Status != Active || e.Destination != "" {
		t.Errorf("the item of a configured endpoint: %+v, %v", e, err)
	}
}

// TestASecretSignsUntilItsEnd. A new one takes the place of the newest, which signs until the end of the window,
// if there is one.
func TestASecretSignsUntilItsEnd(t *testing.T) {
	first, second, third := webhooks.Secret("first"), webhooks.Secret("second"), webhooks.Secret("third")
	e := Endpoint{Secrets: []Secret{{Key: first}}}

	e.Secrets = e.rotated(second, noon)
	for at, want := range map[time.Time][]webhooks.Secret{noon.Add(-1): {second, first}, noon: {second}, noon.Add(1): {second}} {
		if got := e.Signing(at); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %q sign, want %q", at, got, want)
		}
	}

	if got := e.rotated(third, noon.Add(time.Hour)); !reflect.DeepEqual(got, []Secret{{Key: third}, {second, noon.Add(time.Hour)}}) {
		t.Errorf("a window: %q", got)
	}

	if got := e.rotated(third, time.Time{}); !reflect.DeepEqual(got, []Secret{{Key: third}}) {
		t.Errorf("without a window: %q", got)
	}

	if got := (Endpoint{}).rotated(third, noon); !reflect.DeepEqual(got, []Secret{{Key: third}}) {
		t.Errorf("the first one: %q", got)
	}
}

// TestWhatAnAnswerShowsIsNoSecret: no secret of the endpoint and no value of its headers, in any
// form.
func TestWhatAnAnswerShowsIsNoSecret(t *testing.T) {
	secret := webhooks.NewSecret()
	e := Endpoint{Settings: Settings{Headers: map[string]string{"Authorization": "Bearer 12345678", "X-Word": "shipped", "X-Pair": "short words"}}, Secrets: []Secret{{Key: secret}}}

	for text, want := range map[string]string{
		"got " + secret.Reveal():                      "got [redacted]",
		strings.TrimPrefix(secret.Reveal(), "whsec_"): "[redacted]",
		"(" + string(secret) + ")":                    "([redacted])",
		"no Bearer 12345678 here":                     "no Bearer [redacted] here",
		"12345678":                                    "[redacted]",
		"1234567":                                     "1234567",
		"shipped":                                     "shipped",
		"short words, and words":                      "[redacted], and words",
		"two\nlines\x00\xff":                          "two lines  ",
		strings.Repeat("t", maxStored):                strings.Repeat("t", maxStored),
		strings.Repeat("t", maxStored+1):              strings.Repeat("t", maxStored),
		strings.Repeat("t", maxStored-1) + "ü":        strings.Repeat("t", maxStored-1),
	} {
		if got := redact(e, text); got != want {
			t.Errorf("%.40q: %.60q, want %.60q", text, got, want)
		}
	}
}

// TestALeaseIsAsLongAsAnAttemptMayTake, with two writes and the drain.
func TestALeaseIsAsLongAsAnAttemptMayTake(t *testing.T) {
	for _, row := range []struct{ timeout, drain, want time.Duration }{
		{20 * time.Second, 20 * time.Second, time.Minute},
		{time.Second, 5 * time.Second, 8 * time.Second},
	} {
		if got := (Config{Timeout: row.timeout, DrainTimeout: row.drain}).lease(); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}
