package api_test

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
)

// What is known of a keyed request's effect decides about its repeat.
func TestTheEndOfAKeyedRequestIsWhatItsRepeatHears(t *testing.T) {
	for about, row := range map[string]struct {
		errors []error // of the writes of the stock; the last is repeated
		leave  bool    // the client goes with the first write
		code   string  // of the repeat; "" if it runs
	}{
		"DynamoDB refuses the write":           {errors: []error{&embeddedtest.Error{Code: "AccessDeniedException"}}},
		"the answer is lost, and none follows": {errors: []error{embeddedtest.ErrAnswerLost}, code: "unknown_outcome"},
		"the answer is lost, and later ones are refusals": {
			errors: []error{embeddedtest.ErrAnswerLost, &embeddedtest.Error{Code: "AccessDeniedException"}}, code: "unknown_outcome",
		},
		"the client goes": {errors: []error{context.Canceled}, leave: true, code: "unknown_outcome"},
	} {
		s := newAPIServer(t, dev)
		ctx, leave := context.WithCancel(t.Context())
		n := 0
		s.transport.Before(func(c *embeddedtest.Call) error {
			if !c.Is("UpdateItem", "PutItem", "TransactWriteItems") || !bytes.Contains(c.Body(), []byte(strconv.Quote(shop.StockTable))) {
				return nil
			}

			if n++; row.leave {
				leave()
			}

			return row.errors[min(n, len(row.errors))-1]
		})

		first := s.askIn(ctx, "PUT", "/v1/inventory/ring", `{"available":5}`, "Idempotency-Key", "k")
		if n == 0 || !row.leave && first.StatusCode < http.StatusInternalServerError {
			t.Errorf("%s: %d %s", about, first.StatusCode, first.text)
		}
		leave()
		s.transport.Clear()

		again := s.ask("PUT", "/v1/inventory/ring", `{"available":5}`, "Idempotency-Key", "k")
		if row.code == "" && again.StatusCode != http.StatusOK || row.code != "" && again.code() != row.code {
			t.Errorf("%s: the repeat hears %d %s", about, again.StatusCode, again.text)
		}
	}

	// A refusal has no effect, so the key is as free as before.
	s := newAPIServer(t, dev)
	ticket := s.must("POST", "/v1/claims/k", `{}`).field("ticket")
	s.want(s.ask("POST", "/v1/claims/other/extend", `{"ticket":"`+ticket+`"}`, "Idempotency-Key", "e"), http.StatusConflict, "stale_owner")
	s.must("POST", "/v1/claims/other", `{}`)
	s.want(s.ask("POST", "/v1/claims/other/extend", `{"ticket":"`+ticket+`"}`, "Idempotency-Key", "e"), http.StatusConflict, "stale_owner")
}

// Not every unknown outcome is an error of DynamoDB's client: a package says it by an error of its own.
func TestAnUnknownOutcomeOfAKeyedRequestIsNotFree(t *testing.T) {
	s := newAPIServer(t, dev)
	ticket := s.must("POST", "/v1/claims/the-claim", `{}`).field("ticket")
	n := 0
	s.transport.Inject(embeddedtest.LoseAnswer("UpdateItem").If(func(c *embeddedtest.Call) bool {
		if !bytes.Contains(c.Body(), []byte("the-claim")) {
			return false
		}
		n++

		return true
	}))

	s.want(s.ask("POST", "/v1/claims/the-claim/extend", `{"ticket":"`+ticket+`"}`, "Idempotency-Key", "e"), http.StatusServiceUnavailable, "unavailable")
	s.transport.Clear()
	s.want(s.ask("POST", "/v1/claims/the-claim/extend", `{"ticket":"`+ticket+`"}`, "Idempotency-Key", "e"), http.StatusConflict, "unknown_outcome")

	if n == 0 {
		t.Error("no answer was lost")
	}
}
