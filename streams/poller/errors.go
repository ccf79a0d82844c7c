package poller

import "errors"

// errNotStarted is the health of a poller before Run.
var errNotStarted = errors.New("streams: poller has not started")

// errProcessEnded is the error of a record that became a dead letter because several processes
// ended during calls for it.
var errProcessEnded = errors.New("streams: the process ended during the call")
