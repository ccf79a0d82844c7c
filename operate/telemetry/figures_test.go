package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The figures of a line are those of the time since the line before, in the format of which CloudWatch makes metrics.
func TestFiguresAreWrittenForCloudWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		figuresOf, err := New(ExportConfig{Endpoint: ExportOff})
		if err != nil {
			t.Fatal(err)
		}
		defer figuresOf.Close()

		figuresOf.http.requests.plus(3, "GET", "/v1/orders", "200")
		figuresOf.http.requests.plus(1, "GET", "/v1/orders", "503")
		figuresOf.payments.calls.plus(1, "charge", "error")
		figuresOf.notify.attempts.plus(2, "missed")
		figuresOf.streams.gaps.plus(1, "trimmed")

		for range 98 {
			figuresOf.http.took.observe(2*time.Millisecond, "GET", "/v1/orders")
		}
		figuresOf.http.took.observe(3*time.Second, "GET", "/v1/orders")
		figuresOf.http.took.observe(3*time.Second, "GET", "/v1/orders")

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		var out bytes.Buffer
		ended := make(chan struct{})

		go func() {
			defer close(ended)
			figuresOf.WriteFigures(ctx, &out, "shop-")
		}()

		time.Sleep(figuresEvery + time.Second)
		figuresOf.notify.attempts.plus(1, "missed")
		cancel()
		<-ended

		var lines []map[string]any
		for s := bufio.NewScanner(&out); s.Scan(); {
			line := map[string]any{}
			if err := json.Unmarshal(s.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}

		if len(lines) != 2 {
			t.Fatalf("%d lines", len(lines))
		}

		for i, want := range []map[string]float64{
			{"APIErrors": 25, "APILatency": 5, "PaymentErrors": 100, "NotificationsMissed": 2, "StreamGaps": 1},
			{"NotificationsMissed": 1, "StreamGaps": 0},
		} {
			var meta struct {
				AWS struct {
					Timestamp         int64
					CloudWatchMetrics []struct {
						Namespace  string
						Dimensions [][]string
						Metrics    []struct{ Name, Unit string }
					}
				} `json:"_aws"`
			}
			text, _ := json.Marshal(lines[i])
			_ = json.Unmarshal(text, &meta)

			one := meta.AWS.CloudWatchMetrics[0]
			got := map[string]float64{}
			for _, m := range one.Metrics {
				got[m.Name], _ = lines[i][m.Name].(float64)
			}

			if !maps.Equal(got, want) || one.Namespace != FiguresNamespace || !slices.Equal(one.Dimensions[0], []string{"Prefix"}) ||
				lines[i]["Prefix"] != "shop-" || meta.AWS.Timestamp == 0 {
				t.Errorf("line %d: %v %s", i, got, text)
			}
		}
	})
}
