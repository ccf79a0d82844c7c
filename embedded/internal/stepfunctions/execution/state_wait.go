package execution

import (
	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Limits of waits in seconds: of a wait that the data counts in seconds, and of a wait until a timestamp,
// which fails from 24,856 days on.
const (
	maxWait      = 99_999_999
	maxWaitUntil = 1<<31 - 1
)

// wait hides the thread until its time, or leaves the state when the time has passed.
func (t *turn) wait(th *thread, s *asl.State, in *Doc) error {
	until, err := t.waitUntil(th, s, in)
	if err != nil {
		return err
	}

	// A time in the past is no wait, and sets no timer.
	if until <= t.now {
		return t.follow(th, s, in, s.Assign, s.Output, s.Next)
	}

	th.phase, th.wake = waiting, until

	return nil
}

// waitUntil returns the end of a wait in milliseconds since 1970.
func (t *turn) waitUntil(th *thread, s *asl.State, in *Doc) (int64, error) {
	switch {
	case s.Seconds.Query != nil:
		n, err := t.queryNumber(th, "Seconds", s.Seconds.Query, in)
		if err == nil && (n < 0 || n > maxWait) {
			err = t.queryError(th, "Seconds", "Seconds must be between 0 and %d but was: %d", maxWait, n)
		}

		return t.now + n*1000, err
	case s.Seconds.Path != nil:
		n, err := t.waitSeconds(th, s.Seconds.Path, in)
		return t.now + n*1000, err
	// A constant was checked when the definition was accepted.
	case s.Seconds.Set:
		return t.now + s.Seconds.Value*1000, nil
	}

	text := []byte(s.Timestamp.Value)
	if s.Timestamp.Query != nil {
		value, err := t.queryText(th, "Timestamp", s.Timestamp.Query, in)
		if err != nil {
			return 0, err
		}

		text = []byte(value)
	}

	if path := s.Timestamp.Path; path != nil {
		v, err := path.Evaluate(t.scope(th, in.JSON))
		if err != nil {
			return 0, t.invalidPath(th, path, err)
		}

		text = plainText(v)
	}

	at, err := asl.ParseTimestamp(string(text))
	if err != nil && s.JSONata {
		return 0, t.queryError(th, "Timestamp", "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: %s", text)
	}

	if err != nil {
		return 0, t.runtimeFailure(th, "The TimestampPath parameter does not reference a valid ISO-8601 extended "+
			"offset date-time format string: %s == %s", s.Timestamp.Path, text)
	}

	if at.UnixMilli()-t.now > maxWaitUntil*1000 {
		return 0, t.waitTooLong(th, "Timestamp")
	}

	return at.UnixMilli(), nil
}

// waitSeconds returns the number of seconds to which SecondsPath leads.
func (t *turn) waitSeconds(th *thread, path *jsonpath.Path, in *Doc) (int64, error) {
	v, err := path.Evaluate(t.scope(th, in.JSON))
	if err != nil {
		return 0, t.invalidPath(th, path, err)
	}

	n, ok := rawjson.Int(v)
	switch {
	case !ok:
		return 0, t.runtimeFailure(th, "The SecondsPath parameter cannot be parsed as a long value: %s == %s", path, plainText(v))
	case n < 0:
		return 0, t.runtimeFailure(th, "The SecondsPath parameter references a negative value: %s == %d", path, n)
	case n > maxWait:
		return 0, t.waitTooLong(th, "Seconds")
	}

	return n, nil
}

func (t *turn) waitTooLong(th *thread, field string) *failure {
	return t.dataFailure(th, field, "Wait state delay is too long.")
}

// finishWait leaves a Wait whose time has come.
func (t *turn) finishWait(th *thread) error {
	s := t.state(th)

	in, err := t.effectiveInput(th)
	if err != nil {
		return err
	}

	return t.follow(th, s, in, s.Assign, s.Output, s.Next)
}
