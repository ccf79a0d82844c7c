package requests_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestDecodeReadsOneRequest(t *testing.T) {
	seven := transitions.TransitionID(7)
	sum := sha256.Sum256([]byte(`{"orderId":"o-1","event":"ship"}`))
	for _, c := range []struct {
		name string
		m    queues.Message
		want transitions.Request
	}{
		{"everything", queues.Message{ID: "m", Body: ` {"orderId":"o-1","event":"ship","from":"PAID","transitionId":7,"requestId":"r 1","values":{"a":"x","n":9007199254740993,"t":true}} `},
			transitions.Request{OrderID: "o-1", Event: "ship", From: "PAID", TransitionID: 7, RequestID: "r 1", Values: map[string]any{"a": "x", "n": int64(9007199254740993), "t": true}}},
		{"own attributes", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship","own":{"set":{"a":{"N":"3"}},"remove":["b"],"if":{"equals":{"c":{"S":""}},"exists":["d"],"missing":["e"]}}}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m", Own: transitions.OwnChange{
				Set: transitions.Attributes{"a": &types.AttributeValueMemberN{Value: "3"}}, Remove: []string{"b"},
				If: transitions.OwnGuards{Equals: transitions.Attributes{"c": &types.AttributeValueMemberS{}}, Exists: []string{"d"}, Missing: []string{"e"}},
			}}},
		{"the message is the request", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship"}`}, transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m"}},
		{"the deduplication id is the request's", queues.Message{ID: "m", DeduplicationID: "d", Body: `{"orderId":"o-1","event":"ship","ifMatch":7}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "d", IfMatch: &seven}},
		{"a digest of the body names no request", queues.Message{ID: "m", DeduplicationID: hex.EncodeToString(sum[:]), Body: `{"orderId":"o-1","event":"ship"}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m"}},
		{"a message may say its format", queues.Message{ID: "m", Body: `{"format":1,"orderId":"o-1","event":"ship"}`}, transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m"}},
		{"an id of its own is enough", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship","transitionId":2}`}, transitions.Request{OrderID: "o-1", Event: "ship", TransitionID: 2}},
		{"a trace of another version is left out", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship","cause":{"code":"c","trace":"01-` + strings.Repeat("0", 2000) + `"}}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m", Cause: transitions.Cause{Code: "c"}}},
	} {
		c.want.Cause.Source = requests.Source

		if got, err := requests.Decode(c.m); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestARequestContinuesTheTraceOfItsMessage: of the attribute, from the nearest sender, else of the body.
func TestARequestContinuesTheTraceOfItsMessage(t *testing.T) {
	const sent, inBody = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	attribute := func(name, text string) map[string]queues.Attribute {
		return map[string]queues.Attribute{name: {Type: "String", Text: text}}
	}

	for _, c := range []struct {
		name       string
		attributes map[string]queues.Attribute
		body, want string
	}{
		{"neither", nil, "", ""},
		{"the attribute", attribute("traceparent", sent), "", sent},
		{"the body", nil, inBody, inBody},
		{"both", attribute("traceparent", sent), inBody, sent},
		{"an attribute that is none", attribute("traceparent", "01-x"), inBody, inBody},
		{"another attribute", attribute("tracestate", sent), "", ""},
	} {
		body, err := json.Marshal(transitions.Request{OrderID: "o-1", Event: "ship", Cause: transitions.Cause{Trace: c.body}})
		if err != nil {
			t.Fatal(err)
		}

		if got, err := requests.Decode(queues.Message{ID: "m", Body: string(body), Attributes: c.attributes}); err != nil || got.Cause.Trace != c.want {
			t.Errorf("%s: trace %q, %v, want %q", c.name, got.Cause.Trace, err, c.want)
		}
	}
}

func TestDecodeNamesWhatIsMalformed(t *testing.T) {
	for body, reason := range map[string]string{
		``:        "no JSON, at byte 0",
		`ship it`: "no JSON, at byte 0",
		`null`:    "orderId",
		`[]`:      "wrong type",
		`{"orderId":"o-1","parts":[],"format":2}`:                                 "the message has format 2, and this program reads format 1",
		`{"orderId":"o-1","event":"ship","format":"2"}`:                           "/format has the wrong type",
		`{"orderId":"o-1","event":"ship"} {}`:                                     "no JSON, at byte 33",
		`{"orderId":"o-1","event":"ship","evnt":1}`:                               "unknown member at byte",
		`{"OrderId":"o-1","event":"ship"}`:                                        "unknown member at byte",
		`{"orderId":"o-1","orderId":"o-2"}`:                                       "a member comes twice",
		`{"orderId":1,"event":"ship"}`:                                            "/orderId has the wrong type",
		`{"orderId":"o-1","event":"ship","transitionId":1.5}`:                     "/transitionId has the wrong type",
		`{"orderId":"o-1","event":"ship","values":{"secret":1.5}}`:                "whole numbers",
		`{"orderId":"o-1","event":"ship","values":{"secret":{}}}`:                 "whole numbers",
		`{"orderId":"a\nb","event":"ship"}`:                                       "orderId",
		`{"orderId":"o-1","event":"ship","requestId":"payment/paid"}`:             "requestId: must not be one of those that executions use",
		`{"orderId":"o-1","event":"ship","own":{"set":{"a":{"N":3}}}}`:            "/own/set/a/N: has another form than N",
		`{"orderId":"o-1","event":"ship","own":{"more":1}}`:                       "unknown member at byte",
		`{"orderId":"o-1"}`:                                                       "event is empty",
		`{"orderId":"o-1","event":"ship","transitionId":1,"ifMatch":1}`:           "ifMatch",
		`{"orderId":"o-1","event":"ship","requestId":"` + "\u00e4" + `"}`:         "requestId",
		`{"orderId":"o-1","event":"` + strings.Repeat("x", 100) + "\xff" + `"}`:   "no JSON",
		`{"orderId":"o-1","event":"ship","transitionId":99999999999999999999999}`: "/transitionId",
	} {
		_, err := requests.Decode(queues.Message{ID: "m", Body: body})
		if !errors.Is(err, requests.ErrMalformed) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %q", body, err, reason)
		}

		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats the body: %v", body, err)
		}
	}
}

// TestAMessageCannotActInAnothersName: neither its actor nor its source is believed.
func TestAMessageCannotActInAnothersName(t *testing.T) {
	long := strings.Repeat("a", 60)

	for claimed, want := range map[string]string{
		"":                "",
		"cli:ada":         "queue:cli:ada",
		"carrier":         "queue:carrier",
		"execution:o-1":   "queue:execution:o-1",
		"queue:billing":   "queue:billing",
		"reaction:refund": "queue:reaction:refund",
		"key:" + long:     "queue:sha256:69c56636a8105de357f8d7c8cfd4eb5c",
		long[:58]:         "queue:" + long[:58],
		"Queue:cli:ada":   "queue:Queue:cli:ada",
		"queue":           "queue:queue",
	} {
		for _, source := range []string{"", "cli", "carrier", "execution"} {
			body, err := json.Marshal(transitions.Request{OrderID: "o-1", Event: "ship", Cause: transitions.Cause{Actor: claimed, Source: source, Code: "c"}})
			if err != nil {
				t.Fatal(err)
			}

			got, err := requests.Decode(queues.Message{ID: "m", Body: string(body)})
			if err != nil || got.Cause != (transitions.Cause{Actor: want, Source: "queue", Code: "c"}) || got.Validate() != nil {
				t.Errorf("actor %q by %q: %+v, %v, want the actor %q", claimed, source, got.Cause, err, want)
			}
		}
	}
}

func TestInputAndDecodeAreInverse(t *testing.T) {
	r := transitions.Request{OrderID: "o-1", Event: workflow.Ship, RequestID: "r", Values: map[string]any{"n": int64(3)}}

	in, err := requests.Input("http://x/0/q.fifo", r)
	if err != nil || *in.MessageGroupId != "o-1" || *in.MessageDeduplicationId != "o-1/r" {
		t.Fatalf("%+v, %v", in, err)
	}

	got, err := requests.Decode(queues.Message{ID: "m", Body: *in.MessageBody})
	r.Cause.Source = requests.Source // as the queue says
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}

	if in, err = requests.Input("http://x/0/q", r); err != nil || in.MessageGroupId != nil || in.MessageDeduplicationId != nil {
		t.Errorf("standard: %+v, %v", in, err)
	}

	in, err = requests.Input("http://x/0/q.fifo", transitions.Request{OrderID: "o-1", Event: workflow.Ship, TransitionID: 4})
	if err != nil || *in.MessageDeduplicationId != "o-1/#4/"+string(workflow.Ship) {
		t.Errorf("by transitionId: %v, %v", *in.MessageDeduplicationId, err)
	}

	in, err = requests.Input("http://x/0/q.fifo", transitions.Request{OrderID: "o-1", Event: workflow.Ship, RequestID: "with a space"})
	if err != nil || len(*in.MessageDeduplicationId) != 64 {
		t.Errorf("what the service would not take: %v, %v", *in.MessageDeduplicationId, err)
	}

	if _, err := requests.Input("http://x/0/q", transitions.Request{OrderID: "o-1", Event: workflow.Ship}); err == nil {
		t.Error("a request without an identity was encoded")
	}
}

// FuzzDecode: a body is refused with ErrMalformed or is a valid request that stays the
// same when it is encoded and read again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"orderId":"o-1","event":"ship","transitionId":7,"values":{"n":1,"s":"x","t":true}}`, `{"orderId":"o","event":"e","ifMatch":0}`, `{}`, `[`, `{"orderId":"\ud800"}`, `{"values":{"a":1e400}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := requests.Decode(queues.Message{ID: "m", Body: text})
		if err != nil {
			if !errors.Is(err, requests.ErrMalformed) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}

		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}

		second, err := requests.Decode(queues.Message{ID: "other", Body: string(again)})
		if err != nil || !reflect.DeepEqual(r, second) {
			t.Fatalf("%q: %+v, then %+v, %v", text, r, second, err)
		}
	})
}
