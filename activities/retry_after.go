package activities

import "time"

// RetryAfter returns the failure of a handler that asks the state machine to run the task again when
// the wait is over, for example because the far side has asked for a pause.
//
// The interval of a Retrier is part of the state machine and cannot be computed. So the wait becomes
// one of a few error names, each with its own Retrier: the shortest class of RetryClasses that is at
// least as long as the wait, or the longest class for a longer wait. The name is Config.ErrorPrefix and
// the class's name, as in "Worker.RetryAfter1m".
func RetryAfter(wait time.Duration, err error) error {
	return &Error{own: retryClass(wait), Err: err}
}

// RetryClass is one of the waits that a handler can ask for with RetryAfter.
type RetryClass struct {
	// Name follows Config.ErrorPrefix in the failure's name.
	Name string
	// Wait is IntervalSeconds of the Retrier for this name. The Retrier's BackoffRate should be 1. Its
	// MaxAttempts should be the length of the longest outage to wait through, divided by Wait.
	Wait time.Duration
}

var retryClasses = [...]RetryClass{
	{Name: "RetryAfter10s", Wait: 10 * time.Second},
	{Name: "RetryAfter1m", Wait: time.Minute},
	{Name: "RetryAfter10m", Wait: 10 * time.Minute},
	{Name: "RetryAfter1h", Wait: time.Hour},
}

// RetryClasses returns the classes, the shortest wait first. A state machine needs a
// Retrier for each of them at every task whose handler uses RetryAfter.
func RetryClasses() []RetryClass {
	all := retryClasses
	return all[:]
}

// retryClass returns the name of the shortest class that is at least as long as the wait, or of the
// longest class.
func retryClass(wait time.Duration) string {
	for _, c := range retryClasses {
		if wait <= c.Wait {
			return c.Name
		}
	}

	return retryClasses[len(retryClasses)-1].Name
}
