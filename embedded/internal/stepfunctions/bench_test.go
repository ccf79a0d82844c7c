//go:build unix

package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/stepfunctions/requests"
)

// order is a document with the size of an order, about 1 KiB.
var order = `{"orderId":"o-1","items":[` + strings.Repeat(`{"sku":"SKU-0001","quantity":2,"price":{"amount":1999,"currency":"EUR"}},`, 11) +
	`{"sku":"last","quantity":1}],"total":{"amount":45998,"currency":"EUR"},"order":{"transitionId":7}}`

// chain returns a definition with n activities in a row, like the definition of the order's machine.
func chain(activity string, n int) string {
	var states strings.Builder
	for i := range n {
		next := fmt.Sprintf(`"Next":"S%d"`, i+1)
		if i == n-1 {
			next = `"End":true`
		}
		fmt.Fprintf(&states, `"S%d":{"Type":"Task","Resource":%q,`+
			`"Parameters":{"orderId.$":"$.orderId","transitionId.$":"States.MathAdd($.order.transitionId, 1)","items.$":"$.items"},`+
			`"TimeoutSeconds":120,"HeartbeatSeconds":30,"ResultPath":"$.order","Retry":[{"ErrorEquals":["States.Timeout"],"MaxAttempts":2}],`+
			`"Catch":[{"ErrorEquals":["States.ALL"],"Next":"F"}],%s},`, i, activity, next)
	}

	return `{"StartAt":"S0","States":{` + states.String() + `"F":{"Type":"Fail"}}}`
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkActivities measures the round trip of an activity, GetActivityTask and
// SendTaskSuccess, with 64 workers and 8 activities per execution: through the SDK client,
// and by calling the operations.
func BenchmarkActivities(b *testing.B) {
	b.Run("sdk", func(b *testing.B) { benchmarkActivities(b, true) })
	b.Run("engine", func(b *testing.B) { benchmarkActivities(b, false) })
}

func benchmarkActivities(b *testing.B, sdk bool) {
	const workers, steps = 64, 8
	s := open(b, b.TempDir())
	defer s.stop()
	activity := s.activity("work")
	machine := s.machine("m", chain(activity, steps))
	result := `{"orderId":"o-1","transitionId":8,"state":"PAYMENT_RECEIVED"}`
	executions := (b.N + steps - 1) / steps
	var started, done atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := func() error {
		if n := started.Add(1); n <= int64(executions) {
			_, err := s.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &machine, Input: &order})
			return err
		}

		return nil
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	b.ReportAllocs()
	b.ResetTimer()
	from := cpu()

	var g errgroup.Group
	for range workers {
		g.Go(func() error {
			if err := begin(); err != nil {
				return err
			}

			for {
				token, ok := s.pollOnce(ctx, activity, sdk)
				if !ok {
					return nil
				}

				if err := s.completeOnce(ctx, token, result, sdk); err != nil {
					return err
				}

				n := done.Add(1)
				if n == int64(executions*steps) {
					cancel()
				} else if n%steps == 0 {
					if err := begin(); err != nil {
						return err
					}
				}
			}
		})
	}

	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((cpu()-from).Microseconds())/float64(executions*steps), "cpu-µs/op")
	b.ReportMetric(float64(executions*steps)/b.Elapsed().Seconds(), "activities/s")
}

func (b *bench) pollOnce(ctx context.Context, activity string, sdk bool) (string, bool) {
	if sdk {
		out, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: &activity})
		if err != nil || out.TaskToken == nil {
			return "", false
		}

		return *out.TaskToken, true
	}

	answer, err := b.svc.getActivityTask(ctx, []byte(`{"activityArn":"`+activity+`"}`))
	if err != nil {
		return "", false
	}
	texts, err := requests.Texts(answer.(json.RawMessage), "taskToken")

	return texts[0], err == nil && texts[0] != ""
}

func (b *bench) completeOnce(ctx context.Context, token, result string, sdk bool) error {
	if sdk {
		_, err := b.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String(token), Output: &result})
		return err
	}
	body := []byte(`{"taskToken":"` + token + `","output":` + fmt.Sprintf("%q", result) + `}`)
	_, err := b.svc.sendTaskSuccess(ctx, body)

	return err
}
