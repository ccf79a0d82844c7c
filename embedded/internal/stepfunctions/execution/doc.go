// Package execution interprets one execution of a state machine as a pure function: from
// the execution's [State], one stimulus and the time, an [Env] makes the next State and a
// [Turn], which has the new events of the history and the changes of the task queues. It
// does no I/O except reading documents of its own history.
//
//	env := &execution.Env{Machine: machine, Now: time.Now(), ...}
//	state := &execution.State{Name: "order-1", Revision: 1}
//	turn, err := env.Start(state, []byte(`{"id":1}`))
//	// store state and turn.Events together, then offer turn.Queued to workers
//
// # Stimuli
//
// A stimulus is a method of Env: Start, StartTask, Succeed, Fail, Heartbeat, Called, Watched, MapEnded,
// Tick, Stop, Redrive, Rerun. It takes the execution through all states that need no outside event (Pass,
// Choice, Succeed and so on) up to the next wait, so that the caller stores the whole effect of the
// stimulus at once. A crash between two stimuli loses nothing.
//
// Every stimulus first applies the timers that were due before it. So a task's result that
// arrives after its deadline is late, also when Tick has not run yet.
//
// # Threads and documents
//
// The flow of control is a tree of threads: the root, and a child for each running branch
// of a Parallel and iteration of a Map. The State holds no documents. A thread refers to
// the event that holds its input ([Ref]), and an event whose document equals an earlier
// one refers to that event: each document is stored once.
//
// # Map Runs
//
// A distributed Map is one thread that waits for its Map Run. The Turn tells the caller which
// Map Runs start, are redriven and are over; the caller runs the children as executions of their
// own, with the inputs that MapInputs computes from the thread's state, and ends the state with
// MapEnded.
//
// # JSONata
//
// Each field of a state is evaluated once, and its value is in the history before anything
// follows from it (query.go, query_map.go). Only the ItemSelector is evaluated again, for an
// iteration that has not started yet. So a crash or a redrive changes no value, although
// expressions read the time and draw random numbers.
//
// # Files
//
// enter.go dispatches on the kind of state and state_*.go have one kind each; dataflow.go
// applies paths and templates; handler.go, retry.go and catch.go handle failures;
// *_codec.go define the stored forms.
package execution
