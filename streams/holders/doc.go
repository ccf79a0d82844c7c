// Package holders is what workers do with leases: which they take, how they keep them, and the work under
// them. [Planner] decides which leases a worker takes, asks for and hands over. [Liveness] is the heartbeat
// that keeps the leases of shards; the leases of retry queues are renewed one by one. [Held] is a lease while
// this worker holds it, and [Work] the work under it.
//
// There is one notion of "still ours": three quarters of the lease's duration from the begin of the last
// answered sign of life, by the monotonic and by the wall clock, so that a suspended worker has no valid
// lease when it wakes up.
package holders
