package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// reserved are the error names that Step Functions itself raises.
// https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
var reserved = []string{"States.ALL", "States.BranchFailed", "States.DataLimitExceeded", "States.ExceedToleratedFailureThreshold",
	"States.HeartbeatTimeout", "States.Http.Socket", "States.IntrinsicFailure", "States.ItemReaderFailed", "States.NoChoiceMatched",
	"States.ParameterPathFailure", "States.Permissions", "States.QueryEvaluationError", "States.ResultPathMatchFailure",
	"States.ResultWriterFailed", "States.Runtime", "States.TaskFailed", "States.Timeout"}

// lintErrors checks Retry and Catch: what can match, and what should not.
func (c *checker) lintErrors(s *aslState) {
	taken := map[string]int{}
	for i, r := range s.retry {
		c.lintRetry(s, r)
		c.lintNames(s, "Retry", r.line, r.errors, i == len(s.retry)-1)
		c.lintShadow(s, "Retry", r.line, r.errors, taken)
	}
	clear(taken)

	for i, k := range s.catch {
		c.lintNames(s, "Catch", k.line, k.errors, i == len(s.catch)-1)
		c.lintShadow(s, "Catch", k.line, k.errors, taken)
	}
	c.lintTimeoutCaught(s)
}

// lintShadow reports names that an earlier entry takes: the first match counts, also
// when its attempts are used up.
func (c *checker) lintShadow(s *aslState, what string, line int, names []string, taken map[string]int) {
	for _, n := range names {
		if first, dup := taken[n]; dup {
			c.at(SeverityWarning, "shadowed-error", s, line, "%s: %s never matches here; the entry of line %d takes it, also when its attempts are used up", what, n, first)
			continue
		}
		taken[n] = line
	}
}

// lintNames checks the list of one entry.
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
		case strings.HasPrefix(n, "States.") && !slices.Contains(reserved, n):
			c.at(SeverityError, "unknown-error", s, line, "%s: Step Functions has no error %s", what, n)
		case c.unlisted(n):
			c.at(SeverityWarning, "unknown-error", s, line, "%s: no activity raises %s", what, n)
		}
	}
}

// unlisted reports a name that looks like one of the known ones and is none.
func (c *checker) unlisted(n string) bool {
	prefix, _, dotted := strings.Cut(n, ".")
	if !dotted || prefix == "States" {
		return false
	}

	similar := false
	for _, list := range [][]string{c.cfg.Overtaken, c.cfg.Retryable, c.cfg.Terminal} {
		if slices.Contains(list, n) {
			return false
		}
		similar = similar || slices.ContainsFunc(list, func(k string) bool { return strings.HasPrefix(k, prefix+".") })
	}

	return similar
}

func (c *checker) lintRetry(s *aslState, r aslRetry) {
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

	if r.attempts == 0 {
		return // "do not retry these" is what it says
	}

	var terminal []string
	for _, n := range r.errors {
		if slices.Contains(c.cfg.Terminal, n) || slices.Contains(c.cfg.Overtaken, n) {
			terminal = append(terminal, n)
		}
	}

	if len(terminal) > 0 {
		c.at(SeverityError, "terminal-error-retried", s, r.line, "Retry: %s will be the same every time; give it a Catch, or MaxAttempts 0", strings.Join(terminal, ", "))
	}

	for _, all := range []string{"States.ALL", "States.TaskFailed"} {
		if !slices.Contains(r.errors, all) {
			continue
		}

		swallowed := c.swallowed(s, r)
		switch {
		case s.effect.Activity && len(swallowed) > 0:
			c.at(SeverityError, "catch-all-retried", s, r.line, "Retry on %s repeats errors that will be the same every time: %s", all, strings.Join(swallowed, ", "))
		case !s.effect.Activity && all == "States.ALL":
			c.at(SeverityWarning, "catch-all-retried", s, r.line, "Retry on States.ALL repeats errors that no retry can mend")
		}
	}
}

// swallowed lists the terminal errors that no earlier entry of Retry takes out.
func (c *checker) swallowed(s *aslState, all aslRetry) []string {
	var names []string
	for _, n := range slices.Concat(c.cfg.Overtaken, c.cfg.Terminal) {
		first := slices.IndexFunc(s.retry, func(r aslRetry) bool { return slices.Contains(r.errors, n) })
		if first < 0 || s.retry[first].line >= all.line {
			names = append(names, n)
		}
	}

	return names
}

// lintTimeoutCaught: States.TaskFailed looks as if it took every error.
func (c *checker) lintTimeoutCaught(s *aslState) {
	var names []string
	for _, k := range s.catch {
		names = append(names, k.errors...)
	}

	if s.kind == "Task" && slices.Contains(names, "States.TaskFailed") && !slices.Contains(names, "States.ALL") && !slices.Contains(names, "States.Timeout") {
		c.at(SeverityWarning, "timeout-not-caught", s, s.catch[0].line, "Catch: States.TaskFailed does not match States.Timeout; a time-out ends the execution")
	}
}

// matches reports whether an ErrorEquals list takes the error; "" is an error that
// nothing names.
func matches(names []string, err string) bool {
	for _, n := range names {
		switch n {
		case err:
			return true
		case "States.ALL":
			if err != "States.DataLimitExceeded" && err != "States.Runtime" {
				return true
			}
		case "States.TaskFailed":
			if err != "States.Timeout" {
				return true
			}
		}
	}

	return false
}

// errorName says "an error" where there is no name.
func errorName(err string) string {
	if err == "" {
		return "fails with an error that nothing names"
	}
	return fmt.Sprintf("fails with %s", err)
}
