package check_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/workflow"
	"ratchet/workflow/check"
)

var (
	flagAccepted = flag.Int("accepted", 100, "machines that the check accepts and the trial runs")
	flagRefused  = flag.Int("refused", 20, "machines that the check refuses and the trial lets fail")
	flagSeed     = flag.Uint64("trial-seed", 1, "seed of the trial's first machine")
)

// trialDefinitions are the definitions of the trial: one that comes back to its states, one that never does and
// has guards, one in which a guard decides where an event leads, and one in which time moves an order.
func trialDefinitions(t testing.TB) []*workflow.Definition {
	open := []workflow.Guard{{Name: "open", Attribute: "open", Op: "exists"}}
	shut := []workflow.Guard{{Name: "shut", Attribute: "open", Op: "missing"}}
	soon := &workflow.After{Delay: 3 * time.Second}
	a, b, ab := []workflow.State{"A"}, []workflow.State{"B"}, []workflow.State{"A", "B"}

	var all []*workflow.Definition
	for _, transitions := range [][]workflow.Transition{
		{{Event: "go", From: a, To: "B"}, {Event: "fin", From: b, To: "C"}, {Event: "back", From: b, To: "A"}, {Event: "stop", From: ab, To: "D"}},
		{{Event: "go", From: a, To: "B"}, {Event: "fin", From: b, To: "C", Guards: open}, {Event: "back", From: b, To: "D"}, {Event: "stop", From: ab, To: "D"}},
		{{Event: "go", From: a, To: "B", Guards: open}, {Event: "go", From: a, To: "D", Guards: shut}, {Event: "fin", From: b, To: "C"}, {Event: "back", From: b, To: "A", Guards: shut}, {Event: "stop", From: ab, To: "D"}},
		{{Event: "go", From: a, To: "B"}, {Event: "fin", From: b, To: "C"}, {Event: "back", From: b, To: "A", After: soon}, {Event: "stop", From: b, To: "D"}, {Event: "stop", From: a, To: "D", Guards: open, After: soon}},
	} {
		d, err := workflow.New(workflow.Spec{
			Name: "trial", Version: 1, Place: "place", Initial: "A", Content: []workflow.Part{},
			States: []workflow.StateSpec{
				{State: "A", Doc: "a."}, {State: "B", Doc: "b."},
				{State: "C", Doc: "c.", Terminal: true}, {State: "D", Doc: "d.", Terminal: true},
			},
			Transitions: transitions,
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}

	return all
}

// trial is a machine with what the check says of it.
type trial struct {
	seed   uint64
	d      *workflow.Definition
	asl    string
	report check.Report
	r      *rand.Rand
}

func newTrial(t testing.TB, seed uint64, definitions []*workflow.Definition) trial {
	r := rand.New(rand.NewPCG(seed, 27))
	c := trial{seed: seed, d: definitions[r.IntN(len(definitions))], r: r}
	c.asl = (&drawer{r: r}).draw()

	report, err := check.StateMachine([]byte(c.asl), c.d, trialConfig())
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, c.asl)
	}
	c.report = report

	return c
}

func (c trial) errors() []check.Finding {
	var all []check.Finding
	for _, f := range c.report.Findings {
		if f.Severity == check.SeverityError {
			all = append(all, f)
		}
	}

	return all
}

func (c trial) world(hints map[string]int) *world {
	return &world{
		d:        c.d,
		random:   rand.New(rand.NewPCG(c.r.Uint64(), 1)),
		moves:    c.r.IntN(6),
		failures: c.r.IntN(4),
		crashes:  c.r.IntN(2),
		opened:   c.r.IntN(2) == 0,
		edits:    c.r.IntN(2) == 0,
		hints:    hints,
	}
}

// TestWhatTheCheckAcceptsRuns draws machines with Parallel, Map, guards, JSONata, retries and others who move the
// order, runs those that the check accepts on the engine, and lets those fail that it refuses.
func TestWhatTheCheckAcceptsRuns(t *testing.T) {
	definitions := trialDefinitions(t)
	accepted, refused, executions, unusable := 0, 0, 0, 0
	codes := map[string]int{}

	for seed := *flagSeed; accepted < *flagAccepted || refused < *flagRefused; {
		// An engine keeps all that it has run, so it is replaced now and then.
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			for range 100 {
				c := newTrial(t, seed, definitions)
				seed++

				errors := c.errors()
				// The check says that it cannot follow the data: nothing need happen.
				if slices.ContainsFunc(errors, func(f check.Finding) bool { return strings.Contains(f.Message, "nothing shows") }) {
					continue
				}

				wanted := len(errors) == 0 && accepted < *flagAccepted || len(errors) > 0 && refused < *flagRefused
				if !wanted {
					continue
				}

				arn, err := l.machine(c.asl)
				if err != nil {
					unusable++
					continue
				}

				if len(errors) == 0 {
					accepted++
					executions += c.runAccepted(t, l, arn)

					continue
				}

				refused++

				for _, f := range errors {
					codes[f.Code]++
				}
				c.letFail(t, l, arn, errors)
			}
		})

		if t.Failed() {
			break
		}
	}

	t.Logf("seed %d: %d accepted machines with %d executions, %d refused ones with %v; the engine refused %d",
		*flagSeed, accepted, executions, refused, codes, unusable)
}

// runAccepted runs a machine that the check has accepted.
func (c trial) runAccepted(t testing.TB, l *lab, arn string) int {
	const runs = 4
	for range runs {
		r := l.run(arn, c.world(nil))

		wrong := c.wrong(r)
		for _, item := range r.items {
			// The Map around it takes any other error.
			if item.err == moved || item.err == "States.NoChoiceMatched" {
				item.err = ""
			}
			wrong = append(wrong, c.wrong(item)...)
		}

		if len(wrong) > 0 {
			t.Errorf("seed %d: %s\nended %s %s %.300s\nvisits %v\n%s\n%s", c.seed, strings.Join(wrong, "\n"), r.status, r.err, r.cause, r.visits, c.asl, c.report.Text())
			break
		}
	}

	return runs
}

// wrong lists what an execution did that the check excludes.
func (c trial) wrong(r ran) []string {
	var wrong []string
	switch r.err {
	case moved, "States.NoChoiceMatched", "States.Runtime", "States.QueryEvaluationError", "States.IntrinsicFailure", "States.ResultPathMatchFailure":
		// A Fail may have the name of a refusal.
		if r.err != moved || !strings.Contains(c.asl, `"Error":"`+moved+`"`) {
			wrong = append(wrong, "an accepted machine fails with "+r.err)
		}
	}

	if r.status == "LOOPING" {
		wrong = append(wrong, "an accepted machine goes round for ever")
	}

	for _, v := range r.visits {
		for _, f := range c.report.Findings {
			if f.Code == "dead-state" && lastName(f.State) == v.state {
				wrong = append(wrong, "the dead state "+v.state+" was entered")
			}
		}

		if v.order != "" && !c.possible(v) {
			wrong = append(wrong, "state "+v.state+" was entered with "+v.order)
		}
	}

	return slices.Compact(wrong)
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// possible reports whether the report has the visit.
func (c trial) possible(v visited) bool {
	for path, states := range c.report.Possible {
		if lastName(path) == v.state && (slices.Contains(states, "?") || slices.Contains(states, workflow.State(v.order))) {
			return true
		}
	}

	return false
}

// letFail runs a machine until each of its findings has been seen to happen.
func (c trial) letFail(t testing.TB, l *lab, arn string, errors []check.Finding) {
	for _, f := range errors {
		if f.Code == "terminal-state-not-accepted" {
			c.endsElsewhere(t, l, arn, f)
			continue
		}

		hints := hintsOf(c.d, f)
		happened := false
		slow := ""
		for try := 0; try < 300 && !happened; try++ {
			// Nothing says how fast the branches of a Parallel are. Another branch's failure may hide the finding.
			if try == 20 {
				slow = l.slowed(t, c.asl, f)
			}

			machine := arn
			if slow != "" && try%2 == 0 {
				machine = slow
			}

			w := c.world(nil)
			// Every other execution follows the path of the finding.
			if try%4 != 3 {
				w.hints = maps.Clone(hints)
				// A Retry of the state, or of one around it, may take the first failures.
				for name := range w.hints {
					if try%4 == 1 && taskErrors.MatchString("fails with "+name[strings.LastIndexByte(name, ' ')+1:]) {
						w.hints[name] += maxRetries
					}
				}
				w.moves = 6
			}

			r := l.run(machine, w)
			happened = c.happens(f, r) || slices.ContainsFunc(r.items, func(item ran) bool { return c.happens(f, item) })
		}

		if !happened {
			t.Errorf("seed %d: %s at %s never happens\n%s\n%s", c.seed, f.Code, f.State, c.asl, (&check.Report{Findings: []check.Finding{f}}).Text())
		}
	}
}

// endsElsewhere runs a machine of which the check says that it never ends with the order known to be in a state.
func (c trial) endsElsewhere(t testing.TB, l *lab, arn string, f check.Finding) {
	for range 5 {
		r := l.run(arn, c.world(nil))
		last := r.visits[len(r.visits)-1].order
		if r.status == "SUCCEEDED" && last == string(r.world.state) && strings.Contains(f.Message, "known to be "+last+" ") {
			t.Errorf("seed %d: %s, but an execution does\n%s", c.seed, f.Message, c.asl)
		}
	}
}

// outsideEvents matches the events of others in a path.
var outsideEvents = regexp.MustCompile(`(?:another caller|time) applies ([a-z, ]+)`)

// taskErrors matches the errors in a path with which a task fails by itself.
var taskErrors = regexp.MustCompile(`fails with (Mine|Order\.Bad|Order\.Busy)( for good)?`)

// maxRetries is the largest MaxAttempts of the drawn machines.
const maxRetries = 3

// hintsOf returns the events of others, and the errors of tasks, on a finding's path, by the state before which they come.
func hintsOf(d *workflow.Definition, f check.Finding) map[string]int {
	hints := map[string]int{}
	note := func(state, how string) {
		for _, m := range outsideEvents.FindAllStringSubmatch(how, -1) {
			for _, e := range strings.Split(m[1], ", ") {
				if slices.Contains(d.Events(), workflow.Event(e)) {
					hints[lastName(state)+" "+e]++
				}
			}
		}

		for _, m := range taskErrors.FindAllStringSubmatch(how, -1) {
			hints[lastName(state)+" "+m[1]]++
			if m[2] != "" {
				hints[lastName(state)+" "+m[1]] += maxRetries
			}
		}
	}

	for i := 1; i < len(f.Path); i++ {
		note(f.Path[i-1].State, f.Path[i].How)
	}
	note(f.State, f.Message)

	return hints
}

// noData are the errors of data that is not there, or not what an expression needs.
var noData = []string{"States.Runtime", "States.QueryEvaluationError", "States.ResultPathMatchFailure", "States.IntrinsicFailure"}

// happens reports whether an execution shows what a finding says.
func (c trial) happens(f check.Finding, r ran) bool {
	at := lastName(f.State)
	entered := slices.ContainsFunc(r.visits, func(v visited) bool { return v.state == at })

	switch f.Code {
	case "no-choice-matched", "choice-without-default":
		return entered && r.err == "States.NoChoiceMatched"
	case "overtaken-not-caught":
		return entered && (r.err == moved || r.err == "States.ExceedToleratedFailureThreshold") && r.world.refused[at] > 0
	case "missing-data", "lost-position":
		// The check trusts that other data is there. If it is not, the execution fails even before.
		for _, step := range f.Path {
			entered = entered || slices.ContainsFunc(r.visits, func(v visited) bool { return v.state == lastName(step.State) })
		}

		return entered && (slices.Contains(noData, r.err) || strings.HasPrefix(r.err, "States.Exceed"))
	case "illegal-event", "stale-order-data":
		return r.world.refused[at] > 0
	case "event-before-creation":
		return r.world.early[at] > 0
	case "busy-loop", "endless-path":
		return entered && (r.status == "LOOPING" || strings.Contains(r.cause, "25000"))
	case "catch-dead-ends":
		return entered
	}

	return false
}
