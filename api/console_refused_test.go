package api_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/inspect"
	"ratchet/transitions/refusals"
)

// noted are the refusals of every order.
type noted struct{ refusals.Entries }

func (n *noted) Of(context.Context, string) (refusals.Entries, error) { return n.Entries, nil }

// add notes a refusal that is after everything before it, and before everything after it.
func (n *noted) add(event, code, text string, count int64) {
	for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
	}
	now := time.Now()
	n.List = append(n.List, refusals.Entry{Event: event, Code: code, Text: text, Count: count, First: now, Last: now})

	for time.Since(now) < 2*time.Millisecond {
	}
}

var drawnRefusal = regexp.MustCompile(`<text [^>]*class="label refused" data-edge="\(refused\) ([^"]*)"[^>]*><title>([^<]*)</title>([^<]*)</text>`)

// TestThePictureOfAnOrderShowsWhatWasRefused: a dashed line at the state in which the order was, with the reason, for each of the
// newest kinds of refusals. The others are counted.
func TestThePictureOfAnOrderShowsWhatWasRefused(t *testing.T) {
	var log noted
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.Around = inspect.Around{Refusals: &log}
	})
	p, by := s.pages(), whose(auth.DefaultTenant, auth.Admin)
	drawn := func(texts ...string) (all [][]string) {
		t.Helper()

		for _, m := range drawnRefusal.FindAllStringSubmatch(p.wantPage(by, "/console/orders/o-1", texts...).text, -1) {
			all = append(all, m[1:])
		}

		return all
	}

	s.must("PUT", "/v1/orders/o-1", mugs)

	if all := drawn(); len(all) > 0 {
		t.Errorf("before anything was refused: %q", all)
	}

	log.add("ship", "WrongState", "too early", 2)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"hold","transitionId":2}`, "Idempotency-Key", "k-2")
	log.add("pay", "WrongState", "<held>", 1)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"release","transitionId":3}`, "Idempotency-Key", "k-3")
	log.add("pay", "OutOfStock", "no mugs", 1) // not a wrong state: pay is legal in it

	var short [][]string
	for _, m := range drawn(`<g class="line refused">`) {
		what, why, _ := strings.Cut(m[1], ": ")
		short = append(short, []string{m[0], m[2], what, why[strings.LastIndex(why, ": ")+2:]})
	}
	want := [][]string{
		{"PENDING pay OutOfStock", "✕ pay: OutOfStock", "pay was refused", "no mugs"},
		{"ON_HOLD pay WrongState", "✕ pay: WrongState", "pay was refused", "&lt;held&gt;"},
		{"PENDING ship WrongState", "✕ ship: WrongState", "ship was refused", "too early"},
	}

	slices.SortFunc(short, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	slices.SortFunc(want, func(a, b []string) int { return strings.Compare(a[1], b[1]) })

	p.wantPage(by, "/console/orders/o-1", `class="mark refused" text-anchor="middle">2×</text>`)

	if fmt.Sprint(short) != fmt.Sprint(want) {
		t.Errorf("drawn: %q, want %q", short, want)
	}

	for _, event := range []string{"deliver", "close", "refund", "ship_part"} {
		log.add(event, "WrongState", "", 1)
	}
	log.More = 3

	all := drawn("5 other kinds of refusals are not drawn") // two that are old, and three without room in the log
	if len(all) != 5 || strings.Contains(fmt.Sprint(all), "ship WrongState") {
		t.Errorf("drawn: %q", all)
	}

}
