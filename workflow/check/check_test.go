package check_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// orderConfig reads state machines that use [smallTasks] beside Ratchet's own steps, and keep the
// order in $.order.
func orderConfig(file string) check.Config {
	cfg := steps.CheckConfig()
	maps.Copy(cfg.Tasks, smallTasks())
	cfg.File, cfg.Variable = file, "$.order.state"

	return cfg
}

// run checks a state machine against the order's definition.
func run(t testing.TB, asl []byte, file string) check.Report {
	t.Helper()

	return runWith(t, asl, orderConfig(file))
}

func runWith(t testing.TB, asl []byte, cfg check.Config) check.Report {
	t.Helper()

	return runOn(t, asl, workflow.Order(), cfg)
}

func runOn(t testing.TB, asl []byte, d *workflow.Definition, cfg check.Config) check.Report {
	t.Helper()

	report, err := check.StateMachine(asl, d, cfg)
	if err != nil {
		t.Fatal(err)
	}

	return report
}

// timedOrders is the shop's definition with all its terms.
func timedOrders(t testing.TB) *workflow.Definition {
	t.Helper()

	d, err := workflow.OrderWith(workflow.Terms{ExpireUnpaid: 24 * time.Hour, ReturnWindow: 14 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// TestEveryFixtureShowsItsFinding reads testdata/asl: each file is named after
// the finding that it provokes, and its Comment says why. Files named good-* have no
// errors.
func TestEveryFixtureShowsItsFinding(t *testing.T) {
	files, err := filepath.Glob("testdata/asl/*.asl.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("fixtures: %d files, error %v", len(files), err)
	}

	for _, file := range files {
		code := strings.TrimSuffix(filepath.Base(file), ".asl.json")

		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		var doc struct{ Comment string }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		t.Run(code+": "+doc.Comment, func(t *testing.T) {
			report := run(t, text, filepath.Base(file))
			// Time does nothing to an order without terms.
			if strings.HasPrefix(code, "time-") {
				if slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == code }) {
					t.Errorf("without terms:\n%s", report.Text())
				}
				report = runOn(t, text, timedOrders(t), orderConfig(filepath.Base(file)))
			}

			if strings.HasPrefix(code, "good-") {
				if n := report.Count(check.SeverityError); n > 0 {
					t.Fatalf("%d errors:\n%s", n, report.Text())
				}
				return
			}

			if !slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.Code == code }) {
				t.Fatalf("no finding %s:\n%s", code, report.Text())
			}
		})
	}
}

// TestEveryCodeHasAFixture reads the codes out of the source, so that a new finding
// without a fixture is noticed.
func TestEveryCodeHasAFixture(t *testing.T) {
	codes := regexp.MustCompile(`(?:Severity\w+|sev), "([a-z-]+)"|Code:\s+"([a-z-]+)"`)

	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}

	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		if strings.HasSuffix(file, "_test.go") {
			continue
		}

		for _, m := range codes.FindAllSubmatch(text, -1) {
			found++

			code := string(m[1]) + string(m[2])
			if _, err := os.Stat("testdata/asl/" + code + ".asl.json"); err != nil {
				t.Errorf("%s: finding %q has no fixture", file, code)
			}
		}
	}

	if found < 40 {
		t.Errorf("found only %d codes; does the pattern still fit the source?", found)
	}
}

func TestAFindingShowsTheShortestPath(t *testing.T) {
	rows := []struct {
		name, file, state string
		path              []string
	}{
		{name: "cancelling a shipped order: the way goes through the wait",
			file: "illegal-event", state: "Commit", path: []string{"Place ", "Reserve PENDING", "Charge PENDING", "Pay PENDING", "Shipped PAYMENT_RECEIVED", "Commit SHIPPED"}},
		{name: "an order that was not charged: right after the reservation",
			file: "missing-step", state: "Pay", path: []string{"Place ", "Reserve PENDING", "Pay PENDING"}},
		{name: "a refusal that no Catch takes: at the first transition",
			file: "overtaken-not-caught", state: "Pay", path: []string{"Place ", "Reserve PENDING", "Charge PENDING", "Pay PENDING"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/asl/" + row.file + ".asl.json")
			if err != nil {
				t.Fatal(err)
			}

			report := run(t, text, "")
			for _, f := range report.Findings {
				if f.Code != row.file {
					continue
				}

				var got []string
				for _, s := range f.Path {
					got = append(got, s.State+" "+string(s.Order))
				}

				if diff := cmp.Diff(row.path, got); diff != "" || f.State != row.state || f.Line == 0 {
					t.Errorf("%s line %d (-want +got):\n%s", f.State, f.Line, diff)
				}
			}
		})
	}
}

// TestWorkerPoint40_RatchetsStateMachineFitsTheDefinition holds statemachine.asl.json against the definition
// of orders, with other callers that move the order at any moment: no error and no warning.
func TestWorkerPoint40_RatchetsStateMachineFitsTheDefinition(t *testing.T) {
	timed := runOn(t, []byte(ratchet.StateMachine), timedOrders(t), steps.CheckConfig())
	if n := timed.Count(check.SeverityError) + timed.Count(check.SeverityWarning); n > 0 {
		t.Errorf("with terms, %d findings:\n%s", n, timed.Text())
	}

	report := runWith(t, []byte(ratchet.StateMachine), steps.CheckConfig())
	if n := report.Count(check.SeverityError) + report.Count(check.SeverityWarning); n > 0 {
		t.Errorf("%d findings:\n%s", n, report.Text())
	}

	// The ends that an execution undoes, and the ends that it leaves as they are.
	for state, end := range map[workflow.State]string{
		workflow.Cancelled:     "Compensate",
		workflow.Expired:       "Compensate",
		workflow.PaymentFailed: "Compensate",
		workflow.ChargedBack:   "Compensate",
		workflow.Completed:     "Done",
		workflow.Refunded:      "Done",
	} {
		if !workflow.Order().Terminal(state) || !slices.Contains(report.Possible[end], state) {
			t.Errorf("no path brings %s to %s", state, end)
		}
	}

	want := check.Estimate{Transitions: 4, HistoryEvents: 24, Dollars: 0.0001}
	if diff := cmp.Diff(want, report.Shortest); diff != "" {
		t.Errorf("the shortest path (-want +got):\n%s", diff)
	}
}

// TestACatchThatDeadEndsIsRefused plants a Catch in Ratchet's state machine that leads, by way of another
// state, to a Fail state, and a Catch that leads to a state without an end. The path names every state on
// the way.
func TestACatchThatDeadEndsIsRefused(t *testing.T) {
	rows := []struct {
		name, states string
		path         []string
	}{
		{
			name:   "a Fail state",
			states: `"Note":{"Type":"Pass","Next":"Stopped"},"Stopped":{"Type":"Fail"},`,
			path:   []string{"Accept", "Pay", "AwaitShipped", "Note", "Stopped"},
		},
		{
			name:   "two states that lead to each other",
			states: `"Note":{"Type":"Pass","Next":"Again"},"Again":{"Type":"Pass","Next":"Note"},`,
			path:   []string{"Accept", "Pay", "AwaitShipped", "Note"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			asl := strings.Replace(ratchet.StateMachine, `"Accept": {`, row.states+`"Accept": {`, 1)
			at := strings.Index(asl, `"AwaitShipped": {`)
			asl = asl[:at] + strings.Replace(asl[at:], `"Next": "Look"`, `"Next": "Note"`, 1)

			for _, f := range runWith(t, []byte(asl), steps.CheckConfig()).Findings {
				if f.Code != "catch-dead-ends" {
					continue
				}

				var path []string
				for _, s := range f.Path {
					path = append(path, s.State)
				}

				if diff := cmp.Diff(row.path, path); diff != "" || f.State != "AwaitShipped" || f.Severity != check.SeverityError {
					t.Errorf("%s %s (-want +got):\n%s", f.Severity, f.State, diff)
				}

				return
			}

			t.Error("no finding")
		})
	}
}

// TestTheErrorNamesOfTheStepsAreKnown: no list of the config misses or misplaces a name
// that the steps raise.
func TestTheErrorNamesOfTheStepsAreKnown(t *testing.T) {
	machine := func(errors []string) []byte {
		list, _ := json.Marshal(errors)
		return []byte(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"${TakePaymentArn}","TimeoutSeconds":9,"HeartbeatSeconds":3,"Retry":[{"ErrorEquals":` + string(list) + `}],"End":true}}}`)
	}

	codes := func(errors []string) []string {
		var all []string
		for _, f := range run(t, machine(errors), "").Findings {
			all = append(all, f.Code)
		}

		return all
	}
	if got := codes(steps.RetryableErrors()); slices.Contains(got, "unknown-error") || slices.Contains(got, "terminal-error-retried") {
		t.Errorf("the steps' retryable errors: %v", got)
	}

	if got := codes(steps.OvertakenErrors()); slices.Contains(got, "unknown-error") || !slices.Contains(got, "terminal-error-retried") {
		t.Errorf("the steps' overtaken errors: %v", got)
	}

	if got := codes(steps.TerminalErrors()); slices.Contains(got, "unknown-error") || !slices.Contains(got, "terminal-error-retried") {
		t.Errorf("the steps' terminal errors: %v", got)
	}
}

func TestUnreadableInputIsAnErrorWithFileAndLine(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{name: "no JSON", text: "{\n  \"StartAt\": \"A\",\n  oops\n}", want: "m.json:3: "},
		{name: "no machine", text: `{"a": 1}`, want: "m.json:1: there are no States"},
		{name: "a list where a map belongs", text: "{\"StartAt\":\"A\",\n\"States\":[]}", want: "m.json:2: States: want a map, got a list"},
		{name: "the same name twice", text: "{\"StartAt\":\"A\",\"States\":{\n\"A\":{\"Type\":\"Pass\",\"End\":true},\n\"A\":{\"Type\":\"Pass\",\"End\":true}}}", want: "m.json:3: "},
		{name: "half a file", text: `{"StartAt":"A","States":{`, want: "unexpected EOF"},
		{name: "text after the end", text: "{\"States\":{}}\n{}", want: "m.json:2: "},
		{name: "a number where a word belongs", text: `{"StartAt":"A","States":{"A":{"Type":7}}}`, want: "state A: Type: want a string, got a number"},
		{name: "an empty file", text: "", want: "m.json:1: the file is empty"},
		{name: "nested beyond reason", text: strings.Repeat(`{"States":`, 200), want: "levels deep"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := check.StateMachine([]byte(row.text), workflow.Order(), orderConfig("m.json"))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got error %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestStateMachinesOfSAMAreRead(t *testing.T) {
	report := run(t, []byte("StartAt: A\nStates:\n  A:\n    Type: Task\n    Resource: !Sub '${Shop}-check'\n    TimeoutSeconds: 5\n    End: true\n"), "")
	if report.States != 1 || report.Count(check.SeverityError) != 0 {
		t.Errorf("%s", report.Text())
	}
}

// TestTheReportIsDeterministic: maps must not leak their order into the output.
func TestTheReportIsDeterministic(t *testing.T) {
	first := runWith(t, []byte(ratchet.StateMachine), steps.CheckConfig())
	for range 5 {
		again := runWith(t, []byte(ratchet.StateMachine), steps.CheckConfig())
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("differs:\n%s", diff)
		}
	}
}

// TestPathsExistInTheMachine draws machines and checks that every reported path begins at the
// start and follows Next, Default, rules and Catch of the machine.
func TestPathsExistInTheMachine(t *testing.T) {
	events := []string{"pay", "hold", "release", "ship", "deliver", "cancel", "close"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "states")

		name := func(i int) string { return string(rune('A' + i)) }
		states := map[string]any{}
		leads := map[string][]string{}
		for i := range n {
			next, other := name(rapid.IntRange(0, n).Draw(t, "next")), name(rapid.IntRange(0, n).Draw(t, "catch"))

			leads[name(i)] = []string{next, other}
			task := map[string]any{"Type": "Task", "TimeoutSeconds": 9, "HeartbeatSeconds": 3, "ResultPath": "$.order", "Next": next,
				"Resource": "${ApplyTransitionArn}", "Parameters": map[string]any{"event": rapid.SampledFrom(events).Draw(t, "event"), "transitionId": 1},
				"Catch": []any{map[string]any{"ErrorEquals": []string{"States.ALL"}, "ResultPath": "$.e", "Next": other}}}
			if i == 0 {
				task["Resource"] = "${PlaceOrderArn}"
				delete(task, "Parameters")
			}
			states[name(i)] = task
		}
		states[name(n)] = map[string]any{"Type": "Succeed"}

		text, err := json.Marshal(map[string]any{"StartAt": "A", "States": states})
		if err != nil {
			t.Fatal(err)
		}

		report, err := check.StateMachine(text, workflow.Order(), orderConfig(""))
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range report.Findings {
			for i, s := range f.Path {
				if i == 0 && s.State != "A" || i > 0 && !slices.Contains(leads[f.Path[i-1].State], s.State) {
					t.Fatalf("%s: step %d to %s is not in the machine\n%s", f.Code, i, s.State, text)
				}
			}
		}
	})
}

func FuzzStateMachine(f *testing.F) {
	f.Add([]byte(ratchet.StateMachine))
	f.Add([]byte("StartAt: A\nStates:\n  A: {Type: Map, End: true, Iterator: {StartAt: B, States: {B: {Type: Pass, End: true}}}}\n"))

	files, _ := filepath.Glob("testdata/asl/*.asl.json")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(bytes.ReplaceAll(text, []byte("  "), nil))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		report, err := check.StateMachine(text, workflow.Order(), orderConfig(""))
		if err == nil {
			_ = report.Text()
		}

		if _, err := json.Marshal(report); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBranchesAreExplored: states of a branch are named after what is around them,
// and what a branch raises reaches the Catch around it.
func TestBranchesAreExplored(t *testing.T) {
	asl := func(event string) []byte {
		return []byte(`{"StartAt":"Place","TimeoutSeconds":99,"States":{
"Place":{"Type":"Task","Resource":"${PlaceOrderArn}","ResultPath":"$.order","TimeoutSeconds":9,"HeartbeatSeconds":3,"Next":"Both"},
"Both":{"Type":"Parallel","ResultPath":null,"Next":"Done","Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.e","Next":"Stopped"}],"Branches":[
 {"StartAt":"Act","States":{"Act":{"Type":"Task","Resource":"${ApplyTransitionArn}","ResultPath":"$.order","TimeoutSeconds":9,"HeartbeatSeconds":3,
  "Parameters":{"event":"` + event + `","transitionId.$":"States.MathAdd($.order.transitionId, 1)"},"End":true}}},
 {"StartAt":"Mail","States":{"Mail":{"Type":"Pass","End":true}}}]},
"Done":{"Type":"Succeed"},"Stopped":{"Type":"Fail"}}}`)
	}

	illegal := func(event string) []check.PathState {
		for _, f := range run(t, asl(event), "").Findings {
			switch f.Code {
			case "illegal-event":
				return f.Path
			case "overtaken-not-caught", "endless-path", "event-before-creation":
				t.Errorf("%s: %+v", event, f)
			}
		}

		return nil
	}
	if path := illegal("cancel"); path != nil {
		t.Errorf("cancel is legal from PENDING: %+v", path)
	}

	path := illegal("deliver")
	if len(path) != 3 || path[2].State != "Both/Act" || path[2].Order != workflow.Pending {
		t.Errorf("deliver is not legal from PENDING: %+v", path)
	}
}
