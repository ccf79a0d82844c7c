package reports

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"ratchet/shipping"
)

// FuzzCallbacks: every body is a report whose type fits, and which says the same when it is written
// again, or is refused.
func FuzzCallbacks(f *testing.F) {
	for _, seed := range []string{
		`{"type":"shipment.shipped","data":{"id":"a","shipment":"o-1/2/shipping","orderId":"o-1","milestone":"shipped"}}`,
		`{"type":"shipment.shipped","data":{"id":"a","milestone":"shipped","parcel":"p","lines":[{"sku":"mug","quantity":1}],"at":"2026-01-02T03:04:05Z"}}`,
		`{"type":"shipment.","data":{}}`, `{"data":{"id":1}}`, `{`, `{"type":"a","type":"b"}`, "\xff",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parse(body)
		if err != nil {
			if !errors.Is(err, ErrCallback) || !reflect.DeepEqual(r, shipping.Report{}) {
				t.Errorf("%q: %+v, %v", body, r, err)
			}

			return
		}

		text, err := json.Marshal(callback{Type: typePrefix + string(r.Milestone), Data: r})
		if err != nil {
			return // a time that JSON cannot have
		}

		again, err := parse(text)
		if err != nil || !again.At.Equal(r.At) {
			t.Errorf("%q: %+v, %v", body, again, err)
		}

		r.At, again.At = time.Time{}, time.Time{}
		if len(r.Lines)+len(again.Lines) > 0 && !reflect.DeepEqual(again, r) {
			t.Errorf("%q: %+v, then %+v", body, r, again)
		}
	})
}
