package once

import (
	"bytes"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// FuzzDecode reads items that this package did not write. An item that is accepted must
// have a known status, and no claim may take over a key whose lease runs.
func FuzzDecode(f *testing.F) {
	print, _ := fingerprint(exactBytes, "op", []byte("p"))
	f.Add("IN_PROGRESS", "owner", "7", "1900000000000", "1900000000", print, []byte("r"), []byte(`{"code":"Closed"}`), "result#x", true)
	f.Add("FAILED", "", "1", "-1", "x", []byte{}, []byte{}, []byte(`{}`), "", false)
	f.Add("", "", "99999999999999999999", "", "", []byte{2}, []byte(nil), []byte(nil), "", false)
	f.Fuzz(func(t *testing.T, status, owner, fence, lease, expires string, print, result, failure []byte, ref string, lost bool) {
		number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

		item := dynamo.Item{attrKey: dynamo.S("k"), attrStatus: dynamo.S(status), attrOwner: dynamo.S(owner), attrFence: number(fence),
			attrLease: number(lease), ExpiryAttribute: number(expires), attrFingerprint: dynamo.B(print), attrResult: dynamo.B(result),
			attrFailure: dynamo.B(failure), attrRef: dynamo.S(ref)}
		if lost {
			item[attrLost] = dynamo.N(1)
		}

		r, err := decode(item)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v", err)
			}
			return
		}
		now := time.Unix(1_800_000_000, 0)

		a, err := (&Claims{cfg: Config{Operation: "op"}}).newAttempt(t.Context(), "k", []byte("p"), time.Minute)
		if err != nil {
			t.Fatal(err)
		}

		decision := a.decide(&r, now, time.Second, false)
		live := r.Status == StatusInProgress && r.LeaseUntil.After(now) && !r.expired(now)
		if decision == claimFree || live && (decision == takeOver || decision == replay) {
			t.Errorf("decision %d on %+v", decision, r)
		}

		if n, err := strconv.ParseInt(fence, 10, 64); err != nil || n <= 0 {
			t.Errorf("fence %q was accepted", fence)
		}
	})
}

// FuzzDecodeFailure reads stored failures.
func FuzzDecodeFailure(f *testing.F) {
	f.Add((&Failure{Code: "Closed", Message: "account closed"}).encode())
	f.Add([]byte(`{"code":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeFailure(text, nil)
		if err != nil {
			return
		}

		again, err := decodeFailure(got.encode(), nil)
		short := len(got.Message) <= maxFailure && len(got.Code) <= maxCode
		if err != nil || short && (again.Code != got.Code || again.Message != got.Message) {
			t.Errorf("%+v reads back as %+v, %v", got, again, err)
		}
	})
}

// FuzzCanonical: the canonical form is its own canonical form, and has no spaces.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":[1.0,-0,1e3],"a":"é"}`, `"\ud83d\ude00"`, `9007199254740991`, `{"a":{"a":null}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Canonical(text)
		if err != nil {
			return
		}

		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s became %s, and then %s, %v", text, once, twice, err)
		}
	})
}
