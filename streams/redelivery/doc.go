// Package redelivery delivers the records that wait in the retry queues. Each handler's queue has a lease; the
// worker that holds it calls the handler for what is due, in the order of each item, and keeps the parts of
// the records from expiring. A record whose write arrived after its shard's lease was lost is not delivered:
// the next holder of that lease has delivered it.
package redelivery
