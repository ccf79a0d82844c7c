package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/jobs"
	"ratchet/streams/status"
)

// ordersWithLetters places orders that the handler gives up on.
func (s *apiServer) ordersWithLetters(n int) {
	s.t.Helper()

	for i := range n {
		s.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i+1), mugs)
	}
	s.createDeadLetters(s.cfg.Handlers[0], n)
}

// runJob runs the job about dead letters that is on the page of an outcome, and returns its own page.
func (p *pages) runJob(by api.Identity, outcome answer) answer {
	p.s.t.Helper()

	path := regexp.MustCompile(`/console/jobs/([A-Za-z0-9.-]+)`).FindStringSubmatch(outcome.text)
	if outcome.StatusCode != http.StatusOK || path == nil {
		p.s.t.Fatalf("the outcome: %d %s", outcome.StatusCode, outcome.text)
	}

	runner, err := jobs.NewRunner(jobs.RunnerConfig{
		Store: p.s.cfg.Jobs, Audit: p.s.cfg.Acts, Name: "test", Log: embeddedtest.Quiet(),
		Works: map[jobs.Kind]jobs.Work{jobs.RedriveDeadLetters: jobs.DeadLetters{Queue: p.s.cfg.RetryQueue}},
	})
	if err != nil {
		p.s.t.Fatal(err)
	}

	if j, err := runner.RunOne(p.s.t.Context(), "", path[1]); err != nil || j.State != jobs.Done {
		p.s.t.Fatalf("the job: %+v, %v", j, err)
	}

	return p.wantPage(by, path[0])
}

// wantPage reads a page.
func (p *pages) wantPage(by api.Identity, path string, texts ...string) answer {
	p.s.t.Helper()

	page := p.send(by, "GET", path, nil)
	if page.StatusCode != http.StatusOK {
		p.s.t.Fatalf("%s: %d %s", path, page.StatusCode, page.text)
	}

	for _, text := range texts {
		if !strings.Contains(page.text, text) {
			p.s.t.Errorf("%s lacks %s: %s", path, text, page.text)
		}
	}

	return page
}

// TestAJobFromASelectionInTheConsole: rows that a person selects, a dry run first, then the job, with its results.
func TestAJobFromASelectionInTheConsole(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		forPages(c)
		notifies(c)

		c.Stream = func(context.Context) (status.Status, error) {
			return status.Status{Handlers: []status.HandlerStatus{{Name: "notify"}}}, nil
		}
	})
	s.ordersWithLetters(3)

	p, admin := s.pages(), whose(auth.DefaultTenant, auth.Admin)
	list := p.wantPage(admin, console.Path+"/dead-letters?handler=notify", "Redrive dead letters: those selected", "/act/dead-letters-discard?handler=notify")
	ids := regexp.MustCompile(`name="ids" value="([^"]+)"`).FindAllStringSubmatch(list.text, -1)

	if len(ids) != 3 {
		t.Fatalf("%d rows can be selected: %s", len(ids), list.text)
	}

	if reader := p.wantPage(whose(auth.DefaultTenant, auth.Act), console.Path+"/orders"); strings.Contains(reader.text, `type="checkbox"`) || strings.Contains(reader.text, "/act/orders-erase") {
		t.Errorf("a person who may not: %s", reader.text)
	}

	// The form has the rows, and is for a dry run.
	act := console.Path + "/act/dead-letters-redrive"
	form := p.send(admin, "POST", act+"/form", url.Values{"handler": {"notify"}, "ids": {ids[0][1], ids[1][1]}})

	if form.StatusCode != http.StatusOK || !strings.Contains(form.text, ids[0][1]+"\n"+ids[1][1]) || !strings.Contains(form.text, `name="dryRun" value="yes" checked`) {
		t.Fatalf("the form: %d %s", form.StatusCode, form.text)
	}

	fields := map[string]string{"handler": "notify", "ids": ids[0][1] + "\r\n" + ids[1][1], "rate": "100", "dryRun": "yes", "reason": "the bank is up again"}
	outcome := p.send(admin, "POST", act, filled(formOn(form), fields))

	page := p.runJob(admin, outcome)
	if !strings.Contains(page.text, "Redrive dead letters (dry run)") || !strings.Contains(page.text, "<code>selected</code>") {
		t.Errorf("the dry run: %s", page.text)
	}

	// The same for real: its form has the values of the dry run.
	again := p.send(admin, "POST", act+"/form", formOn(outcome))
	if !strings.Contains(again.text, ids[0][1]) || !strings.Contains(again.text, "the bank is up again") || strings.Contains(again.text, "checked") {
		t.Fatalf("the form after the dry run: %s", again.text)
	}
	delete(fields, "dryRun")

	if page = p.runJob(admin, p.send(admin, "POST", act, filled(formOn(again), fields))); !strings.Contains(page.text, "2 of 2") || strings.Contains(page.text, "Not done") {
		t.Errorf("the job: %s", page.text)
	}

	// All of the handler, by a filter: two of them wait by now, and stand on the page of the job.
	form = p.send(admin, "GET", act+"?handler=notify&dryRun=", nil)
	delete(fields, "ids")
	page = p.runJob(admin, p.send(admin, "POST", act, filled(formOn(form), fields)))

	for _, text := range []string{"3 of 3", "Not done", ids[0][1], ids[1][1], "<code>waiting</code>"} {
		if !strings.Contains(page.text, text) {
			t.Errorf("the page of the job lacks %s: %s", text, page.text)
		}
	}

	own := regexp.MustCompile(`/console/jobs/[A-Za-z0-9.-]+\?code=done`).FindString(page.text)
	if own == "" {
		t.Fatalf("the page has no way to what was done: %s", page.text)
	}
	p.wantPage(admin, own, "With the code done", ids[2][1])
	p.wantPage(admin, console.Path+"/jobs", "Redrive dead letters (dry run)", "the bank is up again")
}

// TestADryRunOfAFilterLeadsToTheJob by a button that has the filter.
func TestADryRunOfAFilterLeadsToTheJob(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { forPages(c); notifies(c) })
	s.ordersWithLetters(2)

	p, admin := s.pages(), whose(auth.DefaultTenant, auth.Admin)
	act := console.Path + "/act/dead-letters-redrive"

	form := p.send(admin, "GET", act+"?handler=notify", nil)
	outcome := p.send(admin, "POST", act, filled(formOn(form), map[string]string{
		"handler": "notify", "since": "2020-01-02T03:04", "rate": "7", "dryRun": "yes", "reason": "the bank is up again",
	}))

	if !strings.Contains(outcome.text, `ratchet jobs start dead-letters-redrive --reason &#39;the bank is up again&#39; --handler notify --since 2020-01-02T03:04:00Z --rate 7 --dry-run`) {
		t.Errorf("the command: %s", outcome.text)
	}
	page := p.runJob(admin, outcome)

	button := regexp.MustCompile(`href="(/console/act/dead-letters-redrive[^"]+)">Do it: Redrive dead letters`).FindStringSubmatch(page.text)
	if button == nil {
		t.Fatalf("the page has no button: %s", page.text)
	}

	form = p.send(admin, "GET", strings.ReplaceAll(button[1], "&amp;", "&"), nil)
	for _, text := range []string{`name="since" value="2020-01-02T03:04:00"`, `name="rate" value="7"`, `name="handler" value="notify"`} {
		if !strings.Contains(form.text, text) {
			t.Errorf("the form lacks %s: %s", text, form.text)
		}
	}

	if strings.Contains(form.text, "checked") {
		t.Errorf("the form is for a dry run: %s", form.text)
	}
}
