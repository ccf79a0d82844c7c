package steps_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ratchet/activities/steps"
	"ratchet/activities/tasktoken"
)

const machineFile = "../../statemachine.asl.json"

var update = flag.Bool("update", false, "write statemachine.asl.json as the table of errors says")

// waitResource is the resource of the states that wait for the order.
const waitResource = "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken"

// routes say where a caught error leads, by the state and the class of the error. The rest
// of a state is written by hand.
var routes = map[string]map[string]string{
	"Accept":         {"refused": "Refused", "overtaken": "Found"},
	"AcceptAgain":    {"refused": "Compensate", "overtaken": "Found"},
	"Pay":            {"refused": "Compensate", "overtaken": "Overtaken"},
	"Compensate":     {"overtaken": "Found"},
	"Look":           {},
	"AwaitShipped":   {"overtaken": "Overtaken", "moved before the wait": "Look", "deadline": "Look"},
	"AwaitDelivered": {"overtaken": "Overtaken", "moved before the wait": "Look", "deadline": "Look"},
	"AwaitRelease":   {"overtaken": "Look", "moved before the wait": "Look", "deadline": "Look"},
}

// refusals are the refusals that a state can meet.
var refusals = map[string]string{"Accept": "Order.OutOfStock", "AcceptAgain": "Order.OutOfStock", "Pay": "Order.PaymentDeclined"}

// member is a member of a JSON object, whose order counts.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object that keeps the order of its members.
type object []member

func (o *object) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}

	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}

		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, member{fmt.Sprint(name), value})
	}

	return nil
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')

	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", m.name, m.value)
	}
	b.WriteByte('}')

	return b.Bytes(), nil
}

// set replaces a member, or removes it if the value is empty.
func (o *object) set(t *testing.T, name string, value any) {
	t.Helper()

	text := marshal(t, value)
	i := slices.IndexFunc(*o, func(m member) bool { return m.name == name })

	switch empty := string(text) == "[]" || string(text) == "null"; {
	case empty && i >= 0:
		*o = slices.Delete(*o, i, i+1)
	case empty:
	case i >= 0:
		(*o)[i].value = text
	default:
		before := slices.IndexFunc(*o, func(m member) bool { return m.name == "Next" || m.name == "End" })
		*o = slices.Insert(*o, before, member{name, text})
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()

	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the conditions compare with <

	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}

	return bytes.TrimSpace(b.Bytes())
}

type retrier struct {
	ErrorEquals     []string
	IntervalSeconds int64
	BackoffRate     float64
	MaxAttempts     int
	MaxDelaySeconds int64 `json:",omitempty"`
}

type catcher struct {
	ErrorEquals      []string
	ResultPath, Next string
}

// TestTheStateMachineIsGenerated compares the Retry and Catch of every state, and the
// parameters of the waits, with the table of errors and with package tasktoken. The flag
// -update writes them (make asl).
func TestTheStateMachineIsGenerated(t *testing.T) {
	text, err := os.ReadFile(machineFile)
	if err != nil {
		t.Fatal(err)
	}

	var machine, states object
	if err := json.Unmarshal(text, &machine); err != nil {
		t.Fatal(err)
	}

	at := slices.IndexFunc(machine, func(m member) bool { return m.name == "States" })
	if err := json.Unmarshal(machine[at].value, &states); err != nil {
		t.Fatal(err)
	}

	for i := range states {
		states[i].value = generate(t, states[i].name, states[i].value)
	}
	machine[at].value = marshal(t, states)

	var want bytes.Buffer
	if err := json.Indent(&want, marshal(t, machine), "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')

	if bytes.Equal(text, want.Bytes()) {
		return
	}

	if !*update {
		t.Fatal("statemachine.asl.json is not what the table of errors says: make asl")
	}

	if err := os.WriteFile(machineFile, want.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// generate returns a state with its generated parts.
func generate(t *testing.T, name string, text json.RawMessage) json.RawMessage {
	t.Helper()

	var head struct {
		Type, Resource string
		Parameters     struct{ ExpressionAttributeValues map[string]map[string]string }
	}
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}

	if head.Type != "Task" {
		return text
	}

	targets, known := routes[name]
	if !known {
		t.Fatalf("state %s: routes do not say where its errors lead", name)
	}

	var state object
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}

	kind := steps.Tasks
	if head.Resource == waitResource {
		kind = steps.Waits
		state.set(t, "Parameters", tasktoken.WaitParameters("${TaskTokensTable}", awaits[name], tasktoken.Paths{
			OrderID:     "$.orderId",
			Incarnation: "$.run.order.incarnation",
			Since:       "$.run.order.transitionId",
			Visits:      "$.run.visits",
		}))
	}

	retry, catch := []retrier{}, []catcher{}
	for _, c := range steps.ErrorClasses() {
		if c.Of != steps.AllStates && c.Of != kind {
			continue
		}

		if r := c.Retry; r != nil {
			retry = append(retry, retrier{
				ErrorEquals:     c.Errors,
				IntervalSeconds: int64(r.First.Seconds()),
				BackoffRate:     max(r.Rate, 1),
				MaxAttempts:     r.Attempts,
				MaxDelaySeconds: int64(r.Longest.Seconds()),
			})
		}

		if next := targets[c.Name]; next != "" {
			errors := c.Errors
			if c.Name == "refused" {
				errors = []string{refusals[name]}
			}
			catch = append(catch, catcher{ErrorEquals: errors, ResultPath: "$.failure", Next: next})
		}
	}
	state.set(t, "Retry", retry)
	state.set(t, "Catch", catch)

	return marshal(t, state)
}

// awaits are the states of the order that the waits are for.
var awaits = map[string]string{"AwaitShipped": "SHIPPED", "AwaitDelivered": "DELIVERED", "AwaitRelease": "PENDING"}

// isOutage reports whether a class of errors is an outage, which has to be waited through.
func isOutage(c steps.ErrorClass) bool {
	return strings.HasPrefix(c.Name, "outage") || strings.HasPrefix(c.Name, "asked to wait")
}
