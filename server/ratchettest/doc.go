// Package ratchettest runs a complete Ratchet inside a test: an embedded engine with all tables, the
// state machine and its activities, a worker with its stream poller, the sandbox bank and the sandbox
// carrier. Nothing is mocked. Each call of Start has its own engine and tables.
//
//	func TestAPaidOrderIsShippedOnce(t *testing.T) {
//		env := ratchettest.Start(t, ratchettest.Config{})
//		env.SetStock("mug", 10)
//
//		env.Execute(ratchettest.NewOrder("o-1", "mug"))
//
//		env.WantOrder("o-1", workflow.Delivered, 4)
//		env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
//		env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
//	}
//
// # Model
//
// [Start] returns an [Env]. Its Backend is a *server.Backend, so a test may call everything that a
// production program calls. Place and Move apply single transitions. Execute starts the order's
// execution, which the worker then runs to its end.
//
// Each Want method checks the content of the tables. Journal rows and effects are written some time
// after their transitions, so a Want method waits for them: it looks again after each transition and
// each reaction, and also at short intervals. After [Config.Patience] the test fails with the awaited
// content and the content that was there instead. A Want method fails at once if it can no longer
// succeed.
//
// When the test ends, Env stops the worker, lets it finish its work in progress, and checks that no
// notification was sent twice and no order was booked twice.
//
// # Own definitions and own components
//
// With Config.Server.Parts a test can run its own workflow, bank, carrier and other parts.
//
// [Config.Definition] replaces only the definition of orders. The worker refuses to run if the state
// machine does not fit the definition. For a definition without a state machine, set NoWorker, and set
// Server.Journal to "transactional" so that each transition writes its own journal row. Then start your
// own components with [Env.Go].
//
// Inside testing/synctest the whole server uses the clock of the bubble, so waits of minutes take no
// real time. Call Start inside the bubble then.
//
// # Faults
//
// The engine applies the faults of package embedded/faults to all callers, also to the worker and the
// executions:
//
//	env.Backend.Engine.Inject(faults.LoseAnswer(faults.Writes()...).EveryNth(11))
//
// In a test with faults set [Config.Repeats]: if a fault prevents the record of a sent notification,
// the notification is sent again.
//
// # Caveats
//
// The methods of an Env fail its test, many of them with Fatal. So call them from the goroutine of the
// test. In a subtest use [Env.With]. The bank and the carrier are the sandboxes, unless
// Config.Server.Parts has others.
package ratchettest
