package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/activities"
)

const (
	taskPollers = 4
	taskARN     = "arn:aws:states:us-east-1:000000000000:activity:nothing"
)

// taskSource answers the calls of Step Functions from memory: each task answers one
// poll, and every other call is accepted.
type taskSource struct{ left atomic.Int64 }

// Do is the HTTPClient of an aws.Config.
func (s *taskSource) Do(r *http.Request) (*http.Response, error) {
	// Read, as a connection would read it.
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}

	body := `{}`

	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetActivityTask") {
		if s.left.Add(-1) < 0 {
			// A poll without a task waits, as the service does; the worker's stop ends it.
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		body = `{"taskToken":"AQCEAAAAKgAAAAMAAAAAAAAAAc","input":"{\"orderId\":\"o-1\"}"}`
	}

	return &http.Response{
		Status:        "200 OK",
		StatusCode:    http.StatusOK,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"r"}},
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(strings.NewReader(body)),
		Request:       r,
	}, nil
}

func (s *taskSource) client() *sfn.Client {
	return sfn.NewFromConfig(aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		BaseEndpoint: aws.String("http://memory"),
		HTTPClient:   s,
	})
}

// benchTasks measures what a worker spends on a task, beside a loop that polls and answers
// with the same SDK and does nothing else: no heartbeats, no slots, no retries of its own.
func benchTasks(ctx context.Context, work size) ([]figure, error) {
	tasks := int64(1000)
	if work.short() {
		tasks = 500
	}

	nothing := func(context.Context, int) error { return nil }

	// A round is one piece, because a worker is started and stopped in it.
	measures, err := turns(ctx, work, 1, 1,
		way{prepare: nothing, do: func(ctx context.Context, _, _ int) error { return serveTasks(ctx, tasks) }},
		way{prepare: nothing, do: func(ctx context.Context, _, _ int) error { return loopTasks(ctx, tasks) }},
	)
	if err != nil {
		return nil, err
	}
	worker, loop := measures[0], measures[1]

	return []figure{
		{
			name: "task_cpu_ratio", value: ratio(worker.cpu, loop.cpu),
			about: "processor time of a worker per task, to that of a bare GetActivityTask/SendTaskSuccess loop",
		},
		{name: "task_cpu_us", value: median(worker.cpu) / float64(tasks) * 1e6, unit: "us", about: "of the worker, the SDK included"},
		{name: "task_cpu_us_loop", value: median(loop.cpu) / float64(tasks) * 1e6, unit: "us", about: "of the loop"},
	}, nil
}

// serveTasks lets a worker do the tasks.
func serveTasks(ctx context.Context, tasks int64) error {
	source := &taskSource{}
	source.left.Store(tasks)

	ctx, stop := context.WithCancel(ctx)
	defer stop()

	var done atomic.Int64

	worker, err := activities.New(activities.Config{
		SFN: source.client(),
		// No waiting for open polls: the last task has been handed out.
		PollGrace: -1,
		// Without the rates of the account's quotas, which would be measured instead.
		Rates: activities.EachAt(-1),
		Log:   slog.New(slog.DiscardHandler),
		Activities: []activities.Activity{{
			ARN:       taskARN,
			Handle:    func(context.Context, activities.Task) (any, error) { return nil, nil },
			Heartbeat: 30 * time.Second,
			Timeout:   time.Minute,
			Slots:     64,
			Pollers:   taskPollers,
		}},
		Events: activities.Events{Done: func(d activities.Done) {
			// The last task stops the worker, so the round ends with it.
			if d.Outcome == activities.Succeeded && done.Add(1) == tasks {
				stop()
			}
		}},
	})
	if err != nil {
		return err
	}

	if err := worker.Run(ctx); err != nil {
		return err
	}

	// A task that was lost would make the round faster.
	if done.Load() != tasks {
		return errors.New("not every task succeeded")
	}

	return nil
}

// loopTasks polls and answers without a worker.
func loopTasks(ctx context.Context, tasks int64) error {
	source := &taskSource{}
	source.left.Store(tasks)
	client := source.client()

	var mu sync.Mutex
	left := tasks
	next := func() bool {
		mu.Lock()
		defer mu.Unlock()
		left--

		return left >= 0
	}

	group, ctx := errgroup.WithContext(ctx)
	for range taskPollers {
		group.Go(func() error {
			for next() {
				task, err := client.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(taskARN), WorkerName: aws.String("loop")})
				if err != nil {
					return err
				}

				if _, err := client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: task.TaskToken, Output: aws.String("null")}); err != nil {
					return err
				}
			}

			return nil
		})
	}

	return group.Wait()
}
