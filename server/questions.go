package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/internal/ids"
	"ratchet/once"
	"ratchet/operate/doctor"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
	"ratchet/transitions"
)

// assembleQuestions makes the desk of the slow questions. What runs and is deployed belongs to all tenants.
func (b *Backend) assembleQuestions() (err error) {
	b.Questions, err = questions.New(questions.Config{
		Store: b.Processes,
		Log:   b.log,
		Questions: map[string]questions.Question{
			"doctor":    {Shared: true, Answer: b.askDoctor},
			"plan":      {Shared: true, Answer: b.askPlan},
			"survey":    {Answer: b.askSurvey},
			"unsettled": {Answer: b.askUnsettled},
			"verify":    {Answer: b.askVerify},
		},
	})

	return err
}

// askDoctor is `ratchet doctor` with the permissions of the API, which this process has.
func (b *Backend) askDoctor(ctx context.Context, r *questions.Run) error {
	checks := b.Examine(ctx, partAPI)
	// Checks that ctx has ended say nothing about what is set up.
	if err := ctx.Err(); err != nil {
		return err
	}

	r.Looked(len(checks))
	r.Count("checks", len(checks))

	for _, result := range []doctor.Result{doctor.OK, doctor.Warning, doctor.Failure, doctor.Unchecked} {
		r.Count(string(result), doctor.Count(checks, result))
	}

	for _, c := range checks {
		if c.Result != doctor.OK {
			r.Found(processes.Finding{Kind: string(c.Result), Subject: c.Subject, Text: c.Found, Next: c.Action})
		}
	}

	return nil
}

// askPlan is `ratchet deploy plan`.
func (b *Backend) askPlan(ctx context.Context, r *questions.Run) error {
	plan, err := b.PlanRollout(ctx, transitions.Sweep{Segments: 1, Progress: r.Looked})
	if err != nil {
		return err
	}

	left := 0
	for _, step := range plan.Steps {
		if len(step.Differs) > 0 {
			left++
		}

		for _, what := range step.Differs {
			r.Found(processes.Finding{Kind: step.Step, Text: what, Next: step.Do})
		}
	}
	r.Count("version", plan.Version)
	r.Count("steps", left)

	return nil
}

// askVerify is `ratchet verify` for the orders of an owner. What an order's rows say in words stays there.
func (b *Backend) askVerify(ctx context.Context, r *questions.Run) error {
	// A lag that is not known is that of the clocks.
	lag, err := b.JournalLag(ctx)
	if err != nil {
		b.log.WarnContext(ctx, "how far the stream is handled is not known, so only the last minute counts as its lag", "error", err)
	}

	var orders, rows, mismatched, lagging int

	err = inspect.VerifyOwn(ctx, b.Orders, ownedBy(r.Owner), func(c inspect.Check) error {
		orders++
		rows += c.Rows
		r.Looked(orders)

		found, lags, err := lag.Mismatches(ctx, c)
		if err != nil {
			return err
		}

		if lagging += lags; len(found) > 0 {
			mismatched++
		}

		for _, f := range found {
			text := ""
			if f.TransitionID > 0 {
				text = fmt.Sprintf("transition %d", f.TransitionID)
			}
			r.Found(processes.Finding{Kind: string(f.Kind), Subject: string(c.OrderID), Text: text, Next: f.Advice})
		}

		return nil
	})
	r.Count("orders", orders)
	r.Count("rows", rows)
	r.Count("mismatched", mismatched)
	r.Count("lagging", lagging)

	return err
}

// askSurvey is `ratchet executions repair` without orders. That of the default tenant is the count that workers make: of all tenants,
// and for all who see it.
func (b *Backend) askSurvey(ctx context.Context, r *questions.Run) error {
	own, counts := ownedBy(r.Owner), map[string]int{}
	for _, kind := range stuckKinds() {
		counts[kind.Label()] = 0
	}

	found := func(p executions.Problem) {
		if !own(p.Ref()) {
			return
		}
		counts[p.Kind.Label()]++

		finding := processes.Finding{Kind: p.Kind.Label(), Subject: string(p.Ref()), Text: string(p.State)}
		if len(p.Commands) > 0 {
			finding.Next = p.Commands[0]
		}
		r.Found(finding)
	}

	var err error
	if r.Owner == "" {
		var survey processes.Survey
		survey, err = b.countStuck(ctx, false, found, r.Looked)
		// How many orders all tenants have is for the default one.
		r.Count("orders", survey.Orders)
	} else {
		err = b.Executions.Survey(ctx, time.Now(), executions.Filter{Own: own}, func(p executions.Problem) error {
			found(p)
			return nil
		}, r.Looked)
	}

	for kind, n := range counts {
		r.Count(kind, n)
	}

	return err
}

// unsettledAge is how long ago a lease must have ended: one that has just ended may still be renewed.
const unsettledAge = time.Minute

// askUnsettled is `ratchet claims unsettled` for the claims of an owner.
func (b *Backend) askUnsettled(ctx context.Context, r *questions.Run) error {
	var corrupt error // of a page with records that cannot be read; the others are shown

	before, counts, pages := time.Now().Add(-unsettledAge), map[string]int{}, 0
	for after := ""; ; {
		page, next, err := b.Claims.Unsettled(ctx, before, after, 1000)
		if errors.Is(err, once.ErrCorrupt) {
			corrupt, err = cmp.Or(corrupt, err), nil
		}

		if err != nil {
			return err
		}

		for _, claim := range page {
			f, own := findingOf(r.Owner, claim)
			if !own {
				continue
			}
			counts[f.Kind]++
			r.Found(f)
		}
		pages++
		r.Looked(pages * 1000)

		// A page may be empty and have a next one.
		if after = next; next == "" {
			break
		}
	}

	for _, status := range []once.Status{once.StatusUnknown, once.StatusInProgress, once.StatusReleased} {
		kind := strings.ToLower(string(status))
		r.Count(kind, counts[kind])
	}

	return corrupt
}

// claimPrefix begins the keys of claims that are made over the HTTP API. The id follows as it is stored.
const claimPrefix = "claim#"

// findingOf says of a claim that does not end what it is for: an order's effect, an id of the API's claims, or a key of another program.
// It reports false for another owner's.
func findingOf(owner string, claim once.Record) (f processes.Finding, own bool) {
	since := "claimed at " + claim.ClaimedAt.UTC().Format(time.RFC3339)
	f = processes.Finding{
		Kind: strings.ToLower(string(claim.Status)), Subject: claim.Key, Text: cmp.Or(claim.Operation, "no operation") + ", " + since,
		Next: "find out whether the work was done, then `ratchet claims force-release`",
	}

	if id, made := strings.CutPrefix(claim.Key, claimPrefix); made {
		f.Subject = id
		return f, ownedBy(owner)(transitions.OrderID(id))
	}

	if order, effect, is := ids.Cut(claim.Key); is {
		f.Subject, f.Text = order, "effect "+effect+", "+since
		return f, ownedBy(owner)(transitions.OrderID(order))
	}

	return f, owner == ""
}

// ownedBy returns whether an order belongs to the owner.
func ownedBy(owner string) func(transitions.OrderID) bool {
	return func(id transitions.OrderID) bool { return ownerOf(id) == owner }
}
