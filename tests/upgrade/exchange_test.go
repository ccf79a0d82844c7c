//go:build upgrade

package upgrade

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// exchange begins work at one server and goes on at one of the other version: claims, actions, locks and
// transfers.
func (d *deployment) exchange(one, other string) {
	d.t.Helper()

	// Ids differ between the calls of exchange.
	d.exchanges++
	id := fmt.Sprint("exchange-", d.exchanges)

	for _, step := range []struct {
		server, method, path, key, body string
		status                          int
		answer                          string // a part of it
	}{
		{one, "PUT", "/v1/accounts/" + id + "-bank", "", `{"currency":"EUR","side":"debit","overdraft":true}`, 201, `"balance":0`},
		{other, "PUT", "/v1/accounts/" + id, "", `{"currency":"EUR"}`, 201, `"balance":0`},
		{one, "PUT", "/v1/transfers/" + id, "", `{"currency":"EUR","legs":[{"account":"ID-bank","amount":-900},{"account":"ID","amount":900}]}`, 201, `"transferId":"ID"`},
		{other, "PUT", "/v1/transfers/" + id, "", `{"currency":"EUR","legs":[{"account":"ID-bank","amount":-900},{"account":"ID","amount":900}]}`, 201, `"transferId":"ID"`},
		{other, "PUT", "/v1/transfers/" + id, "", `{"currency":"EUR","legs":[{"account":"ID-bank","amount":-901},{"account":"ID","amount":901}]}`, 409, "conflict"},
		{other, "PUT", "/v1/accounts/" + id + "/holds/h", "", `{"amount":600,"currency":"EUR"}`, 201, `"remaining":600`},
		{one, "PUT", "/v1/transfers/" + id + "-back", "", `{"currency":"EUR","legs":[{"account":"ID","amount":-500,"hold":"h","release":true},{"account":"ID-bank","amount":500}]}`, 201, ""},
		{other, "GET", "/v1/accounts/" + id, "", "", 200, `"balance":400`},

		{one, "PUT", "/v1/actions/" + id, "", `{"payload":{"percent":10},"pin":"4711","expiresAt":"EXPIRES"}`, 201, `"active"`},
		{other, "POST", "/v1/actions/" + id + "/consume", "first", `{"pin":"0000"}`, 403, "invalid_pin"},
		{other, "POST", "/v1/actions/" + id + "/consume", "second", `{"pin":"4711"}`, 200, `"consumed"`},
		{one, "POST", "/v1/actions/" + id + "/consume", "second", `{"pin":"4711"}`, 200, `"consumed"`},
		{one, "POST", "/v1/actions/" + id + "/consume", "third", `{"pin":"4711"}`, 409, "already_used"},

		{one, "PUT", "/v1/locks/" + id, "", `{"holder":"pod-1"}`, 201, "pod-1"},
		{other, "PUT", "/v1/locks/" + id, "", `{"holder":"pod-2"}`, 409, "lock_held"},

		{one, "POST", "/v1/claims/" + id, "", `{"payload":{"amount":5}}`, 201, "ticket"},
		{other, "POST", "/v1/claims/" + id, "", `{"payload":{"amount":5}}`, 409, "in_progress"},
		{other, "POST", "/v1/claims/" + id + "/extend", "", `{"ticket":"TICKET"}`, 200, "extended"},
		{other, "POST", "/v1/claims/" + id + "/complete", "", `{"ticket":"TICKET","result":{"refund":"r-1"}}`, 200, "completed"},
		{one, "POST", "/v1/claims/" + id, "", `{"payload":{"amount":5}}`, 200, `"refund":"r-1"`},
		{one, "POST", "/v1/claims/" + id, "", `{"payload":{"amount":6}}`, 409, "claim_mismatch"},
	} {
		body := strings.NewReplacer("EXPIRES", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "ID", id, "TICKET", d.ticket).Replace(step.body)
		key := step.key
		if key != "" {
			key = id + "-" + key
		}

		got, err := call(d.ctx, step.server, step.method, step.path, key, d.load.key, []byte(body))
		if err != nil || got.status != step.status || !strings.Contains(got.text, strings.ReplaceAll(step.answer, "ID", id)) {
			d.t.Errorf("%s %s %s: %d %s, %v; want %d and %s", step.method, step.server+step.path, body, got.status, got.text, err, step.status, step.answer)
		}

		var held struct{ Ticket string }
		if json.Unmarshal([]byte(got.text), &held) == nil && held.Ticket != "" {
			d.ticket = held.Ticket
		}
	}
}
