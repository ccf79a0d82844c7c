// Package fleet runs an engine, an API server, three workers, a carrier and a receiver as processes with
// addresses of their own, each in a network namespace. They reach each other only through a forwarder of the
// test's own, which cuts links in one direction or both and delays them. Processes are killed (SIGKILL) and
// suspended (SIGSTOP) for longer than their leases. At the end everything is recounted.
//
// The test needs Linux, the command ip, and the right to make namespaces; without them it is skipped, and says
// so. It runs by a command of its own, `make fleet`.
package fleet
