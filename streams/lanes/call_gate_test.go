package lanes

import (
	"testing"
	"time"
)

// TestACallThatNeverEndsDoesNotStopTheOthers: it ignores its context, so none can be tried alone beside
// it. Half of the time the others run.
func TestACallThatNeverEndsDoesNotStopTheOthers(t *testing.T) {
	virtually(t, func(t *testing.T) {
		const atMost, tests, minutes = 30 * time.Second, 3, 60

		var gate Gate
		gate.expect(atMost)
		gate.Enter() // and never leaves

		end := time.Now().Add(minutes * time.Minute)
		for range tests {
			go func() {
				for time.Now().Before(end) {
					pause := gate.EnterAlone()
					if pause <= 0 {
						t.Error("a call is tried alone beside one that runs")
						return
					}
					time.Sleep(pause)
				}
			}()
		}

		calls := 0
		for time.Now().Before(end) {
			gate.Enter()
			time.Sleep(time.Second)
			gate.Leave()
			calls++
		}

		if least := minutes * 60 * 4 / 10; calls < least {
			t.Errorf("%d calls of a second in %d minutes, want %d", calls, minutes, least)
		}

		gate.Leave()
		time.Sleep(2 * atMost)

		if pause := gate.EnterAlone(); pause != 0 {
			t.Errorf("nothing runs, and the pause is %v", pause)
		}
		gate.LeaveAlone()
	})
}
