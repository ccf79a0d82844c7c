package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Load describes the account and the work around one execution.
type Load struct {
	// Quotas are the account's. Default: the quotas of us-east-1.
	Quotas Quotas
	// Waits is how long each wait for a task token lasts, by state. A
	// state that is not listed is answered at once.
	Waits map[string]time.Duration
	// Task is how long a worker takes for one task. Default 100 ms.
	Task time.Duration
	// WriteUnits and ReadUnits are the units that an order uses in DynamoDB. TableUnits
	// are the write units in its busiest table, and ItemUnits the write units in an item
	// that orders share, such as the stock of a popular SKU.
	WriteUnits, ReadUnits, TableUnits, ItemUnits float64
	// Timed is how many transitions of an order time makes. Each costs the units that docs/operate/costs.md measures, in
	// addition to those of the order.
	Timed float64
}

// The units of a transition that time makes: its row in the table of due rows and the end of that, the transition and
// its row in the journal, and a read of the order.
const (
	timedWriteUnits = 4
	timedReadUnits  = 0.5
)

// Prices in us-east-1, in dollars. DollarsPerTransition is the price of a state transition of a Standard
// workflow. Sources: https://aws.amazon.com/step-functions/pricing/ and
// https://aws.amazon.com/dynamodb/pricing/on-demand/ (November 2024).
const (
	DollarsPerTransition = 0.025 / 1000
	perWriteUnit         = 0.625 / 1e6
	perReadUnit          = 0.125 / 1e6
)

// Price is what AWS takes for a unit.
type Price struct {
	// Unit is "read unit", "write unit" or "state transition".
	Unit string
	// DollarsPerMillion is the price of a million of them.
	DollarsPerMillion float64
	// Source is the page that has the price.
	Source string
}

// Prices returns the prices with which plans are computed: those of us-east-1, on demand, of November 2024.
func Prices() []Price {
	const (
		dynamoDB      = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
		stepFunctions = "https://aws.amazon.com/step-functions/pricing/"
	)

	return []Price{
		{"read unit", perReadUnit * 1e6, dynamoDB},
		{"write unit", perWriteUnit * 1e6, dynamoDB},
		{"state transition", DollarsPerTransition * 1e6, stepFunctions},
	}
}

// Report is the plan for one state machine under one load.
type Report struct {
	// Way are the states of an execution without failures.
	Way []string `json:"way"`
	// Loops are states of the way whose usual successor leads back, such as the choice that ends polling. One turn
	// of each loop is counted.
	Loops []string `json:"loops,omitempty"`
	// Transitions is the number of billed state transitions. HistoryEvents count towards the limit of
	// 25,000. Both are for one execution.
	Transitions   int64 `json:"transitions"`
	HistoryEvents int64 `json:"historyEvents"`
	// Calls are the requests of one execution by API.
	Calls map[string]float64 `json:"calls"`
	// Seconds is how long one execution is open.
	Seconds float64 `json:"seconds"`
	// DollarsStepFunctions and DollarsDynamoDB are the cost of one order.
	DollarsStepFunctions float64 `json:"dollarsStepFunctions"`
	DollarsDynamoDB      float64 `json:"dollarsDynamoDB"`
	// Limits are sorted: the first binds first.
	Limits []Limit `json:"limits"`
}

// Limit is how many orders a second one quota allows.
type Limit struct {
	Quota string `json:"quota"`
	// Allowed is the quota, Used what one order uses of it.
	Allowed         float64 `json:"allowed"`
	Used            float64 `json:"used"`
	OrdersPerSecond float64 `json:"ordersPerSecond"`
}

// HistoryLimit is the most history events of an execution. Source:
// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const HistoryLimit = 25_000

// New computes the plan. It fails if the number of timed transitions is negative, if a wait is for a state that does not wait on the way, or if the
// machine has no way without failures.
func New(m *Machine, load Load) (Report, error) {
	load.Quotas = defaultQuotas(load.Quotas)
	load.Task = cmp.Or(load.Task, 100*time.Millisecond)

	if load.Timed < 0 {
		return Report{}, fmt.Errorf("timed transitions %v: must be at least 0", load.Timed)
	}
	load.WriteUnits += load.Timed * timedWriteUnits
	load.ReadUnits += load.Timed * timedReadUnits

	way, loops, err := m.way()
	if err != nil {
		return Report{}, err
	}

	for name, d := range load.Waits {
		if !slices.Contains(way, name) || !m.states[name].waits() || d < 0 {
			return Report{}, fmt.Errorf("wait %s=%v: must be a state of the way that waits for a task token, and a time of at least 0", name, d)
		}
	}

	// One start. Two events: ExecutionStarted and ExecutionSucceeded.
	r := Report{Way: way, Loops: loops, Calls: map[string]float64{StartExecution: 1}, HistoryEvents: 2}
	for _, name := range way {
		m.visit(&r, name, load)
	}

	r.DollarsStepFunctions = float64(r.Transitions) * DollarsPerTransition
	r.DollarsDynamoDB = load.WriteUnits*perWriteUnit + load.ReadUnits*perReadUnit
	r.limit(load)

	return r, nil
}

func defaultQuotas(q Quotas) Quotas {
	if q == nil {
		return USEast1()
	}

	return q
}

// visit adds what one state of the way uses, with the rounds after its time-outs.
func (m *Machine) visit(r *Report, name string, load Load) {
	s := m.states[name]
	r.pass(s, load, 1)

	wait := load.Waits[name].Seconds()
	r.Seconds += wait

	// Answered before the time-out, so one visit is enough.
	if s.timeout == 0 || wait < float64(s.timeout) {
		return
	}

	back := m.wayBack(name)
	// Without a way back the wait is not repeated.
	if back == nil {
		return
	}

	// Each time-out makes a round: the states of the way back and another visit of this one.
	rounds := int64(wait) / s.timeout
	for _, other := range back {
		r.pass(m.states[other], load, rounds)
	}

	r.pass(s, load, rounds)
	// A visit that times out is not answered.
	r.Calls[SendTaskSuccess] -= float64(rounds)
}

// pass adds the usage of n visits of a state.
func (r *Report) pass(s state, load Load, n int64) {
	visits := float64(n)
	r.Transitions += n
	r.HistoryEvents += 2 * n // entered, exited

	switch {
	case s.isActivity():
		r.HistoryEvents += 3 * n // scheduled, started, succeeded
		r.Calls[GetActivityTask] += visits
		r.Calls[SendTaskSuccess] += visits
		r.Seconds += visits * load.Task.Seconds()

		// A worker sends about three heartbeats in each HeartbeatSeconds, see activities/heartbeater.go.
		if s.heartbeat > 0 {
			r.Calls[SendTaskHeartbeat] += visits * math.Floor(3*load.Task.Seconds()/float64(s.heartbeat))
		}
	case s.waits():
		r.HistoryEvents += 4 * n // scheduled, started, submitted, succeeded
		r.Calls[SendTaskSuccess] += visits
	case s.kind == "Task":
		r.HistoryEvents += 3 * n
	}
}

// limit fills in how many orders each quota allows.
func (r *Report) limit(load Load) {
	// An execution is open for its whole time: at one order a second, Seconds executions are open.
	used := map[string]float64{
		stateTransition: float64(r.Transitions),
		openExecutions:  r.Seconds,
		TableWrites:     load.TableUnits,
		itemWrites:      load.ItemUnits,
	}
	for name, n := range r.Calls {
		used[name] = n
	}

	for name, n := range used {
		// A quota that the order does not use, or that is not known, limits nothing.
		if allowed := load.Quotas[name]; n > 0 && allowed > 0 {
			r.Limits = append(r.Limits, Limit{Quota: name, Allowed: allowed, Used: n, OrdersPerSecond: allowed / n})
		}
	}

	slices.SortFunc(r.Limits, func(a, b Limit) int {
		// The name decides between equal limits, so that the report is always the same.
		return cmp.Or(cmp.Compare(a.OrdersPerSecond, b.OrdersPerSecond), cmp.Compare(a.Quota, b.Quota))
	})
}
