package check

import (
	"slices"
	"strings"
)

// lintTimeouts checks the limits that end a Task whose worker never answers.
func (c *checker) lintTimeouts(s *aslState) {
	t, h := s.timeout, s.heartbeat

	if t.constant() && (t.seconds < 1 || t.seconds > noTimeout) {
		c.at(SeverityError, "bad-timeout", s, 0, "TimeoutSeconds is %d; it must be 1 to 99,999,999", t.seconds)
	}

	if h.constant() && h.seconds < 1 {
		c.at(SeverityError, "bad-timeout", s, 0, "HeartbeatSeconds is %d; it must be at least 1", h.seconds)
	}

	if t.constant() && h.constant() && h.seconds >= t.seconds {
		c.at(SeverityError, "heartbeat-too-long", s, 0, "HeartbeatSeconds %d is not shorter than TimeoutSeconds %d", h.seconds, t.seconds)
	}

	if !t.set {
		c.reportMissingTimeout(s)
	}

	if !h.set && s.isActivity() {
		c.reportMissingHeartbeat(s)
	}
}

func (c *checker) reportMissingTimeout(s *aslState) {
	switch {
	case s.isActivity():
		c.at(SeverityError, "missing-timeout", s, 0,
			"no TimeoutSeconds: a token lost on the wire hangs the execution for the default of 99,999,999 seconds, three years")
	case strings.HasSuffix(s.resource, ".sync") || strings.HasSuffix(s.resource, ".sync:2"):
		c.at(SeverityWarning, "missing-timeout", s, 0,
			"no TimeoutSeconds: a job that never ends holds the execution for the default of 99,999,999 seconds, three years")
	default:
		c.at(SeverityInfo, "missing-timeout", s, 0,
			"no TimeoutSeconds: the default is 99,999,999 seconds; the called service's own limit is what ends the call")
	}
}

// reportMissingHeartbeat grades an activity without HeartbeatSeconds. A parked task sends no heartbeats.
// It needs a time-out instead, and another try after the time-out.
func (c *checker) reportMissingHeartbeat(s *aslState) {
	retried := slices.ContainsFunc(s.retry, func(r aslRetry) bool {
		return r.attempts > 0 && (slices.Contains(r.errors, "States.Timeout") || slices.Contains(r.errors, "States.ALL"))
	})
	// A Catch counts only if its way leads back to the task.
	caught := slices.ContainsFunc(s.catch, func(k aslCatch) bool {
		return slices.Contains(k.errors, "States.Timeout") && leadsTo(s.scope.byName[k.next], s, map[*aslState]bool{})
	})

	switch {
	case !s.effect.Parks && !strings.HasSuffix(s.resource, ".waitForTaskToken"):
		c.at(SeverityError, "missing-heartbeat", s, 0,
			"no HeartbeatSeconds: a lost task is noticed only when TimeoutSeconds is over")
	case s.timeout.set && (retried || caught):
		c.at(SeverityInfo, "parked-without-heartbeat", s, 0,
			"no HeartbeatSeconds, as a parked task sends no heartbeats; allowed, because its time-out ends a lost one, and Retry or Catch on States.Timeout starts it again")
	default:
		c.at(SeverityError, "missing-heartbeat", s, 0,
			"no HeartbeatSeconds: a parked task may go without when its time-out ends a lost one and Retry or Catch on States.Timeout starts it again")
	}
}
