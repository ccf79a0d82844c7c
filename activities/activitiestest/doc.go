// Package activitiestest runs the handler of an activity in virtual time, without a
// network and without waiting.
//
//	func TestBooking(t *testing.T) {
//		result := activitiestest.Run(t, activitiestest.Task{
//			Activity: activities.Activity{Handle: book, Heartbeat: time.Minute},
//			Input:    map[string]string{"orderId": "o-1"},
//			Faults:   []embeddedtest.Fault{embeddedtest.Throttle("SendTaskHeartbeat")},
//		})
//		if result.Done.Outcome != activities.Lost { ... }
//	}
//
// The worker is a real one and the service is the embedded engine, which runs a state machine with
// one state. Time-outs and heartbeats use the virtual time of a [testing/synctest] bubble: a wait of an
// hour takes no real time.
//
// # Caveats
//
// The handler runs inside the bubble. It must not use channels, timers and connections that the test
// made outside of it, nor the network. While the handler waits in real time, for a program or another
// machine, no virtual time passes.
package activitiestest
