package activities

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// check returns every fault of the configuration, as one error.
func (c *Config) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("activities: "+format, args...)) }

	if c.SFN == nil {
		fault("Config.SFN must be set")
	}

	if utf8.RuneCountInString(c.WorkerName) > maxWorkerName {
		fault("Config.WorkerName has more than %d characters", maxWorkerName)
	}

	if strings.HasPrefix(c.ErrorPrefix, reservedPrefix) {
		fault(`Config.ErrorPrefix starts with %q, which is the service's own`, reservedPrefix)
	}

	if c.DrainTimeout < 0 {
		fault("Config.DrainTimeout is %v, want at least 0", c.DrainTimeout)
	}

	for i, a := range c.Activities {
		faults = append(faults, a.check(i, c.Activities[:i])...)
	}

	return errors.Join(faults...)
}

// check returns every fault of the activity. N is its number in the error texts. The others must not
// have its ARN.
func (a *Activity) check(n int, others []Activity) (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("activities: "+format, args...)) }

	if a.ARN == "" || a.Handle == nil {
		fault("activity %d needs an ARN and a Handle", n)
	}

	if a.ARN != "" && slices.ContainsFunc(others, func(o Activity) bool { return o.ARN == a.ARN }) {
		fault("%s is served twice", a.ARN)
	}

	if a.Heartbeat != 0 && a.Heartbeat < time.Second {
		fault("heartbeat of %s is %v, want at least 1s", a.ARN, a.Heartbeat)
	}

	if a.Slots < 0 || a.Pollers < 0 {
		fault("%s has %d slots and %d pollers, want at least 1", a.ARN, a.Slots, a.Pollers)
	}

	if a.Timeout < 0 || a.PerSecond < 0 {
		fault("%s has a timeout of %v and begins %v tasks a second, want at least 0", a.ARN, a.Timeout, a.PerSecond)
	}

	return faults
}

// withDefaults sets every empty field that has a default.
func (c Config) withDefaults() Config {
	c.WorkerName = cmp.Or(c.WorkerName, "worker-"+rand.Text()[:10])
	c.ErrorPrefix = cmp.Or(c.ErrorPrefix, "Worker.")
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.drainGrace = cmp.Or(c.drainGrace, 10*time.Second)
	c.PollGrace = cmp.Or(c.PollGrace, 65*time.Second)
	c.answerTimeout = cmp.Or(c.answerTimeout, 5*time.Minute)
	c.pollTimeout = cmp.Or(c.pollTimeout, 70*time.Second)
	c.fatalAfter = cmp.Or(c.fatalAfter, 2*time.Minute)
	c.Log = cmp.Or(c.Log, slog.Default())

	return c
}

// withDefaults sets every empty field that has a default, and wraps the handler.
func (a Activity) withDefaults(outer []Middleware) Activity {
	a.Name = cmp.Or(a.Name, a.ARN[strings.LastIndexByte(a.ARN, ':')+1:])
	a.Slots = cmp.Or(a.Slots, 10)
	a.Pollers = min(cmp.Or(a.Pollers, 4), a.Slots, maxPollers)

	// Wrapped from the inside out: the activity's own middleware is nearer to the handler.
	for _, wraps := range [][]Middleware{a.Middleware, outer} {
		for _, wrap := range slices.Backward(wraps) {
			a.Handle = wrap(a.Handle)
		}
	}

	return a
}
