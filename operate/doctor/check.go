package doctor

import "slices"

// Result is the result of a check.
type Result string

// The results. Unchecked means that the check could not be made.
const (
	OK        Result = "ok"
	Warning   Result = "warning"
	Failure   Result = "failure"
	Unchecked Result = "unchecked"
)

// Check is the finding about one subject.
type Check struct {
	// Subject is the thing that was checked, such as "table ratchet-orders".
	Subject string `json:"subject"`
	Result  Result `json:"result"`
	// Found says what is there, what is wrong, or why the check could not be made.
	Found string `json:"found,omitempty"`
	// Action is the remedy: a command or a setting. It is empty if the result is ok.
	Action string `json:"action,omitempty"`
}

// NewOK returns a check that found nothing wrong.
func NewOK(subject, found string) Check { return Check{Subject: subject, Result: OK, Found: found} }

// NewWarning returns a check that found something a person should look at.
func NewWarning(subject, found, action string) Check {
	return Check{Subject: subject, Result: Warning, Found: found, Action: action}
}

// NewFailure returns a check that found something wrong.
func NewFailure(subject, found, action string) Check {
	return Check{Subject: subject, Result: Failure, Found: found, Action: action}
}

// NewUnchecked returns a check that could not be made.
func NewUnchecked(subject, reason, action string) Check {
	return Check{Subject: subject, Result: Unchecked, Found: reason, Action: action}
}

// Has reports whether one of the checks has the result.
func Has(checks []Check, r Result) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Result == r })
}

// Count returns how many of the checks have the result.
func Count(checks []Check, r Result) (n int) {
	for _, c := range checks {
		if c.Result == r {
			n++
		}
	}

	return n
}
