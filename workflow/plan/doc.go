// Package plan computes what a Step Functions state machine allows and costs: how many
// executions a second an account can run and which quota binds first, and what one
// execution uses in state transitions, history events, API calls and dollars.
//
//	m, err := plan.Parse("machine.asl.json", asl)
//	report, err := plan.New(m, plan.Load{Quotas: plan.USEast1()})
//
// # Model
//
// An execution takes the way without failures: from StartAt along Next, in a Choice along
// Default or, without one, the first rule. Where that leads back, as polling does, or to a state of the type
// Fail, the way takes the next rule that leads to an end, so that one turn of each loop is counted. A wait for a task token takes the time that the
// load names. If that is longer than the state's TimeoutSeconds, the execution takes the shortest
// way back to the state, once for each time-out. An activity's task takes the time of the load's
// Task, which also decides the number of heartbeats. All other states take no time.
//
// # Caveats
//
// Retries, empty polls, other state machines of the account and bursts are left out. A quota is a rate per
// second that the account has for itself. Subtract the share that other callers use.
package plan
