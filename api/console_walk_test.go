package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
)

// TestThePageOfStuckOrdersHasTheActsThatHelp: an order whose parcel is lost is brought on by an event, and not by a repair.
func TestThePageOfStuckOrdersHasTheActsThatHelp(t *testing.T) {
	s, store := newProcessesServer(t)
	p, now := s.pages(), time.Now()

	for id, kind := range map[string]string{"o-1": "failed", "o-2": "lost_parcel", "o-3": "unknown_version"} {
		err := store.StoreStuck(t.Context(), processes.StuckOrder{
			OrderID: id, Kind: kind, State: "SHIPPED", Cause: "Ada waits", FoundAt: now, ExpiresAt: now.Add(time.Hour),
			Commands: []string{"ratchet orders explain " + id, "ratchet orders apply " + id + " deliver", "ratchet orders apply " + id + " chargeback"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	page := p.wantPage(whose(auth.DefaultTenant, auth.Admin), console.Path+"/stuck", "/act/repair-execution?order=o-1", "/act/apply?event=deliver&amp;order=o-2",
		"/act/apply?event=chargeback&amp;order=o-2", "/act/orders-migrate", "/act/survey", "Ada waits")
	if strings.Contains(page.text, "repair-execution?order=o-2") || strings.Contains(page.text, "[masked]") {
		t.Error(page.text)
	}

	// The page says why it shows less.
	p.wantPage(person(auth.DefaultTenant, auth.Admin), console.Path+"/stuck", "<code>[masked]</code>: it may concern a person", "--personal")

	if page := p.wantPage(whose("acme", auth.Admin), console.Path+"/stuck"); strings.Contains(page.text, "/act/survey") {
		t.Errorf("an administrator of another tenant counts: %s", page.text)
	}
}

// TestATenantsOverviewIsAPage also before the status is refused.
func TestATenantsOverviewIsAPage(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.Status = func(context.Context) (inspect.SystemStatus, error) { return inspect.SystemStatus{}, nil }
		c.LastHour = func() (processes.Hour, error) { return processes.Hour{}, nil }
	})
	p := s.pages()

	for range 2 {
		p.wantPage(whose("acme", auth.Admin), console.Path+"/", "administrators of the default tenant", "No order is here yet")
	}
}

// TestAJobThatFindsNothingSaysSo, and the form of a second one of its kind leads to the one that is open.
func TestAJobThatFindsNothingSaysSo(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { forPages(c); notifies(c) })
	p, admin := s.pages(), whose(auth.DefaultTenant, auth.Admin)
	act := console.Path + "/act/dead-letters-redrive"

	start := func() answer {
		return p.send(admin, "POST", act, filled(formOn(p.wantPage(admin, act+"?handler=notify")), map[string]string{"handler": "notify", "rate": "10", "reason": "the bank is up again"}))
	}

	outcome := start()
	if !strings.Contains(outcome.text, "Stored.") || strings.Contains(outcome.text, "Done.") {
		t.Errorf("a job that waits: %s", outcome.text)
	}

	open, _, err := s.cfg.Jobs.List(t.Context(), "", "", 1)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}

	if second := start(); !strings.Contains(second.text, fmt.Sprintf(`href="%s/jobs/%s">Look at it`, console.Path, open[0].ID)) {
		t.Errorf("a second job: %s", second.text)
	}

	if page := p.runJob(admin, outcome); !strings.Contains(page.text, "nothing was found to act on") {
		t.Errorf("its page: %s", page.text)
	}
}

// TestDeadLettersHaveTheirHandlersBeforeTheStreamIsRead: acts on many are offered about one handler only.
func TestDeadLettersHaveTheirHandlersBeforeTheStreamIsRead(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { forPages(c); notifies(c) })
	s.ordersWithLetters(2)

	s.pages().wantPage(whose(auth.DefaultTenant, auth.Admin), console.Path+"/dead-letters",
		`<option value="notify" selected>`, `<input type="hidden" name="handler" value="notify"`, "Redrive dead letters: those selected")
}
