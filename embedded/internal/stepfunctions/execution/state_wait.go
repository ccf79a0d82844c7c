package execution

import (
	"time"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// maxWait is the largest number of seconds that the language allows.
const maxWait = 99_999_999

// wait hides the thread until its time, or leaves the state when the time has passed.
func (t *turn) wait(th *thread, s *asl.State, in *Doc) error {
	until := t.now
	if s.Seconds.Set {
		n, err := t.seconds(th, s.Seconds, in, 0)
		if err != nil {
			return err
		}

		until += n * 1000
	} else {
		text := s.Timestamp.Value
		if s.Timestamp.Path != nil {
			v, err := s.Timestamp.Path.Evaluate(t.scope(th, in.JSON))
			if err != nil {
				return t.runtimeFailure(th, "Invalid path '%s': nothing matches in the input.", s.Timestamp.Path)
			}

			text, _ = rawjson.Text(v)
		}

		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return t.runtimeFailure(th, "TimestampPath must lead to an RFC 3339 timestamp.")
		}

		until = at.UnixMilli()
	}

	if until <= t.now {
		return t.leave(th, s, in, s.Next)
	}

	th.phase, th.wake = waiting, until

	return nil
}

// finishWait leaves a Wait whose time has come.
func (t *turn) finishWait(th *thread) error {
	s := t.state(th)

	raw, err := t.rawInput(th)
	if err != nil {
		return err
	}

	in, err := t.selectPath(th, s.InputPath, raw)
	if err != nil {
		return err
	}

	return t.leave(th, s, in, s.Next)
}

// seconds returns a number of seconds from the definition or from the data. A number from
// the data must be at least least.
func (t *turn) seconds(th *thread, f asl.Seconds, in *Doc, least int64) (int64, error) {
	if f.Path == nil {
		return f.Value, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, in.JSON))
	if err != nil {
		return 0, t.runtimeFailure(th, "Invalid path '%s': nothing matches in the input.", f.Path)
	}

	n, ok := rawjson.Int(v)
	if !ok || n < least || n > maxWait {
		return 0, t.runtimeFailure(th, "The path '%s' must lead to an integer from %d to %d.", f.Path, least, maxWait)
	}

	return n, nil
}
