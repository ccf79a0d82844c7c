package api_test

import (
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"

	"ratchet/api/auth"
)

var drawnMoment = regexp.MustCompile(`<a href="#m([0-9]+)" class="[^"]*" data-at="([^"]+)">`)

// TestAPartOfATimeLineIsDrawn: the moments between two of them, which still lead to their lines.
func TestAPartOfATimeLineIsDrawn(t *testing.T) {
	s := newAPIServer(t, dev)
	s.must("PUT", "/v1/orders/o-1", mugs)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold","transitionId":2}`, "Idempotency-Key", "k-2")
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"release","transitionId":3}`, "Idempotency-Key", "k-3")
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"cancel","transitionId":4}`, "Idempotency-Key", "k-4")

	p, by := s.pages(), whose(auth.DefaultTenant, auth.Admin)

	all := drawnMoment.FindAllStringSubmatch(p.wantPage(by, "/console/orders/o-1").text, -1)
	if len(all) < 4 {
		t.Fatalf("%d moments are drawn", len(all))
	}
	from, to := all[1], all[len(all)-2]

	part := drawnMoment.FindAllStringSubmatch(p.wantPage(by, "/console/orders/o-1?from="+url.QueryEscape(from[2])+"&to="+url.QueryEscape(to[2]), `selected>`).text, -1)
	if len(part) == 0 {
		t.Fatal("nothing is drawn")
	}

	for _, m := range part {
		if at := momentOf(t, m[2]); at.Before(momentOf(t, from[2])) || at.After(momentOf(t, to[2])) {
			t.Errorf("the moment of %s is drawn, outside of %s to %s", m[2], from[2], to[2])
		}
	}

	// Moments of one time are drawn together.
	first := slices.IndexFunc(all, func(m []string) bool { return m[2] == from[2] })
	if part[0][1] != all[first][1] {
		t.Errorf("the first moment leads to line %s, want %s", part[0][1], all[first][1])
	}

	// What is no time is no bound, and a range may be empty.
	if got := drawnMoment.FindAllString(p.wantPage(by, "/console/orders/o-1?from=x&to=%3Cb%3E").text, -1); len(got) != len(all) {
		t.Errorf("without times: %d moments, want %d", len(got), len(all))
	}
	p.wantPage(by, "/console/orders/o-1?from=2999-01-01T00:00:00Z&to=2000-01-01T00:00:00Z")
}

// momentOf is the time that a page carries. As texts, times of RFC 3339 are not in order: "13.45Z" is
// before "13.455Z".
func momentOf(t *testing.T, text string) time.Time {
	t.Helper()

	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}

	return at
}
