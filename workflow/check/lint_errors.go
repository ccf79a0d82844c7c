package check

import (
	"math"
	"slices"
	"strings"
)

// serviceErrors are the error names that Step Functions itself raises.
// https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
var serviceErrors = []string{
	"States.ALL",
	"States.BranchFailed",
	"States.DataLimitExceeded",
	"States.ExceedToleratedFailureThreshold",
	"States.HeartbeatTimeout",
	"States.Http.Socket",
	"States.IntrinsicFailure",
	"States.ItemReaderFailed",
	"States.NoChoiceMatched",
	"States.ParameterPathFailure",
	"States.Permissions",
	"States.QueryEvaluationError",
	"States.ResultPathMatchFailure",
	"States.ResultWriterFailed",
	"States.Runtime",
	"States.TaskFailed",
	"States.Timeout",
}

// ServiceErrors returns the error names that Step Functions itself raises, and the two names that match
// several errors in a Retry or Catch: States.ALL and States.TaskFailed.
func ServiceErrors() []string { return slices.Clone(serviceErrors) }

// matches reports whether an ErrorEquals list takes an error. The error "" stands for a name that no list has.
// Nothing takes States.Runtime. A missed heartbeat is a time-out, too.
func matches(names []string, err string) bool {
	if err == "States.Runtime" {
		return false
	}

	timeout := err == "States.Timeout" || err == "States.HeartbeatTimeout"

	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case "States.ALL":
			return err != "States.DataLimitExceeded"
		case "States.TaskFailed":
			return !timeout && err != "States.DataLimitExceeded"
		case "States.Timeout":
			return timeout
		}

		return name == err
	})
}

// lintErrors checks the names in Retry and Catch.
func (c *checker) lintErrors(s *aslState) {
	taken := map[string]int{}
	for i, r := range s.retry {
		c.lintRetry(s, i)
		c.lintNames(s, "Retry", r.line, r.errors, i == len(s.retry)-1)
		c.lintShadow(s, "Retry", r.line, r.errors, taken)
	}

	// Retry and Catch have lists of their own.
	clear(taken)

	for i, k := range s.catch {
		c.lintNames(s, "Catch", k.line, k.errors, i == len(s.catch)-1)
		c.lintShadow(s, "Catch", k.line, k.errors, taken)
	}

	c.lintTimeoutCaught(s)
}

// lintShadow reports names that an earlier entry takes. The first match counts even when
// its attempts are used up.
func (c *checker) lintShadow(s *aslState, what string, line int, names []string, taken map[string]int) {
	for _, n := range names {
		if first, dup := taken[n]; dup {
			c.at(SeverityWarning, "shadowed-error", s, line,
				"%s: %s never matches here; the entry of line %d takes it, also when its attempts are used up", what, n, first)
			continue
		}

		taken[n] = line
	}
}

// lintNames checks the ErrorEquals of one entry.
func (c *checker) lintNames(s *aslState, what string, line int, names []string, last bool) {
	if len(names) == 0 {
		c.at(SeverityError, "empty-error-list", s, line, "%s: ErrorEquals is empty", what)
	}

	for _, n := range names {
		switch {
		case n == "States.ALL" && len(names) > 1:
			c.at(SeverityError, "catch-all-not-alone", s, line, "%s: States.ALL must stand alone in its list", what)
		case n == "States.ALL" && !last:
			c.at(SeverityError, "catch-all-not-last", s, line, "%s: States.ALL must be the last entry; those after it never match", what)
		case strings.HasPrefix(n, "States.") && !slices.Contains(serviceErrors, n):
			c.lintOwnError(s, what, line, n)
		case c.misspelled(n):
			c.at(SeverityWarning, "unknown-error", s, line, "%s: no activity raises %s", what, n)
		}
	}
}

// lintOwnError reports a name that looks like the service's and is not, unless the machine itself raises it.
func (c *checker) lintOwnError(s *aslState, what string, line int, name string) {
	raised := func(t *aslState) bool { return t.kind == "Fail" && (t.failure == name || t.computed) }
	if slices.ContainsFunc(c.m.all, raised) {
		return
	}

	// The effects of an activity name all its errors. What another task raises, such as a function, is not known.
	handler := func(t *aslState) bool {
		around := func(b *aslScope) bool { return inside(t, b) }
		return t.kind == "Task" && !t.effect.Activity && (t == s || slices.ContainsFunc(s.branches, around))
	}
	if slices.ContainsFunc(c.m.all, handler) {
		c.at(SeverityWarning, "unknown-error", s, line, "%s: Step Functions has no error %s: it is taken only if a handler raises it by this name", what, name)
		return
	}

	c.at(SeverityError, "unknown-error", s, line, "%s: Step Functions has no error %s, and no Fail raises it", what, name)
}

// misspelled reports a name that has the prefix of an error of the
// config (up to the dot) but is not in the config.
func (c *checker) misspelled(name string) bool {
	prefix, _, dotted := strings.Cut(name, ".")
	if !dotted || prefix == "States" {
		return false
	}

	known := slices.Concat(c.cfg.Overtaken, c.cfg.Retryable, c.cfg.Terminal)
	similar := func(k string) bool { return strings.HasPrefix(k, prefix+".") }

	return !slices.Contains(known, name) && slices.ContainsFunc(known, similar)
}

func (c *checker) lintRetry(s *aslState, i int) {
	r := s.retry[i]
	c.lintRetryNumbers(s, r)

	if r.attempts == 0 {
		// MaxAttempts 0 keeps errors from the entries after it.
		return
	}

	var terminal []string
	for _, n := range r.errors {
		if slices.Contains(c.cfg.Terminal, n) || slices.Contains(c.cfg.Overtaken, n) {
			terminal = append(terminal, n)
		}
	}

	if len(terminal) > 0 {
		c.at(SeverityError, "terminal-error-retried", s, r.line,
			"Retry: %s will be the same every time; give it a Catch, or MaxAttempts 0", strings.Join(terminal, ", "))
	}

	for _, all := range []string{"States.ALL", "States.TaskFailed"} {
		if !slices.Contains(r.errors, all) {
			continue
		}

		swallowed := c.swallowed(s, i)
		switch {
		// Only activities raise the errors of the config, so a call of a service gets the milder finding.
		case s.effect.Activity && len(swallowed) > 0:
			c.at(SeverityError, "catch-all-retried", s, r.line,
				"Retry on %s repeats errors that will be the same every time: %s", all, strings.Join(swallowed, ", "))
		case !s.effect.Activity && all == "States.ALL":
			c.at(SeverityWarning, "catch-all-retried", s, r.line, "Retry on States.ALL repeats errors that no retry can fix")
		}
	}
}

// lintRetryNumbers checks the ranges of
// https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
func (c *checker) lintRetryNumbers(s *aslState, r aslRetry) {
	wrong := func(format string, args ...any) {
		c.at(SeverityError, "bad-retry", s, r.line, "Retry: "+format, args...)
	}

	switch {
	case r.interval < 1 || r.interval > noTimeout:
		wrong("IntervalSeconds is %d; it must be 1 to 99,999,999", r.interval)
	case r.attempts < 0 || r.attempts > noTimeout:
		wrong("MaxAttempts is %d; it must be 0 to 99,999,999", r.attempts)
	case r.backoff < 1 || math.IsInf(r.backoff, 0) || math.IsNaN(r.backoff):
		wrong("BackoffRate is %v; it must be at least 1", r.backoff)
	case r.maxDelay != 0 && (r.maxDelay <= r.interval || r.maxDelay > 31_622_400):
		wrong("MaxDelaySeconds must be more than IntervalSeconds (%d) and at most 31,622,400", r.interval)
	}
}

// swallowed lists the terminal errors that an entry of Retry takes without naming them. Entries are tried in
// the order of the file, so an earlier one that takes an error keeps it from this one.
func (c *checker) swallowed(s *aslState, entry int) []string {
	var names []string
	for _, n := range slices.Concat(c.cfg.Overtaken, c.cfg.Terminal) {
		first := slices.IndexFunc(s.retry, func(r aslRetry) bool { return matches(r.errors, n) })
		if first == entry && !slices.Contains(s.retry[entry].errors, n) {
			names = append(names, n)
		}
	}

	return names
}

// lintTimeoutCaught reports a Catch on States.TaskFailed without one on States.Timeout:
// the first looks as if it took every error.
func (c *checker) lintTimeoutCaught(s *aslState) {
	var names []string
	for _, k := range s.catch {
		names = append(names, k.errors...)
	}

	catches := func(name string) bool { return slices.Contains(names, name) }
	if s.kind == "Task" && catches("States.TaskFailed") && !catches("States.ALL") && !catches("States.Timeout") {
		c.at(SeverityWarning, "timeout-not-caught", s, s.catch[0].line,
			"Catch: States.TaskFailed does not match States.Timeout; a time-out ends the execution")
	}
}
