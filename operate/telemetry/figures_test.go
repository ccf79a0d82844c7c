package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/streams"
)

// line is what CloudWatch reads of a line of figures.
type line struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	// members are all members at the top.
	members map[string]any
}

// units are those of CloudWatch that figures may have.
var units = []string{"Seconds", "Count"}

// readFigures returns the figures of each line, and checks that CloudWatch takes them.
func readFigures(t *testing.T, text []byte, prefix string) (all []map[string]float64) {
	t.Helper()

	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var l line
		if err := errors.Join(json.Unmarshal(s.Bytes(), &l), json.Unmarshal(s.Bytes(), &l.members)); err != nil {
			t.Fatalf("%s: %v", s.Bytes(), err)
		}

		// CloudWatch takes milliseconds, of the last two weeks.
		if at := time.UnixMilli(l.AWS.Timestamp); time.Since(at) > time.Hour || at.After(time.Now()) || len(l.AWS.CloudWatchMetrics) != 1 {
			t.Fatalf("%s: another time, or several directives", s.Bytes())
		}

		// A dimension is a member with a text. The prefix is the only one: no metric for an order, a caller or a process.
		one := l.AWS.CloudWatchMetrics[0]
		if one.Namespace != FiguresNamespace || len(one.Dimensions) != 1 || !slices.Equal(one.Dimensions[0], []string{"Prefix"}) || l.members["Prefix"] != prefix || len(one.Metrics) > 100 {
			t.Errorf("%s: not in the format", s.Bytes())
		}

		figures := map[string]float64{}
		for _, m := range one.Metrics {
			value, number := l.members[m.Name].(float64)
			if !number || !slices.Contains(units, m.Unit) {
				t.Errorf("%s: %s is no number in a unit of CloudWatch", s.Bytes(), m.Name)
			}
			figures[m.Name] = value
		}

		// Nothing else is written: the figures, their dimension, and what says which is which.
		if len(l.members) != len(figures)+2 {
			t.Errorf("%s: has more than figures", s.Bytes())
		}
		all = append(all, figures)
	}

	return all
}

// failing is a writer whose next Write fails.
type failing struct {
	bytes.Buffer

	fails bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.fails {
		f.fails = false
		return 0, io.ErrShortWrite
	}

	return f.Buffer.Write(p)
}

// The figures of a line are those of the time since the line before, also of another call, and of one that failed.
func TestFiguresAreWrittenForCloudWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, err := New(ExportConfig{Endpoint: ExportOff})
		if err != nil {
			t.Fatal(err)
		}
		defer of.Close()

		var out failing

		// writing runs WriteFigures while do runs.
		writing := func(do func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})

			go func() {
				defer close(ended)
				of.WriteFigures(ctx, &out, "shop-")
			}()

			do()
			cancel()
			<-ended
		}

		of.http.requests.plus(3, "GET", "/v1/orders/{orderId}", "200")
		of.http.requests.plus(1, "GET", "/v1/orders/{orderId}", "503")
		of.payments.calls.plus(1, "charge", "error")
		of.payments.calls.plus(4, "charge", "declined")
		of.notify.attempts.plus(2, "missed")
		of.notify.attempts.plus(7, "delivered")
		of.streams.gaps.plus(1, "trimmed")

		for range 98 {
			of.http.took.observe(2*time.Millisecond, "GET", "/v1/orders/{orderId}")
		}
		of.http.took.observe(6*time.Second, "GET", "/v1/orders/{orderId}")
		of.http.took.observe(6*time.Second, "GET", "/v1/orders/{orderId}")

		stop := of.ObserveStream(func() []streams.Lag { return []streams.Lag{{Age: 3 * time.Second}, {Age: 400 * time.Second}} })

		writing(func() {
			time.Sleep(figuresEvery + time.Second)
			of.notify.attempts.plus(1, "missed")
		})
		stop()

		out.fails = true
		writing(func() {
			of.notify.attempts.plus(4, "missed")
			time.Sleep(figuresEvery + time.Second)
			of.notify.attempts.plus(1, "missed")
		})

		none := map[string]float64{"APIRequests": 0, "APIErrors": 0, "PaymentCalls": 0, "PaymentErrors": 0, "NotificationsMissed": 0, "StreamGaps": 0}
		with := func(more map[string]float64) map[string]float64 {
			all := maps.Clone(none)
			maps.Copy(all, more)

			return all
		}
		want := []map[string]float64{
			{
				"StreamLag": 400, "StreamGaps": 1, "APIRequests": 4, "APIErrors": 1, "APILatency": 10, "PaymentCalls": 5, "PaymentErrors": 1,
				"NotificationsMissed": 2,
			},
			with(map[string]float64{"StreamLag": 400, "NotificationsMissed": 1}),
			// No poller, no lag: its alarm takes that for no reader.
			with(map[string]float64{"NotificationsMissed": 5}),
		}

		got := readFigures(t, out.Bytes(), "shop-")
		if !slices.EqualFunc(got, want, maps.Equal) {
			t.Errorf("got %v, want %v", got, want)
		}

		if names := slices.Sorted(maps.Keys(want[0])); !slices.Equal(names, slices.Sorted(slices.Values(FigureNames()))) {
			t.Errorf("written were %q of %q", names, FigureNames())
		}
	})
}
