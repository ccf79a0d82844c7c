package poller

import "errors"

// errNotStarted is the health of a poller before Run.
var errNotStarted = errors.New("streams: poller has not started")
