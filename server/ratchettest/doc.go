// Package ratchettest runs a whole Ratchet inside a test: an embedded engine with all
// tables, the state machine and its activities, a worker with its stream poller, the
// sandbox bank and the sandbox carrier. Nothing is mocked, and nothing is shared
// between tests.
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
// [Start] returns an [Env]. Its Backend is the server's own, so a test may call
// everything that production calls. Place and Move apply single transitions; Execute
// starts the order's execution, which the worker then carries to its end.
//
// Each Want method checks the content of the tables. The stream brings journal rows and effects
// later, so a Want method waits for them: it looks again when a transition or a reaction
// happens, and now and then in between. After [Config.Patience] the test fails with the awaited
// content and the content that was there instead. A Want method
// fails at once if it can no longer succeed.
//
// When the test ends, Env stops the worker, lets it finish its work in hand, and
// checks that no notification was sent twice and no order was booked twice.
//
// # Own definitions and own components
//
// Config.Server.Parts has the test run a workflow of its own, with another bank, and so on.
//
// Config.Server.OrderDefinition, the name of a file, replaces only the definition of orders. The
// worker refuses to run a state machine that does not fit the definition. For a definition without
// a state machine set NoWorker, and Journal to "transactional" so that each transition writes its
// own journal row; then start own components with [Env.Go].
//
// Inside testing/synctest the whole server runs on the bubble's clock, and the minutes
// that it waits for a carrier pass in a second or two. Start must then be called inside
// the bubble.
//
// # Faults
//
// The engine strikes all callers with the faults of package embedded/faults, the worker and the
// executions alike:
//
//	env.Backend.Engine.Inject(faults.LoseAnswer(faults.Writes()...).EveryNth(11))
//
// A test with faults sets [Config.Repeats]: a notification whose record is lost is sent again.
//
// # Caveats
//
// The methods of an Env report failures to its test, with Fatal where the test cannot go
// on: call them from the goroutine of the test. In a subtest use [Env.With]. The bank and
// the carrier are the sandboxes, unless Config.Server.Parts has others.
package ratchettest
