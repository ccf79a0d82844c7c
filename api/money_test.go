package api_test

import (
	"net/http"
	"testing"
)

// open opens an account in EUR.
func (s *apiServer) open(account, more string) {
	s.t.Helper()
	s.want(s.ask("PUT", "/v1/accounts/"+account, `{"currency":"EUR"`+more+`}`), http.StatusCreated, "")
}

// legs returns the body of a transfer in EUR.
func legs(more string) string { return `{"currency":"EUR","legs":[` + more + `]}` }

func TestATransferIsPostedOnce(t *testing.T) {
	s := newAPIServer(t, dev)
	s.open("bank", `,"overdraft":true,"side":"debit"`)
	s.open("alice", "")
	fund := legs(`{"account":"bank","amount":-1000},{"account":"alice","amount":1000}`)
	s.want(s.ask("PUT", "/v1/transfers/t-1", fund), http.StatusCreated, "")

	if a := s.want(s.ask("PUT", "/v1/transfers/t-1", fund), http.StatusCreated, ""); a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v", a.Header)
	}
	s.want(s.ask("PUT", "/v1/transfers/t-1", legs(`{"account":"bank","amount":-1},{"account":"alice","amount":1}`)), http.StatusConflict, "conflict")
	s.want(s.ask("PUT", "/v1/transfers/t-2", legs(`{"account":"alice","amount":-1001},{"account":"bank","amount":1001}`)), http.StatusConflict, "insufficient_funds")
	s.want(s.ask("PUT", "/v1/transfers/t-3", legs(`{"account":"alice","amount":-1},{"account":"nobody","amount":1}`)), http.StatusNotFound, "account_not_found")
	s.want(s.ask("PUT", "/v1/transfers/t-4", legs(`{"account":"alice","amount":-1},{"account":"bank","amount":2}`)), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("PUT", "/v1/transfers/t-5", legs(`{"account":"alice","amount":-1},{"account":"alice","amount":1}`)), http.StatusUnprocessableEntity, "invalid_request")

	if a := s.want(s.ask("GET", "/v1/accounts/alice", ""), http.StatusOK, ""); a.field("balance") != "1000" || a.field("available") != "1000" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/transfers/t-1", ""), http.StatusOK, "")
	s.want(s.ask("GET", "/v1/transfers/t-2", ""), http.StatusNotFound, "transfer_not_found")

	if a := s.want(s.ask("GET", "/v1/accounts/alice/entries", ""), http.StatusOK, ""); a.field("next") != "null" || len(a.text) < 50 {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("POST", "/v1/accounts/alice/close", ""), http.StatusConflict, "account_in_use")
	s.want(s.ask("GET", "/v1/accounts", ""), http.StatusOK, "")
}

func TestAHoldReservesMoneyForTransfers(t *testing.T) {
	s := newAPIServer(t, dev)
	s.open("bank", `,"overdraft":true`)
	s.open("alice", "")
	s.want(s.ask("PUT", "/v1/transfers/t-1", legs(`{"account":"bank","amount":-1000},{"account":"alice","amount":1000}`)), http.StatusCreated, "")
	hold := "/v1/accounts/alice/holds/h-1"
	body := `{"amount":600,"currency":"EUR"}`
	s.want(s.ask("PUT", hold, body), http.StatusCreated, "")
	s.want(s.ask("PUT", hold, body), http.StatusCreated, "")
	s.want(s.ask("PUT", hold, `{"amount":601,"currency":"EUR"}`), http.StatusConflict, "conflict")
	s.want(s.ask("PUT", "/v1/accounts/alice/holds/h-2", body), http.StatusConflict, "insufficient_funds")
	s.want(s.ask("PUT", "/v1/transfers/t-2", legs(`{"account":"alice","amount":-500,"hold":"h-1","release":true},{"account":"bank","amount":500}`)), http.StatusCreated, "")

	if a := s.want(s.ask("GET", hold, ""), http.StatusOK, ""); a.field("status") != "settled" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("POST", hold+"/release", ""), http.StatusConflict, "hold_closed")
	s.want(s.ask("PUT", "/v1/accounts/alice/holds/h-3", `{"amount":100,"currency":"EUR"}`), http.StatusCreated, "")
	s.want(s.ask("POST", "/v1/accounts/alice/holds/h-3/release", ""), http.StatusOK, "")
	s.want(s.ask("GET", "/v1/accounts/alice/holds/h-9", ""), http.StatusNotFound, "hold_not_found")
}

func TestStockIsReservedCommittedAndReleased(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":5}`), http.StatusOK, "")
	lines := `{"lines":[{"sku":"mug","quantity":3}]}`
	s.want(s.ask("PUT", "/v1/reservations/o-1", lines), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/reservations/o-1", lines), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/reservations/o-1", `{"lines":[{"sku":"mug","quantity":1}]}`), http.StatusConflict, "conflict")
	s.want(s.ask("PUT", "/v1/reservations/o-2", lines), http.StatusConflict, "out_of_stock")

	if a := s.want(s.ask("GET", "/v1/reservations/o-1", ""), http.StatusOK, ""); a.field("status") != "reserved" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("POST", "/v1/reservations/o-1/commit", ""), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/reservations/o-1/release", ""), http.StatusConflict, "reservation_closed")
	s.want(s.ask("POST", "/v1/reservations/o-3/release", ""), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/reservations/o-3", `{"lines":[{"sku":"mug","quantity":1}]}`), http.StatusConflict, "reservation_closed")

	if a := s.want(s.ask("GET", "/v1/inventory/mug", ""), http.StatusOK, ""); a.field("available") != "2" || a.field("committed") != "3" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/inventory/cup", ""), http.StatusNotFound, "sku_not_found")
	s.want(s.ask("GET", "/v1/reservations/o-9", ""), http.StatusNotFound, "reservation_not_found")
}
