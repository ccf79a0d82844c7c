// Package execution runs one execution of a state machine as a pure step
// function: given the execution's state, one stimulus and the time, an Env
// changes the state and returns a Turn, the history events and tasks that
// follow. It performs no I/O beside reading documents of its own history.
//
// A stimulus is the start, a task's start, success, failure or heartbeat, the
// passing of time, a stop, or a redrive. Each runs the execution through all
// states that need nobody (Pass, Choice, Succeed ...) up to the next wait, so
// that its whole effect can be stored at once.
//
// The flow of control is a tree of threads: the root, and a child for each
// running branch of a Parallel and iteration of a Map. The state holds no
// documents: a thread knows in which event its input stands (Ref), and an event
// whose document equals an earlier one refers to it. A document is written once.
//
// Every stimulus first fires what was due before it. A completion that arrives
// after its deadline is therefore late, whether or not the timer has run.
package execution
