package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ratchet/api/auth"
)

func TestTransitionsAreScheduledMovedAndWithdrawn(t *testing.T) {
	s := newAPIServer(t, nil)
	own, other := s.key(auth.DefaultTenant, auth.Act), s.key("other", auth.Act)
	ask := func(method, path, body string, headers ...string) answer {
		return s.ask(method, path, body, append(headers, "Authorization", own)...)
	}
	ask("PUT", "/v1/orders/o-1", mugs)

	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	body := fmt.Sprintf(`{"event":"cancel","at":%q,"cause":{"code":"late"}}`, at.Format(time.RFC3339))
	path := "/v1/orders/o-1/scheduled"

	first := s.want(ask("POST", path, body, "Idempotency-Key", "k-1"), http.StatusAccepted, "")
	id := strings.Trim(first.field("id"), `"`)

	if first.field("status") != "pending" || first.Header.Get("Idempotent-Replayed") != "" || !strings.Contains(first.text, `"late"`) {
		t.Errorf("%s", first.text)
	}

	if again := s.want(ask("POST", path, body, "Idempotency-Key", "k-1"), http.StatusAccepted, ""); again.Header.Get("Idempotent-Replayed") != "true" || again.field("id") != first.field("id") {
		t.Errorf("the repeat: %s", again.text)
	}

	for _, row := range []struct {
		method, path, body, key string
		status                  int
		code                    string
	}{
		{"POST", path, strings.Replace(body, "cancel", "ship", 1), "k-1", http.StatusConflict, "idempotency_key_reused"},
		{"POST", path, `{"event":"cancel","at":"2020-01-01T00:00:00Z"}`, "k-2", http.StatusConflict, "time_out_of_range"},
		{"POST", path, `{"event":"cancel","at":"9999-12-31T23:59:59Z"}`, "k-2", http.StatusConflict, "time_out_of_range"},
		{"POST", path, `{"event":"cancel"}`, "k-2", http.StatusUnprocessableEntity, "invalid_request"},
		{"POST", path, body, "payment/paid", http.StatusUnprocessableEntity, "invalid_request"},
		{"POST", "/v1/orders/o-2/scheduled", body, "k-2", http.StatusNotFound, "order_not_found"},
		{"GET", path + "/" + strings.Repeat("0", 32), "", "", http.StatusNotFound, "scheduled_not_found"},
		{"GET", "/v1/orders/o-2/scheduled", "", "", http.StatusNotFound, "order_not_found"},
	} {
		headers := []string{}
		if row.key != "" {
			headers = append(headers, "Idempotency-Key", row.key)
		}
		s.want(ask(row.method, row.path, row.body, headers...), row.status, row.code)
	}

	s.want(s.ask("GET", path+"/"+id, "", "Authorization", other), http.StatusNotFound, "scheduled_not_found")
	s.want(s.ask("DELETE", path+"/"+id, "", "Authorization", other), http.StatusNotFound, "scheduled_not_found")

	moved := fmt.Sprintf(`{"at":%q}`, at.Add(time.Hour).Format(time.RFC3339))
	for range 2 {
		if a := s.want(ask("PUT", path+"/"+id, moved), http.StatusOK, ""); !strings.Contains(moved, a.field("at")) {
			t.Errorf("moved: %s", a.text)
		}
	}

	if a := s.want(ask("GET", path, ""), http.StatusOK, ""); strings.Count(a.text, `"pending"`) != 1 {
		t.Errorf("the list: %s", a.text)
	}

	for range 2 {
		if a := s.want(ask("DELETE", path+"/"+id, ""), http.StatusOK, ""); a.field("status") != "withdrawn" {
			t.Errorf("withdrawn: %s", a.text)
		}
	}
	s.want(ask("PUT", path+"/"+id, moved), http.StatusConflict, "scheduled_ended")
}

func TestAScheduledTransitionShowsItsVerdict(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/orders/o-1", mugs)

	for n, row := range []struct{ event, status, verdict string }{{"ship", "refused", "WrongState"}, {"cancel", "applied", "Applied"}} {
		body := fmt.Sprintf(`{"event":%q,"at":%q}`, row.event, time.Now().Add(-10*time.Second).UTC().Format(time.RFC3339))
		id := strings.Trim(s.want(s.ask("POST", "/v1/orders/o-1/scheduled", body, "Idempotency-Key", fmt.Sprint("k-", n)), http.StatusAccepted, "").field("id"), `"`)

		if _, err := s.cfg.Scheduled.Sweep(t.Context(), 10); err != nil {
			t.Fatal(err)
		}

		a := s.want(s.ask("GET", "/v1/orders/o-1/scheduled/"+id, ""), http.StatusOK, "")
		if a.field("status") != row.status || a.field("verdict") != row.verdict || row.status == "applied" && a.field("transitionId") != "2" {
			t.Errorf("%s: %s", row.event, a.text)
		}
	}
}

func TestScheduledTransitionsHavePages(t *testing.T) {
	s := newAPIServer(t, nil)
	bearer := s.key(auth.DefaultTenant, auth.Act)
	s.must("PUT", "/v1/orders/o-1", mugs, "Authorization", bearer)

	for n := range 5 {
		body := fmt.Sprintf(`{"event":"cancel","at":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		s.must("POST", "/v1/orders/o-1/scheduled", body, "Authorization", bearer, "Idempotency-Key", fmt.Sprint("k-", n))
	}

	if found := s.collect("/v1/orders/o-1/scheduled", "scheduled", "id", bearer); len(found) != 5 {
		t.Errorf("%v", found)
	}
}
