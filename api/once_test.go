package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// later returns the time in one hour.
func later() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

func TestAnActionIsUsedOnce(t *testing.T) {
	s := newAPIServer(t, dev)

	// No id of an action has a colon, so that the user cannot be a part of one.
	body := `{"payload":{"user":"u:1","none":null},"expiresAt":"` + later() + `"}`
	made := s.want(s.ask("POST", "/v1/actions", body, "Idempotency-Key", "make"), http.StatusCreated, "")
	if again := s.want(s.ask("POST", "/v1/actions", body, "Idempotency-Key", "make"), http.StatusCreated, ""); again.field("id") != made.field("id") || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat did not return the first action: %v %s", again.Header, again.text)
	}

	coupon := `{"expiresAt":"` + later() + `"}`
	s.want(s.ask("PUT", "/v1/actions/SPRING-26", coupon), http.StatusCreated, "")

	if again := s.want(s.ask("PUT", "/v1/actions/spring-26", coupon), http.StatusCreated, ""); again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v", again.Header)
	}
	s.want(s.ask("POST", "/v1/actions", strings.Replace(body, "u:1", "u:2", 1), "Idempotency-Key", "make"), http.StatusConflict, "idempotency_key_reused")

	path := "/v1/actions/" + made.field("id")
	for range 3 { // reading, as mail scanners do with links, does not use the action
		if a := s.want(s.ask("GET", path, ""), http.StatusOK, ""); a.field("state") != "active" || strings.Contains(a.text, "u:1") {
			t.Errorf("%s", a.text)
		}
	}

	var mu sync.Mutex
	var winner string
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			key := fmt.Sprint("c", i)
			a := s.ask("POST", path+"/consume", "{}", "Idempotency-Key", key)
			mu.Lock()
			defer mu.Unlock()

			switch {
			case a.StatusCode == http.StatusOK && winner == "":
				winner = key
			case a.StatusCode != http.StatusConflict || a.code() != "already_used" || a.field("consumedAt") == "null":
				t.Errorf("%d %s", a.StatusCode, a.text)
			}
		})
	}
	group.Wait()

	a := s.want(s.ask("POST", path+"/consume", "{}", "Idempotency-Key", winner), http.StatusOK, "")
	if a.field("payload", "user") != "u:1" || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat of the successful request: %s", a.text)
	}
	s.want(s.ask("POST", path+"/cancel", ""), http.StatusConflict, "already_used")
	s.want(s.ask("GET", "/v1/actions/act_unknown", ""), http.StatusNotFound, "action_not_found")
}

func TestABatchOfActionsIsCreatedInParts(t *testing.T) {
	s := newAPIServer(t, dev)
	end := later()
	type answered struct {
		Codes []struct {
			Index int
			Code  string
			Made  bool
		}
		Next int
	}
	part := func(from, count int) (got answered) {
		t.Helper()
		s.want(s.ask("PUT", "/v1/action-batches/spring", fmt.Sprintf(`{"prefix":"SPRING","from":%d,"count":%d,"payload":{"percent":5},"expiresAt":%q}`, from, count, end)), http.StatusOK, "").read(t, &got)
		return got
	}

	first, again, second := part(0, 3), part(0, 3), part(3, 2)
	if len(first.Codes) != 3 || first.Next != 3 || len(second.Codes) != 2 || second.Next != 5 || second.Codes[0].Index != 3 {
		t.Fatalf("%+v, %+v", first, second)
	}

	for i, c := range again.Codes {
		if !first.Codes[i].Made || c != first.Codes[i] {
			t.Errorf("%+v, then %+v", first.Codes[i], c)
		}
	}

	if a := s.want(s.ask("POST", "/v1/actions/"+second.Codes[1].Code+"/consume", "{}", "Idempotency-Key", "c"), http.StatusOK, ""); a.field("payload", "percent") != "5" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("PUT", "/v1/action-batches/spring", `{"prefix":"SPRING","count":1,"payload":1,"expiresAt":"`+end+`"}`), http.StatusConflict, "conflict")
}

func TestPINsHoldsAndCancellationOfActions(t *testing.T) {
	s := newAPIServer(t, dev)
	path := "/v1/actions/" + s.want(s.ask("POST", "/v1/actions", `{"pin":"4711","maxAttempts":2,"expiresAt":"`+later()+`"}`, "Idempotency-Key", "a"), http.StatusCreated, "").field("id")
	use := func(verb, key, body string) answer { return s.ask("POST", path+"/"+verb, body, "Idempotency-Key", key) }
	s.want(use("consume", "1", `{"pin":"0000"}`), http.StatusForbidden, "invalid_pin")
	hold := s.want(use("reserve", "h", `{"pin":"4711","seconds":60}`), http.StatusOK, "")
	s.want(use("consume", "2", `{"pin":"4711"}`), http.StatusConflict, "held")
	s.want(s.ask("POST", path+"/release", `{"holder":"h","fence":`+hold.field("fence")+`}`), http.StatusOK, "")

	a := s.want(s.ask("POST", path+"/cancel", ""), http.StatusOK, "")
	if a.field("outcome") != "canceled" {
		t.Errorf("%s", a.text)
	}
	s.want(use("consume", "3", `{"pin":"4711"}`), http.StatusGone, "canceled")
	s.want(s.ask("POST", "/v1/actions", `{"expiresAt":"2020-01-01T00:00:00Z"}`, "Idempotency-Key", "b"), http.StatusUnprocessableEntity, "invalid_request")
}

func TestAClaimIsHeldByItsTicket(t *testing.T) {
	s := newAPIServer(t, dev)
	claim := func(payload string) answer {
		return s.ask("POST", "/v1/claims/refund-7", `{"payload":`+payload+`,"leaseSeconds":60}`, "Prefer", "wait=0")
	}
	first := s.want(claim(`{"amount":5}`), http.StatusCreated, "")
	if a := s.want(claim(`{"amount":5}`), http.StatusConflict, "in_progress"); a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %s of work that has just begun", a.Header.Get("Retry-After"))
	}
	s.want(claim(`{"amount":6}`), http.StatusConflict, "claim_mismatch")

	if a := s.want(s.ask("GET", "/v1/claims/refund-7", ""), http.StatusOK, ""); a.field("status") != "IN_PROGRESS" || strings.Contains(a.text, first.field("ticket")) {
		t.Errorf("%s", a.text)
	}
	end := func(verb, ticket, more string) answer {
		return s.ask("POST", "/v1/claims/refund-7/"+verb, `{"ticket":"`+ticket+`"`+more+`}`)
	}
	s.want(end("complete", "not-a-ticket", ""), http.StatusConflict, "stale_owner")
	s.want(end("extend", first.field("ticket"), ""), http.StatusOK, "")

	for range 2 {
		s.want(end("complete", first.field("ticket"), `,"result":{"id":"r-1","gone":null}`), http.StatusOK, "")
	}

	replay := s.want(claim(`{ "amount": 5.0 }`), http.StatusOK, "")
	if replay.field("outcome") != "replayed" || replay.field("result", "id") != "r-1" || replay.Header.Get("Idempotent-Replayed") != "true" || replay.field("ticket") != "null" {
		t.Errorf("%s", replay.text)
	}
	s.want(end("release", first.field("ticket"), ""), http.StatusConflict, "claim_ended")
	s.want(s.ask("GET", "/v1/claims/other", ""), http.StatusNotFound, "claim_not_found")

	failing := s.want(s.ask("POST", "/v1/claims/f", "{}"), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/claims/f/fail", `{"ticket":"`+failing.field("ticket")+`","code":"no_such_card"}`), http.StatusOK, "")

	if a := s.want(s.ask("POST", "/v1/claims/f", "{}"), http.StatusOK, ""); a.field("outcome") != "replayed_failure" || a.field("failure", "code") != "no_such_card" {
		t.Errorf("%s", a.text)
	}
	released := s.want(s.ask("POST", "/v1/claims/r", "{}"), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/claims/r/release", `{"ticket":"`+released.field("ticket")+`"}`), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/claims/r", "{}"), http.StatusCreated, "")
}

func TestARepeatedClaimRequestGetsItsTicketAgain(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("POST", "/v1/claims/refund-0", "{}", "Idempotency-Key", ""), http.StatusBadRequest, "idempotency_key_missing") // an empty key is not the same as none
	s.want(s.ask("GET", "/v1/claims/refund-0", ""), http.StatusNotFound, "claim_not_found")
	claim := func(request, payload string) answer {
		return s.ask("POST", "/v1/claims/refund-8", `{"payload":`+payload+`,"leaseSeconds":60}`, "Idempotency-Key", request, "Prefer", "wait=0")
	}

	lost := s.want(claim("request-1", "5"), http.StatusCreated, "")
	again := s.want(claim("request-1", "5"), http.StatusCreated, "")
	if again.field("ticket") != lost.field("ticket")+".t" || again.field("outcome") != "taken_over" {
		t.Errorf("%s", again.text)
	}
	s.want(claim("request-2", "5"), http.StatusConflict, "in_progress")
	s.want(claim("request-1", "6"), http.StatusConflict, "claim_mismatch")
	s.want(s.ask("POST", "/v1/claims/refund-8/complete", `{"ticket":"`+again.field("ticket")+`"}`), http.StatusOK, "")

	if a := s.want(claim("request-1", "5"), http.StatusOK, ""); a.field("outcome") != "replayed" {
		t.Errorf("%s", a.text)
	}
}

func TestAForgedTicketDoesNotExtendTheLease(t *testing.T) {
	s := newAPIServer(t, dev)
	ticket := s.want(s.ask("POST", "/v1/claims/k", `{"leaseSeconds":60}`), http.StatusCreated, "").field("ticket")
	forged := strings.Replace(ticket, "-60000-", "-999999999999-", 1)
	if forged == ticket {
		t.Fatal("the ticket does not contain its lease")
	}
	s.want(s.ask("POST", "/v1/claims/k/extend", `{"ticket":"`+forged+`"}`), http.StatusOK, "")

	a := s.want(s.ask("GET", "/v1/claims/k", ""), http.StatusOK, "")
	if until, err := time.Parse(time.RFC3339, a.field("leaseUntil")); err != nil || time.Until(until) > 24*time.Hour {
		t.Errorf("%s", a.text)
	}
}

func TestACallerCannotClaimTheKeyOfAnEffect(t *testing.T) {
	s := newAPIServer(t, dev)
	// The key of an effect is orderId/incarnation/transitionId/handler. A caller's key has no slash.
	if a := s.ask("POST", "/v1/claims/o-1%2F2%2Fshipping", "{}"); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}
}

func TestALockIsPermanent(t *testing.T) {
	s := newAPIServer(t, dev)
	take := func(holder string) answer { return s.ask("PUT", "/v1/locks/pay-1", `{"holder":"`+holder+`"}`) }
	s.want(take("a"), http.StatusCreated, "")

	if a := s.want(take("a"), http.StatusCreated, ""); a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v", a.Header)
	}

	if a := s.want(take("b"), http.StatusConflict, "lock_held"); a.field("holder") != "a" || a.field("since") == "null" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/locks/pay-1", ""), http.StatusOK, "")
	s.want(s.ask("GET", "/v1/locks/pay-2", ""), http.StatusNotFound, "lock_not_found")
}
