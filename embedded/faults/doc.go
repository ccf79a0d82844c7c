// Package faults describes what goes wrong between a client and AWS: which calls fail and how.
// The same [Fault] can be put into effect on either side. On the client's side
// embeddedtest.Transport applies it to one client. On the engine's side embedded.Engine.Inject
// applies it to every caller, over a socket as in process, and to the calls that executions make
// to other services.
//
//	engine.Inject(faults.ExceedThroughput("dynamodb.UpdateItem").WithProbability(0.05, 1))
//	engine.Inject(faults.LoseAnswer("SendTaskSuccess").Next(1))
//	for _, quota := range faults.StepFunctionsQuotas("us-east-1") {
//		engine.Inject(quota)
//	}
//
// # Model
//
// A Fault first selects calls, by operation, number, chance or a token bucket. Then it delays
// them, or puts an error in the place of their answer, before or after they are carried out. An
// error is an *[Error], which AWS answers; [ErrThrottled] or [ErrConflict], which become the
// answer that the service of the call gives; or any other error, which is a broken connection. A
// [Set] holds the faults that are in effect.
//
// # Caveats
//
// An [Error] may have any code: nothing checks that the operation can answer with it.
package faults
