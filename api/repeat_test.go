package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/activities/tasktoken"
	"ratchet/api"
	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
)

// repeated is a row about an operation that changes something.
type repeated struct {
	operation string
	// path and body of the request, in which $ stands for the result of setup.
	path, body string
	keyed      bool // the request has an Idempotency-Key
	setup      func(s *apiServer) string
	status     int
	// between changes what an answer of the present would show.
	between func(s *apiServer)
	// other is another content under the same id or key, and code its refusal. Without
	// content of its own, a request has none.
	other, code string
	// apart is the member of the answer that shows the present.
	apart string
	// exception says why the repeat does not get the first answer.
	exception string
}

const (
	end2030  = `"expiresAt":"2030-01-01T00:00:00Z"`
	cups     = `{"items":[{"sku":"cup","quantity":1,"price":300}]}`
	teapots  = `{"items":[{"sku":"teapot","quantity":1,"price":300}]}`
	keyTaken = "idempotency_key_reused"
)

// must sends a request that must succeed and returns its answer.
func (s *apiServer) must(method, path, body string, headers ...string) answer {
	s.t.Helper()

	a := s.ask(method, path, body, headers...)
	if a.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.text)
	}

	return a
}

func placed(s *apiServer) string { s.must("PUT", "/v1/orders/o-1", mugs); return "" }

func placedAndPaid(s *apiServer) string {
	placed(s)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, "Idempotency-Key", "pay")

	return ""
}

// returned reports that a shipped order came back, which a person has to deal with.
func returned(s *apiServer) string {
	placedAndPaid(s)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"ship"}`, "Idempotency-Key", "ship")
	s.want(s.callbackTo("/v1/callbacks/carrier", "rep_1", reported("o-1", "returned"), nil), http.StatusOK, "")

	var page struct{ Reports []struct{ Ref string } }
	s.must("GET", "/v1/callbacks/carrier/reports?effect=attention", "").read(s.t, &page)

	return page.Reports[0].Ref
}

func edited(s *apiServer) {
	s.must("POST", "/v1/orders/o-1/notes", `{"text":"later"}`, "Idempotency-Key", "later")
}

func onHold(s *apiServer) {
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "later")
}

func reserved(s *apiServer) string {
	s.must("PUT", "/v1/inventory/mug", `{"available":10}`)
	s.must("PUT", "/v1/reservations/b-1", `{"lines":[{"sku":"mug","quantity":3}]}`)

	return ""
}

func funded(s *apiServer) string {
	s.open("bank", `,"overdraft":true,"side":"debit"`)
	s.open("alice", "")
	s.must("PUT", "/v1/transfers/t-0", legs(`{"account":"bank","amount":-1000},{"account":"alice","amount":1000}`))

	return ""
}

func held(s *apiServer) string {
	funded(s)
	s.must("PUT", "/v1/accounts/alice/holds/h-1", `{"amount":600,"currency":"EUR"}`)

	return ""
}

func captured(s *apiServer) string {
	s.authorize("p-1")
	s.must("PUT", "/v1/payments/p-1/captures/c-0", `{"amount":300}`)

	return ""
}

func refundedLater(s *apiServer) { s.must("PUT", "/v1/payments/p-1/refunds/r-later", `{"amount":1}`) }

func coupon(s *apiServer) string {
	s.must("PUT", "/v1/actions/SPRING-26", `{"payload":{"percent":10},`+end2030+`}`)
	return ""
}

func claimed(s *apiServer) string {
	return s.must("POST", "/v1/claims/k", `{"payload":1}`).field("ticket")
}

// repeats are all operations that change something.
var repeats = []repeated{
	{
		operation: "create-order", path: "/v1/orders", body: mugs, keyed: true, status: 201,
		between: func(s *apiServer) {
			id := s.must("GET", "/v1/orders", "").text
			id = id[strings.Index(id, `"o-`)+1:]
			s.must("POST", "/v1/orders/"+id[:strings.Index(id, `"`)]+"/notes", `{"text":"later"}`, "Idempotency-Key", "later")
		},
		other: `{"total":{"amount":1,"currency":"EUR"}}`, code: keyTaken,
	},
	{
		operation: "put-order", path: "/v1/orders/o-1", body: mugs, status: 201, between: onHold,
		other: `{"total":{"amount":1,"currency":"EUR"}}`, code: "conflict",
	},
	{
		operation: "apply-transition", path: "/v1/orders/o-1/transitions", body: `{"event":"pay"}`, keyed: true, setup: placed, status: 200,
		between: func(s *apiServer) {
			s.must("POST", "/v1/orders/o-1/transitions", `{"event":"cancel"}`, "Idempotency-Key", "later")
		},
		other: `{"event":"cancel"}`, code: keyTaken, apart: "order",
	},
	{
		operation: "ship-parcel", path: "/v1/orders/o-1/parcels/JD-1", body: `{"lines":[{"sku":"mug","quantity":1}]}`, setup: placedAndPaid, status: 200,
		between: func(s *apiServer) {
			s.must("PUT", "/v1/orders/o-1/parcels/JD-2", `{"lines":[{"sku":"mug","quantity":1}]}`)
		},
		other: `{"lines":[{"sku":"mug","quantity":2}]}`, code: "conflict", apart: "order",
	},
	{
		operation: "add-items", path: "/v1/orders/o-1/items", body: cups, keyed: true, setup: placed, status: 200, between: edited,
		other: teapots, code: keyTaken,
	},
	{
		operation: "add-reserved-items", path: "/v1/orders/o-1/reserved-items", body: cups, keyed: true, status: 200, between: edited,
		setup: func(s *apiServer) string { s.must("PUT", "/v1/inventory/cup", `{"available":5}`); return placed(s) },
		other: teapots, code: keyTaken,
	},
	{
		operation: "change-item", path: "/v1/orders/o-1/items/mug", body: `{"quantity":3,"price":1250}`, keyed: true, setup: placed, status: 200, between: edited,
		other: `{"quantity":4,"price":1250}`, code: keyTaken,
	},
	{operation: "remove-item", path: "/v1/orders/o-1/items/mug", keyed: true, setup: placed, status: 200, between: edited},
	{
		operation: "set-address", path: "/v1/orders/o-1/addresses/shipping", body: `{"city":"Berlin"}`, keyed: true, setup: placed, status: 200, between: edited,
		other: `{"city":"Rome"}`, code: keyTaken,
	},
	{
		operation: "add-note", path: "/v1/orders/o-1/notes", body: `{"text":"ring"}`, keyed: true, setup: placed, status: 200, between: edited,
		other: `{"text":"knock"}`, code: keyTaken,
	},
	{
		operation: "schedule-transition", path: "/v1/orders/o-1/scheduled", body: `{"event":"cancel","at":"` + soon + `"}`, keyed: true, setup: placed, status: 202,
		other: `{"event":"pay","at":"` + soon + `"}`, code: keyTaken,
	},
	{operation: "move-scheduled-transition", path: "/v1/orders/o-1/scheduled/$", body: `{"at":"` + soonish + `"}`, setup: awaited, status: 200, exception: "without a key, it cannot be told from the first; it changes nothing, and the answer is the request as it is"},
	{operation: "plan-migration", path: "/v1/workflow/migration", body: `{}`, status: 200, exception: "it changes nothing, and says what would be done now"},
	{operation: "withdraw-scheduled-transition", path: "/v1/orders/o-1/scheduled/$", setup: awaited, status: 200, exception: "without a key, it cannot be told from the first; it changes nothing, and the answer is the request as it is"},
	{
		operation: "set-own", path: "/v1/orders/o-1/own", body: `{"own":{"set":{"a":{"S":"x"}}}}`, keyed: true, setup: placed, status: 200, between: edited,
		other: `{"own":{"set":{"a":{"S":"y"}}}}`, code: keyTaken,
	},
	{
		operation: "set-stock", path: "/v1/inventory/mug", body: `{"available":10}`, keyed: true, status: 200,
		between: func(s *apiServer) { s.must("PUT", "/v1/reservations/b-1", `{"lines":[{"sku":"mug","quantity":3}]}`) },
		other:   `{"available":11}`, code: keyTaken,
	},
	{
		operation: "reserve-stock", path: "/v1/reservations/b-1", body: `{"lines":[{"sku":"mug","quantity":3}],` + end2030 + `}`, status: 200,
		setup: func(s *apiServer) string { s.must("PUT", "/v1/inventory/mug", `{"available":10}`); return "" },
		other: `{"lines":[{"sku":"mug","quantity":2}],` + end2030 + `}`, code: "conflict",
	},
	{operation: "commit-stock", path: "/v1/reservations/b-1/commit", setup: reserved, status: 200},
	{operation: "release-stock", path: "/v1/reservations/b-1/release", setup: reserved, status: 200},
	{
		operation: "create-action", path: "/v1/actions", body: `{"payload":1,` + end2030 + `}`, keyed: true, status: 201,
		other: `{"payload":2,` + end2030 + `}`, code: keyTaken,
	},
	{
		operation: "put-action", path: "/v1/actions/SPRING-26", body: `{"payload":{"percent":10},` + end2030 + `}`, status: 201,
		between: func(s *apiServer) { s.must("POST", "/v1/actions/SPRING-26/cancel", "") },
		other:   `{"payload":{"percent":20},` + end2030 + `}`, code: "conflict",
	},
	{
		operation: "make-actions", path: "/v1/action-batches/spring", body: `{"prefix":"SPRING","count":2,` + end2030 + `}`, status: 200,
		other: `{"prefix":"SPRING","count":2,"payload":1,` + end2030 + `}`, code: "conflict",
	},
	{operation: "consume-action", path: "/v1/actions/SPRING-26/consume", body: `{}`, keyed: true, setup: coupon, status: 200},
	{operation: "reserve-action", path: "/v1/actions/SPRING-26/reserve", body: `{"seconds":60}`, keyed: true, setup: coupon, status: 200},
	{
		operation: "release-action", path: "/v1/actions/SPRING-26/release", body: `{"holder":"h","fence":$}`, status: 200,
		setup: func(s *apiServer) string {
			coupon(s)
			return s.must("POST", "/v1/actions/SPRING-26/reserve", `{"seconds":60}`, "Idempotency-Key", "h").field("fence")
		},
		other: `{"holder":"other","fence":$}`, code: "hold_lost",
	},
	{operation: "cancel-action", path: "/v1/actions/SPRING-26/cancel", setup: coupon, status: 200},
	{
		operation: "claim", path: "/v1/claims/k", body: `{"payload":1}`, keyed: true, status: 201,
		other: `{"payload":2}`, code: "claim_mismatch",
		exception: "the work may have begun, which the answer must say: taken_over",
	},
	{
		operation: "complete-claim", path: "/v1/claims/k/complete", body: `{"ticket":"$","result":1}`, setup: claimed, status: 200,
		other: `{"ticket":"$","result":2}`, code: "claim_ended",
	},
	{
		operation: "extend-claim", path: "/v1/claims/k/extend", body: `{"ticket":"$"}`, keyed: true, setup: claimed, status: 200,
		between: func(s *apiServer) { s.must("GET", "/v1/claims/k", "") },
		other:   `{"ticket":"x"}`, code: keyTaken,
	},
	{operation: "release-claim", path: "/v1/claims/k/release", body: `{"ticket":"$"}`, setup: claimed, status: 200},
	{
		operation: "fail-claim", path: "/v1/claims/k/fail", body: `{"ticket":"$","code":"a"}`, setup: claimed, status: 200,
		other: `{"ticket":"$","code":"b"}`, code: "claim_ended",
	},
	{
		operation: "acquire-lock", path: "/v1/locks/l", body: `{"holder":"a"}`, status: 201,
		other: `{"holder":"b"}`, code: "lock_held",
	},
	{
		operation: "open-account", path: "/v1/accounts/bank", body: `{"currency":"EUR","side":"debit","overdraft":true}`, status: 201,
		between: func(s *apiServer) {
			s.open("alice", "")
			s.must("PUT", "/v1/transfers/t", legs(`{"account":"bank","amount":-5},{"account":"alice","amount":5}`))
		},
		other: `{"currency":"USD","side":"debit","overdraft":true}`, code: "conflict",
	},
	{operation: "close-account", path: "/v1/accounts/alice/close", status: 200, setup: func(s *apiServer) string { s.open("alice", ""); return "" }},
	{
		operation: "hold-money", path: "/v1/accounts/alice/holds/h-1", body: `{"amount":600,"currency":"EUR"}`, setup: funded, status: 201,
		between: func(s *apiServer) { s.must("POST", "/v1/accounts/alice/holds/h-1/release", "") },
		other:   `{"amount":601,"currency":"EUR"}`, code: "conflict",
	},
	{operation: "release-hold", path: "/v1/accounts/alice/holds/h-1/release", setup: held, status: 200},
	{
		operation: "post-transfer", path: "/v1/transfers/t-1", setup: funded, status: 201,
		body:  `{"currency":"EUR","legs":[{"account":"bank","amount":-5},{"account":"alice","amount":5}],"reference":"a"}`,
		other: `{"currency":"EUR","legs":[{"account":"bank","amount":-6},{"account":"alice","amount":6}],"reference":"a"}`, code: "conflict",
	},
	{
		operation: "authorize-payment", path: "/v1/payments/p-1", status: 200,
		body: `{"orderId":"o-1","payer":"processor","payee":"shop","amount":1000,"currency":"EUR"}`,
		setup: func(s *apiServer) string {
			s.open("processor", `,"overdraft":true,"side":"debit"`)
			s.open("shop", "")
			return ""
		},
		between: func(s *apiServer) { s.must("PUT", "/v1/payments/p-1/captures/later", `{"amount":1}`) },
		other:   `{"orderId":"o-1","payer":"processor","payee":"shop","amount":1001,"currency":"EUR"}`, code: "conflict",
	},
	{
		operation: "capture-payment", path: "/v1/payments/p-1/captures/c-1", body: `{"amount":600}`, setup: captured, status: 200, between: refundedLater,
		other: `{"amount":600,"final":true}`, code: "conflict",
	},
	{
		operation: "refund-payment", path: "/v1/payments/p-1/refunds/r-1", body: `{"amount":100}`, setup: captured, status: 200, between: refundedLater,
		other: `{"amount":101}`, code: "conflict",
	},
	{operation: "void-payment", path: "/v1/payments/p-1/void", setup: captured, status: 200, between: refundedLater},
	{operation: "payment-callback", path: "/v1/callbacks/payments", body: succeeded("p-9/authorize", 5), status: 200},
	{operation: "carrier-callback", path: "/v1/callbacks/carrier", body: reported("o-1", "shipped"), setup: placedAndPaid, status: 200},
	{
		operation: "end-carrier-report", path: "/v1/callbacks/carrier/reports/$/done", body: `{"cause":{"text":"paid back by hand"}}`, setup: returned, status: 200,
	},
	{operation: "fail-parked-task", path: "/v1/orders/o-1/parked-tasks/SHIPPED", keyed: true, setup: parkedTask, status: 200},
	{
		operation: "complete-parked-task", path: "/v1/orders/o-1/parked-tasks/SHIPPED/complete", body: `{"output":{"a":1}}`, keyed: true, setup: waiting, status: 200,
		other: `{"output":{"a":2}}`, code: keyTaken,
	},
	{
		operation: "fail-parked-task-with-error", path: "/v1/orders/o-1/parked-tasks/SHIPPED/fail", body: `{"cause":"lost"}`, keyed: true, setup: waiting, status: 200,
		other: `{"cause":"found"}`, code: keyTaken,
	},
	{operation: "redrive-execution", path: "/v1/orders/o-1/execution/redrive", keyed: true, setup: failedExecution, status: 200},
	{
		operation: "repair-execution", path: "/v1/orders/o-1/execution/repair", body: `{"successor":true}`, keyed: true, setup: failedExecution, status: 200,
		other: `{}`, code: keyTaken,
	},
	{operation: "book-shipment-again", path: "/v1/orders/o-1/shipment/book-again", keyed: true, setup: bookable, status: 200},
	{operation: "pause-handler", path: "/v1/stream/handlers/notify/pause", keyed: true, setup: deadLetter, status: 200},
	{operation: "resume-handler", path: "/v1/stream/handlers/notify/resume", keyed: true, setup: deadLetter, status: 200},
	{operation: "erase-order", path: "/v1/orders/o-1/erase", body: `{}`, keyed: true, setup: erasable, status: 200, other: `{"dryRun":true}`, code: keyTaken},
	{
		operation: "create-job", path: "/v1/jobs", body: `{"kind":"executions-redrive"}`, keyed: true, status: 200,
		other: `{"kind":"executions-redrive","dryRun":true}`, code: keyTaken,
	},
	{operation: "pause-job", path: "/v1/jobs/$/pause", keyed: true, setup: aJob, status: 200},
	{operation: "resume-job", path: "/v1/jobs/$/resume", keyed: true, setup: aJob, status: 200},
	{operation: "stop-job", path: "/v1/jobs/$/stop", keyed: true, setup: aJob, status: 200},
	{operation: "ask-question", path: "/v1/questions/verify", keyed: true, status: 202},
	{operation: "discard-dead-letter", path: "/v1/dead-letters/notify/$/discard", keyed: true, setup: deadLetter, status: 200},
	{operation: "create-endpoint", path: "/v1/endpoints/shop", body: `{"destination":"log"}`, keyed: true, status: 201, other: `{"destination":"log","ordered":true}`, code: keyTaken},
	{operation: "change-endpoint", path: "/v1/endpoints/shop/settings", body: `{"destination":"log","rate":5}`, keyed: true, setup: anEndpoint, status: 200},
	{operation: "remove-endpoint", path: "/v1/endpoints/shop", keyed: true, setup: anEndpoint, status: 200},
	{operation: "enable-endpoint", path: "/v1/endpoints/shop/enable", keyed: true, setup: anEndpoint, status: 200},
	{operation: "disable-endpoint", path: "/v1/endpoints/shop/disable", keyed: true, setup: anEndpoint, status: 200},
	{operation: "rotate-endpoint-secret", path: "/v1/endpoints/shop/rotate-secret", body: `{"windowSeconds":60}`, keyed: true, setup: anEndpoint, status: 200},
	{operation: "test-endpoint", path: "/v1/endpoints/shop/test", keyed: true, setup: anEndpoint, status: 200},
	{operation: "resend", path: "/v1/orders/o-1/deliveries/2/shop/resend", keyed: true, setup: missedDelivery, status: 200},
	{
		operation: "redrive-dead-letters", path: "/v1/dead-letters/notify/redrive", body: `{"error":"refuses"}`, keyed: true, setup: deadLetter, status: 200,
		other: `{"error":"x"}`, code: keyTaken,
	},
	{operation: "replay-order", path: "/v1/orders/o-1/replay", body: `{"handler":"notify"}`, keyed: true, setup: placed, status: 200, other: `{}`, code: keyTaken},
	{operation: "redrive-dead-letter", path: "/v1/dead-letters/notify/$/redrive", keyed: true, setup: deadLetter, status: 200},
}

// soon and soonish are times for which a transition can be requested.
var (
	soon    = time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	soonish = time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
)

// awaited requests a transition for later, and returns its id.
func awaited(s *apiServer) string {
	placed(s)

	return strings.Trim(s.must("POST", "/v1/orders/o-1/scheduled", `{"event":"cancel","at":"`+soon+`"}`, "Idempotency-Key", "soon").field("id"), `"`)
}

func waiting(s *apiServer) string { s.waitForShipment("o-1"); return "" }

func parkedTask(s *apiServer) string {
	placed(s)
	s.park(tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "the-token"})

	return ""
}

func deadLetter(s *apiServer) string {
	placed(s)
	s.createDeadLetters(streams.Handler{Name: "notify", Handle: refuses}, 1)

	var page struct{ Letters []struct{ ID string } }
	s.must("GET", "/v1/dead-letters/notify", "").read(s.t, &page)

	return page.Letters[0].ID
}

// The table has a row for every operation that changes something, so a new one needs a row.
func TestEveryOperationThatChangesSomethingHasARuleForRepeats(t *testing.T) {
	var rows, document []string
	for _, row := range repeats {
		rows = append(rows, row.operation)
	}

	for _, o := range operations(t) {
		if o.method != http.MethodGet {
			document = append(document, o.id)
		}
	}

	slices.Sort(rows)

	if !slices.Equal(rows, document) {
		t.Errorf("the rows  %v\noperations %v", rows, document)
	}
}

// repeatHandler handles the dead letters that are redriven.
var repeatHandler = streams.Handler{Name: "notify", Handle: func(context.Context, streams.Record) error { return nil }}

func TestARepeatGetsTheFirstAnswer(t *testing.T) {
	byID := map[string]operation{}
	for _, o := range operations(t) {
		byID[o.id] = o
	}

	for i, row := range repeats {
		if testing.Short() && i%3 > 0 {
			continue
		}

		t.Run(row.operation, func(t *testing.T) {
			s := newAPIServer(t, func(c *api.Config) { dev(c); withProcesses(t)(c); c.Handlers = []streams.Handler{repeatHandler} })

			value := ""
			if row.setup != nil {
				value = row.setup(s)
			}
			in := strings.NewReplacer("$", value)

			send := func(body, key string) answer {
				if strings.HasSuffix(row.operation, "-callback") {
					return s.callbackTo(row.path, "evt-1", body, nil)
				}

				if !row.keyed {
					return s.ask(byID[row.operation].method, in.Replace(row.path), in.Replace(body))
				}

				return s.ask(byID[row.operation].method, in.Replace(row.path), in.Replace(body), "Idempotency-Key", key)
			}

			first := s.want(send(row.body, "abc"), row.status, "")
			if first.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("the first answer says that it is a repeat: %s", first.text)
			}

			if row.between != nil {
				row.between(s)
			}

			// Keys with and without quotes are the same key.
			for _, key := range []string{"abc", `"abc"`} {
				again := s.want(send(row.body, key), row.status, "")
				if row.exception != "" {
					continue
				}

				if again.Header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("the repeat does not say that it is one: %s", again.text)
				}

				if got, want := without(t, again, row.apart), without(t, first, row.apart); got != want {
					t.Errorf("the repeat got %s\nthe first       %s", got, want)
				}

				if row.apart == "" && again.Header.Get("ETag") != first.Header.Get("ETag") {
					t.Errorf("ETag %s, first %s", again.Header.Get("ETag"), first.Header.Get("ETag"))
				}
			}

			if row.other != "" {
				s.want(send(row.other, "abc"), http.StatusConflict, row.code)
			}
		})
	}
}

// without returns the body of the answer without the member.
func without(t *testing.T, a answer, member string) string {
	t.Helper()

	if member == "" {
		return a.text
	}

	var body map[string]any
	a.read(t, &body)

	if body[member] == nil {
		t.Errorf("no member %s: %s", member, a.text)
	}
	delete(body, member)

	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// Without a key, each of these requests is a new one.
func TestARequestWithoutItsOptionalKeyIsANewOne(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/inventory/mug", `{"available":10}`)
	s.must("PUT", "/v1/reservations/b-1", `{"lines":[{"sku":"mug","quantity":3}]}`)

	if a := s.must("PUT", "/v1/inventory/mug", `{"available":10}`); a.field("reserved") != "3" || a.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%v %s", a.Header, a.text)
	}
}

// The answer is stored before it is sent. Without an answer, the request is sent again, and finds
// the work of the first request.
func TestAnAnswerThatCannotBeStoredIsNotGiven(t *testing.T) {
	s := newAPIServer(t, dev)
	placed(s)

	storing := embeddedtest.Answer("ProvisionedThroughputExceededException", "PutItem")
	storing.Match = func(c *embeddedtest.Call) bool { return strings.Contains(string(c.Body()), `"answer#`) }
	s.transport.Inject(storing)
	s.want(s.ask("POST", "/v1/orders/o-1/items", cups, "Idempotency-Key", "a"), http.StatusServiceUnavailable, "unavailable")
	s.transport.Clear()

	first := s.must("POST", "/v1/orders/o-1/items", cups, "Idempotency-Key", "a")
	if first.field("contentVersion") != "1" || first.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v %s", first.Header, first.text)
	}
	edited(s)

	if again := s.must("POST", "/v1/orders/o-1/items", cups, "Idempotency-Key", "a"); again.text != first.text {
		t.Errorf("%s\nfirst %s", again.text, first.text)
	}
}

// A lost answer of the data store is no other request.
func TestAStoredAnswerIsRecognizedAsItsOwn(t *testing.T) {
	s := newAPIServer(t, dev)
	reserved(s)

	lost := embeddedtest.LoseAnswer("PutItem")
	lost.Match = func(c *embeddedtest.Call) bool { return strings.Contains(string(c.Body()), `"answer#`) }
	lost.Times = 1
	s.transport.Inject(lost)

	if a := s.must("POST", "/v1/reservations/b-1/commit", ""); a.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first answer says that it is a repeat")
	}
}

// Answers contain secrets. The table does not show them.
func TestStoredAnswersAreEncrypted(t *testing.T) {
	s := newAPIServer(t, dev)

	var written []string
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("PutItem") && strings.Contains(string(c.Body()), `"answer#`) {
			written = append(written, string(c.Body()))
		}

		return nil
	})

	id := s.must("POST", "/v1/actions", `{"payload":"a",`+end2030+`}`, "Idempotency-Key", "the-key").field("id")
	if len(written) != 1 || strings.Contains(written[0], id) || strings.Contains(written[0], "the-key") || strings.Contains(written[0], "2030-") {
		t.Errorf("%v shows %s", written, id)
	}
}

// A malformed quoted key is refused, not taken as it is.
func TestAMalformedQuotedKeyIsRefused(t *testing.T) {
	s := newAPIServer(t, dev)
	for _, key := range []string{`"abc`, `"a"b"`, `"a\c"`, `""`, `"`} {
		s.want(s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", key), http.StatusUnprocessableEntity, "invalid_request")
	}

	first := s.must("POST", "/v1/orders", mugs, "Idempotency-Key", `"a\"b\\c"`)
	if again := s.must("POST", "/v1/orders", mugs, "Idempotency-Key", `a"b\c`); again.field("orderId") != first.field("orderId") {
		t.Errorf("%s, %s", first.field("orderId"), again.field("orderId"))
	}
}

// Two tenants, and two operations, may use the same key.
func TestAnswersBelongToTheirTenantAndOperation(t *testing.T) {
	s := newAPIServer(t, nil)
	one, other := s.key("acme", "admin"), s.key("other", "admin")

	for i, bearer := range []string{one, other} {
		a := s.must("PUT", "/v1/inventory/mug", fmt.Sprintf(`{"available":%d}`, i+1), "Authorization", bearer, "Idempotency-Key", "k")
		if a.field("available") != fmt.Sprint(i+1) || a.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s", a.text)
		}
	}

	if a := s.must("PUT", "/v1/inventory/cup", `{"available":9}`, "Authorization", one, "Idempotency-Key", "k"); a.field("available") != "9" {
		t.Errorf("another path: %s", a.text)
	}
}

func TestAnAnswerIsKeptForFortyEightHours(t *testing.T) {
	s := newAPIServer(t, dev)
	placed(s)

	var row struct{ Item map[string]map[string]string }
	s.transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("PutItem") && strings.Contains(string(c.Body()), `"answer#`) {
			return json.Unmarshal(c.Body(), &row)
		}

		return nil
	})

	began := time.Now()
	s.must("POST", "/v1/orders/o-1/items", cups, "Idempotency-Key", "a")

	// In whole seconds, rounded down.
	end, err := strconv.ParseInt(row.Item["expiresAt"]["N"], 10, 64)
	if kept := time.Unix(end, 0).Sub(began); err != nil || kept < 48*time.Hour-time.Second || kept > 49*time.Hour {
		t.Errorf("kept for %s, %v", kept, err)
	}
}
