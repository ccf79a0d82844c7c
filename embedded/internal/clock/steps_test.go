package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAStepOfTheMachinesClock: the engine's time makes small steps at once, a large one forward after an hour, and none
// that is taken back.
func TestAStepOfTheMachinesClock(t *testing.T) {
	for name, row := range map[string]struct {
		steps []time.Duration // of the machine's clock, ten minutes apart
		after time.Duration
		ahead time.Duration // of the engine's time then
		held  time.Duration
	}{
		"none":                         {},
		"a correction":                 {steps: []time.Duration{30 * time.Second}, ahead: 30 * time.Second},
		"back by a correction":         {steps: []time.Duration{-time.Minute}, ahead: -time.Minute},
		"45 days for ten minutes":      {steps: []time.Duration{1080 * time.Hour, -1080 * time.Hour}},
		"45 days":                      {steps: []time.Duration{1080 * time.Hour}, held: 1080 * time.Hour},
		"45 days, an hour later":       {steps: []time.Duration{1080 * time.Hour}, after: time.Hour, ahead: 1080 * time.Hour},
		"an hour back, two days later": {steps: []time.Duration{-time.Hour}, after: 48 * time.Hour, held: -time.Hour},
		"in two steps":                 {steps: []time.Duration{time.Hour, time.Hour}, held: 2 * time.Hour},
		"and nearly back":              {steps: []time.Duration{-time.Hour, time.Hour + 2*time.Second}, ahead: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Clock{}
				began, first := time.Now(), c.Now()

				for _, d := range row.steps {
					c.SetWall(d)
					c.Now()
					time.Sleep(10 * time.Minute)
				}
				time.Sleep(row.after)

				if followed := c.Follow(); followed != (row.ahead > smallStep) {
					t.Errorf("followed: %t", followed)
				}

				if ahead := c.Now().Round(0).Sub(first.Round(0)) - time.Since(began); ahead != row.ahead {
					t.Errorf("the engine's time is ahead by %v", ahead)
				}

				if held, _ := c.Held(); held != row.held && held != row.held+row.ahead {
					t.Errorf("held %v", held)
				}
			})
		})
	}
}

// Each call of the engine reads the clock.
func BenchmarkNow(b *testing.B) {
	var c Clock
	for b.Loop() {
		c.Now()
	}
}
