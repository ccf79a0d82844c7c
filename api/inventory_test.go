package api_test

import (
	"net/http"
	"testing"
	"time"
)

// The answer shows the end that the reservation has, or is a conflict.
func TestTheEndOfAReservationMovesOnlyForward(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/inventory/mug", `{"available":10}`), http.StatusOK, "")

	at := func(d time.Duration) string {
		return `,"expiresAt":"` + time.Now().Add(d).UTC().Format(time.RFC3339) + `"`
	}
	first, later := at(time.Hour), at(2*time.Hour)

	for _, test := range []struct {
		about, end string
		status     int
		code       string
	}{
		{about: "an end", end: first, status: http.StatusOK},
		{about: "the same end", end: first, status: http.StatusOK},
		{about: "an earlier end", end: at(time.Minute), status: http.StatusConflict, code: "conflict"},
		{about: "a later end", end: later, status: http.StatusOK},
		{about: "the former end", end: first, status: http.StatusConflict, code: "conflict"},
		{about: "no end", end: "", status: http.StatusOK},
		{about: "an end again", end: later, status: http.StatusConflict, code: "conflict"},
	} {
		t.Log(test.about)
		answer := s.ask("PUT", "/v1/reservations/b-1", `{"lines":[{"sku":"mug","quantity":3}]`+test.end+`}`)
		s.want(answer, test.status, test.code)

		if shown := s.ask("GET", "/v1/reservations/b-1", ""); test.status == http.StatusOK && shown.field("expiresAt") != answer.field("expiresAt") {
			t.Errorf("the answer says that it ends %v, but it ends %v", answer.field("expiresAt"), shown.field("expiresAt"))
		}
	}
}
