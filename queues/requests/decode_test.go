package requests_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

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
		{"the message is the request", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship"}`}, transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m"}},
		{"the deduplication id is the request's", queues.Message{ID: "m", DeduplicationID: "d", Body: `{"orderId":"o-1","event":"ship","ifMatch":7}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "d", IfMatch: &seven}},
		{"a digest of the body names no request", queues.Message{ID: "m", DeduplicationID: hex.EncodeToString(sum[:]), Body: `{"orderId":"o-1","event":"ship"}`},
			transitions.Request{OrderID: "o-1", Event: "ship", RequestID: "m"}},
		{"an id of its own is enough", queues.Message{ID: "m", Body: `{"orderId":"o-1","event":"ship","transitionId":2}`}, transitions.Request{OrderID: "o-1", Event: "ship", TransitionID: 2}},
	} {
		if got, err := requests.Decode(c.m); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestDecodeNamesWhatIsMalformed(t *testing.T) {
	for body, reason := range map[string]string{
		``:                                    "no JSON, at byte 0",
		`ship it`:                             "no JSON, at byte 0",
		`null`:                                "orderId",
		`[]`:                                  "wrong type",
		`{"orderId":"o-1","event":"ship"} {}`: "no JSON, at byte 33",
		`{"orderId":"o-1","event":"ship","evnt":1}`:                               "unknown member at byte",
		`{"OrderId":"o-1","event":"ship"}`:                                        "unknown member at byte",
		`{"orderId":"o-1","orderId":"o-2"}`:                                       "a member comes twice",
		`{"orderId":1,"event":"ship"}`:                                            "/orderId has the wrong type",
		`{"orderId":"o-1","event":"ship","transitionId":1.5}`:                     "/transitionId has the wrong type",
		`{"orderId":"o-1","event":"ship","values":{"secret":1.5}}`:                "whole numbers",
		`{"orderId":"o-1","event":"ship","values":{"secret":{}}}`:                 "whole numbers",
		`{"orderId":"a/b","event":"ship"}`:                                        "orderId",
		`{"orderId":"o-1","event":"ship","requestId":"payment/paid"}`:             "requestId: must not be one of those that executions use",
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

func TestInputAndDecodeAreInverse(t *testing.T) {
	r := transitions.Request{OrderID: "o-1", Event: workflow.Ship, RequestID: "r", Values: map[string]any{"n": int64(3)}}

	in, err := requests.Input("http://x/0/q.fifo", r)
	if err != nil || *in.MessageGroupId != "o-1" || *in.MessageDeduplicationId != "o-1/r" {
		t.Fatalf("%+v, %v", in, err)
	}

	got, err := requests.Decode(queues.Message{ID: "m", Body: *in.MessageBody})
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
