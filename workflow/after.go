package workflow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDelay is the longest delay of a timed transition: a year, and a leap year, too.
const maxDelay = 366 * 24 * time.Hour

// After says when time makes a transition.
type After struct {
	// Delay is counted from the moment at which the order entered the state, or from the time in Attribute.
	// It is whole seconds and at most 366 days. Without an attribute it is at least one second. With one it
	// may also be 0, or negative for a moment before the time in the attribute.
	Delay time.Duration
	// Attribute is the path of an attribute of the order that holds a time: text in RFC 3339, like
	// "2026-12-24T18:00:00Z", or a number since 1970, below 100,000,000,000 in seconds and from there on in
	// milliseconds. "": the delay is counted from entering the state.
	Attribute string
}

// String returns the moment in the form of definition files and diagrams, like "24h", "14d", "trialEndsAt" or
// "trialEndsAt - 3d".
func (a After) String() string {
	switch {
	case a.Attribute == "":
		return FormatDelay(a.Delay)
	case a.Delay > 0:
		return a.Attribute + " + " + FormatDelay(a.Delay)
	case a.Delay < 0:
		return a.Attribute + " - " + FormatDelay(-a.Delay)
	}

	return a.Attribute
}

// Check returns an error that says what is wrong with the moment. [New] checks the moments of a spec.
func (a After) Check() error {
	if a.Attribute != "" {
		if strings.HasPrefix(a.Attribute, "size(") {
			return fmt.Errorf("after: %s is a size; a time is an attribute", a.Attribute)
		}

		if err := checkPath(a.Attribute); err != nil {
			return fmt.Errorf("after: %w", err)
		}
	}

	switch {
	case a.Delay%time.Second != 0:
		return fmt.Errorf("after %s: a delay is whole seconds", a.Delay)
	case a.Delay.Abs() > maxDelay:
		return fmt.Errorf("after %s: a delay is at most %s", FormatDelay(a.Delay), FormatDelay(maxDelay))
	case a.Attribute == "" && a.Delay < time.Second:
		return fmt.Errorf("after %s: without an attribute a delay is at least 1s", FormatDelay(a.Delay))
	}

	return nil
}

// Timed returns the transitions that time makes from a state, in the order of the spec. Each has the state as
// its only source. The result is shared and must not be changed. Timed allocates nothing.
func (d *Definition) Timed(from State) []Transition {
	row, ok := d.states[from]
	if !ok {
		return nil
	}

	return d.timed[row]
}

// Due returns the moment at which time makes a transition of [Definition.Timed]. Since is the start of its timer:
// when the order entered the state, when the transition itself was made last, or when an event with
// [Transition].Restart was. The order is its data as in [Guard.Holds]; it may be nil if After has no attribute.
//
// There is no moment if the order lacks the attribute or it holds no time, and none for a transition that keeps
// the state if the moment is not after since: it repeats only when the attribute has been moved. Any
// other moment in the past is due at once.
func (t Transition) Due(since time.Time, order map[string]any) (time.Time, bool) {
	switch {
	case t.After == nil:
		return time.Time{}, false
	case t.After.Attribute == "":
		return since.Add(t.After.Delay), true
	}

	value, found := lookUp(order, t.After.Attribute)
	if !found {
		return time.Time{}, false
	}

	at, ok := attributeTime(value)
	if !ok {
		return time.Time{}, false
	}

	// Without this, a renewal whose date was not moved would be due again and again.
	at = at.Add(t.After.Delay)
	if t.Keeps() && !at.After(since) {
		return time.Time{}, false
	}

	return at, true
}

// Keeps reports whether the transition can lead an order back into the state that it was in.
func (t Transition) Keeps() bool { return slices.Contains(t.From, t.To) }

// The numbers that are times end in the year 9999. Below the first bound they are seconds, which
// would be the year 5138; from there on they are milliseconds, of which the first are in the year 1973.
const (
	firstMillis = 100_000_000_000
	lastMillis  = 253_402_300_799_999
)

// attributeTime reads an attribute as a time, in UTC and whole milliseconds. It reports false for any other value.
func attributeTime(value any) (time.Time, bool) {
	if text, ok := value.(string); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Unix() < 0 || at.UnixMilli() > lastMillis {
			return time.Time{}, false
		}

		return at.UTC().Truncate(time.Millisecond), true
	}

	n, ok := number(value)
	if !ok || n.Sign() < 0 {
		return time.Time{}, false
	}

	f, _ := n.Float64() // exact far beyond the last millisecond
	switch {
	case f > lastMillis:
		return time.Time{}, false
	case f < firstMillis:
		return time.UnixMilli(int64(math.Floor(f * 1000))).UTC(), true
	}

	return time.UnixMilli(int64(f)).UTC(), true
}

const day = 24 * time.Hour

// FormatDelay returns a duration as [ParseDelay] reads it: more than one whole day in days, like "14d", and anything
// else without units that are zero, like "24h" or "1h30m".
func FormatDelay(delay time.Duration) string {
	if delay.Abs() > day && delay%day == 0 {
		return strconv.FormatInt(int64(delay/day), 10) + "d"
	}

	text := delay.String()
	// Go writes 24h0m0s.
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}

	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}

	return text
}

// ParseDelay reads a duration as [time.ParseDuration] does, with days before the other units: "14d", "1d12h",
// "90m". A day is 24 hours.
func ParseDelay(text string) (time.Duration, error) {
	unsigned := strings.TrimLeft(text, "+-")
	sign := time.Duration(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}

	days, rest, found := strings.Cut(unsigned, "d")
	if !found {
		days, rest = "0", unsigned
	}

	n, err := strconv.ParseUint(days, 10, 16) // 65,535 days are far below the longest time.Duration
	if err != nil || len(text)-len(unsigned) > 1 {
		return 0, errDelay(text)
	}

	delay := time.Duration(n) * day
	if rest == "" && found {
		return sign * delay, nil
	}

	more, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, "+-") || delay > math.MaxInt64-more {
		return 0, errDelay(text)
	}

	return sign * (delay + more), nil
}

func errDelay(text string) error {
	return fmt.Errorf("%q: a duration like 90m, 24h or 14d", text)
}

// checkTimers checks the transitions that time makes and those that restart timers.
func (d *Definition) checkTimers() error {
	for i, t := range d.spec.Transitions {
		if err := d.checkTimer(t); err != nil {
			return specError("transition", i, "event %s to %s: %w", t.Event, t.To, err)
		}

		for _, from := range t.From {
			if err := d.checkBrought(t, from); err != nil {
				return specError("transition", i, "event %s from %s: %w", t.Event, from, err)
			}
		}
	}

	return nil
}

func (d *Definition) checkTimer(t Transition) error {
	if t.Restart {
		switch {
		case !t.Keeps():
			return errors.New("restart: the event leaves every state that it starts from, which ends their timers")
		case len(d.Timed(t.To)) == 0:
			return fmt.Errorf("restart: time makes no transition from %s", t.To)
		}
	}

	if t.After == nil {
		return nil
	}

	return t.After.Check()
}

// checkBrought checks that time brings all that the guards need: nothing but the event.
func (d *Definition) checkBrought(t Transition, from State) error {
	if t.After == nil {
		return nil
	}

	// The guards of the other transitions of the event are decided together with these.
	for _, choice := range d.Choices(from, t.Event) {
		for _, g := range choice.Guards {
			if g.Request != "" {
				return fmt.Errorf("guard %s needs %s from the request, and time brings no values", g.Name, g.Request)
			}
		}
	}

	return nil
}
