package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow/plan"
)

// fourStates is an order with two activities and two waits, whose time-outs lead back by two
// states.
const fourStates = `{"StartAt":"Accept","States":{
	"Accept":{"Type":"Task","Resource":"${AcceptArn}","HeartbeatSeconds":15,"Next":"Pay"},
	"Pay":{"Type":"Task","Resource":"arn:aws:states:us-east-1:000000000000:activity:pay","Next":"AwaitShipped"},
	"AwaitShipped":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken","TimeoutSeconds":86400,
		"Catch":[{"ErrorEquals":["Other"],"Next":"Accept"},{"ErrorEquals":["States.Timeout"],"Next":"Look"}],"Next":"AwaitDelivered"},
	"AwaitDelivered":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken","TimeoutSeconds":86400,"End":true},
	"Look":{"Type":"Task","Resource":"${LookArn}","Next":"WhatNow"},
	"WhatNow":{"Type":"Choice","Choices":[{"Next":"Pay"},{"Next":"AwaitShipped"}],"Default":"Done"},
	"Done":{"Type":"Succeed"}}}`

func parse(t *testing.T, asl string) *plan.Machine {
	t.Helper()

	m, err := plan.Parse("statemachine.asl.json", []byte(asl))
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func report(t *testing.T, asl string, load plan.Load) plan.Report {
	t.Helper()

	r, err := plan.New(parse(t, asl), load)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func TestAnOrderThatIsAnsweredAtOnce(t *testing.T) {
	r := report(t, fourStates, plan.Load{})

	if diff := cmp.Diff([]string{"Accept", "Pay", "AwaitShipped", "AwaitDelivered"}, r.Way); diff != "" {
		t.Error(diff)
	}

	// 2 for the execution, 5 for each activity, 6 for each wait.
	if r.Transitions != 4 || r.HistoryEvents != 2+2*5+2*6 || r.Seconds != 0.2 {
		t.Errorf("%d transitions, %d events, %v s", r.Transitions, r.HistoryEvents, r.Seconds)
	}

	want := map[string]float64{plan.StartExecution: 1, plan.GetActivityTask: 2, plan.SendTaskSuccess: 4, plan.SendTaskHeartbeat: 0}
	if diff := cmp.Diff(want, r.Calls); diff != "" {
		t.Error(diff)
	}

	if first := r.Limits[0]; first.Quota != plan.SendTaskSuccess || first.OrdersPerSecond != 125 {
		t.Errorf("binds first: %+v", first)
	}
}

func TestATimeOutOfAWaitGoesRoundTheShortestWay(t *testing.T) {
	r := report(t, fourStates, plan.Load{Waits: map[string]time.Duration{"AwaitShipped": 60 * time.Hour}})

	// Two rounds of Look, WhatNow and AwaitShipped.
	if r.Transitions != 4+2*3 || r.Calls[plan.GetActivityTask] != 4 || r.Calls[plan.SendTaskSuccess] != 6 {
		t.Errorf("%d transitions, calls %v", r.Transitions, r.Calls)
	}

	if days := r.Seconds / 86400; math.Abs(days-2.5) > 0.001 {
		t.Errorf("open for %v days", days)
	}
}

func TestTheSmallestLimitBinds(t *testing.T) {
	month := map[string]time.Duration{"AwaitShipped": 23 * time.Hour, "AwaitDelivered": 30 * 24 * time.Hour}
	for _, row := range []struct {
		is    string
		load  plan.Load
		quota string
		rate  float64
	}{
		{"a popular SKU", plan.Load{ItemUnits: 10}, plan.ItemWrites, 100},
		{"the busiest table", plan.Load{TableUnits: 800}, plan.TableWrites, 50},
		{"long tasks", plan.Load{Task: time.Minute, Quotas: plan.OtherRegions()}, plan.SendTaskHeartbeat, 25},
		{"open executions", plan.Load{Waits: month}, plan.OpenExecutions, 1e6 / (31*86400 - 3600)},
	} {
		r := report(t, fourStates, row.load)
		if first := r.Limits[0]; first.Quota != row.quota || math.Abs(first.OrdersPerSecond-row.rate) > 0.01 {
			t.Errorf("%s: %+v, want %s with %v", row.is, first, row.quota, row.rate)
		}
	}
}

func TestQuotasAreReadAndChecked(t *testing.T) {
	q, err := plan.ParseQuotas([]byte(`{"SendTaskSuccess": 1000}`), plan.USEast1())
	if err != nil || q[plan.SendTaskSuccess] != 1000 || q[plan.StartExecution] != 300 {
		t.Errorf("%v, %v", q, err)
	}

	for text, want := range map[string]string{
		`{"SendTaskSucces": 1}`:  "one of DescribeExecution, DescribeStream, GetActivityTask, ItemWrites",
		`{"SendTaskSuccess": 0}`: "must be more than 0",
		`[]`:                     "read quotas",
	} {
		if _, err := plan.ParseQuotas([]byte(text), plan.USEast1()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAPlanThatCannotBeMadeSaysWhy(t *testing.T) {
	for _, row := range []struct{ is, asl, want string }{
		{"no JSON", `{`, "read the state machine"},
		{"no start", `{"StartAt":"A","States":{}}`, `StartAt "A" is no state`},
		{"a state that is missing", `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"}}}`, "leads to B"},
	} {
		if _, err := plan.Parse("m.json", []byte(row.asl)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.is, err)
		}
	}

	loop := parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"A"}}}`)
	if _, err := plan.New(loop, plan.Load{}); err == nil || !strings.Contains(err.Error(), "from A, every way comes back") {
		t.Errorf("a loop: %v", err)
	}

	for name, d := range map[string]time.Duration{"Pay": time.Hour, "Nowhere": time.Hour, "AwaitShipped": -1} {
		if _, err := plan.New(parse(t, fourStates), plan.Load{Waits: map[string]time.Duration{name: d}}); err == nil {
			t.Errorf("a wait of %v in %s is accepted", d, name)
		}
	}
}

func TestTheTextSaysWhatAChangeWouldGive(t *testing.T) {
	text := report(t, fourStates, plan.Load{WriteUnits: 24, ReadUnits: 8, ItemUnits: 4}).Text()

	for _, want := range []string{
		"Accept > Pay > AwaitShipped > AwaitDelivered",
		"4 state transitions, 24 history events of at most 25000",
		"$0.000100 for Step Functions, $0.000016 for DynamoDB; a million orders: $116",
		"SendTaskSuccess: 125.0 orders a second is the most. With SendTaskSuccess raised to 1000 it is 250.0, by GetActivityTask.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fourStates))
	f.Fuzz(func(_ *testing.T, asl []byte) {
		m, err := plan.Parse("m", asl)
		if err != nil {
			return
		}

		if r, err := plan.New(m, plan.Load{}); err == nil {
			_ = r.Text()
		}
	})
}

// TestATransitionByTimeCostsUnitsOfDynamoDB: four write units and half a read unit, as docs/operate/costs.md measures, and nothing
// of Step Functions.
func TestATransitionByTimeCostsUnitsOfDynamoDB(t *testing.T) {
	without := report(t, fourStates, plan.Load{WriteUnits: 10, ReadUnits: 10})
	with := report(t, fourStates, plan.Load{WriteUnits: 10, ReadUnits: 10, Timed: 2})

	if more, want := with.DollarsDynamoDB-without.DollarsDynamoDB, 8*0.625e-6+1*0.125e-6; math.Abs(more-want) > 1e-12 {
		t.Errorf("%v dollars more, want %v", more, want)
	}

	with.DollarsDynamoDB = without.DollarsDynamoDB
	if diff := cmp.Diff(without, with); diff != "" {
		t.Error(diff)
	}

	if _, err := plan.New(parse(t, fourStates), plan.Load{Timed: -1}); err == nil || !strings.Contains(err.Error(), "timed transitions -1") {
		t.Errorf("error %v", err)
	}
}

// polling asks until the work is done; the failure has a state of its own.
const polling = `
StartAt: Ask
States:
  Ask: {Type: Task, Resource: "arn:aws:states:eu-west-1:1:activity:ask", TimeoutSeconds: 60, Next: Done}
  Done:
    Type: Choice
    Choices:
      - {Variable: $.failed, BooleanEquals: true, Next: Failed}
      - {Variable: $.done, BooleanEquals: true, Next: Ship}
    Default: Later
  Later: {Type: Wait, Seconds: 10, Next: Ask}
  Failed: {Type: Fail}
  Ship: {Type: Task, Resource: "arn:aws:states:eu-west-1:1:activity:ship", TimeoutSeconds: "{% $limit %}", End: true}
`

// TestOneTurnOfALoopIsCounted, in a machine that polls, and the report says so. The machine is YAML.
func TestOneTurnOfALoopIsCounted(t *testing.T) {
	m, err := plan.Parse("m.yaml", []byte(polling))
	if err != nil {
		t.Fatal(err)
	}

	r, err := plan.New(m, plan.Load{})
	if err != nil {
		t.Fatal(err)
	}

	if got := strings.Join(r.Way, " "); got != "Ask Done Ship" || len(r.Loops) != 1 || r.Loops[0] != "Done" {
		t.Errorf("the way is %s, its loops end at %q", got, r.Loops)
	}

	if text := r.Text(); !strings.Contains(text, "one turn is counted of each loop that ends at Done") {
		t.Error(text)
	}
}

// TestAFailureIsTheWayWhereNothingElseIs.
func TestAFailureIsTheWayWhereNothingElseIs(t *testing.T) {
	r, err := plan.New(parse(t, `{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Fail"}}}`), plan.Load{})
	if err != nil || len(r.Way) != 2 || len(r.Loops) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
