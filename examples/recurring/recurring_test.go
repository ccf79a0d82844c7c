// Package recurring_test sends what EventBridge Scheduler sends by template.yaml.
package recurring_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// template is the part of template.yaml that the scheduler works by.
type template struct {
	Parameters map[string]struct {
		Default string `yaml:"Default"`
	} `yaml:"Parameters"`
	Resources struct {
		Schedule struct {
			Properties struct {
				Target struct {
					Arn   string `yaml:"Arn"`
					Input string `yaml:"Input"`
				} `yaml:"Target"`
			} `yaml:"Properties"`
		} `yaml:"Schedule"`
	} `yaml:"Resources"`
}

// scheduler sends the messages of a schedule, as EventBridge Scheduler does: at least once each.
type scheduler struct {
	t     *testing.T
	queue *sqs.Client
	url   string
	input string // with the parameters of the template, and without the time of a run
}

func newScheduler(t *testing.T, api *sqs.Client) *scheduler {
	t.Helper()

	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var read template
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}

	target := read.Resources.Schedule.Properties.Target
	for name, p := range read.Parameters {
		target.Arn, target.Input = strings.ReplaceAll(target.Arn, "${"+name+"}", p.Default), strings.ReplaceAll(target.Input, "${"+name+"}", p.Default)
	}

	name := target.Arn[strings.LastIndexByte(target.Arn, ':')+1:]

	out, err := api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil || name != "ratchet-requests" {
		t.Fatal(name, err)
	}

	return &scheduler{t: t, queue: api, url: *out.QueueUrl, input: target.Input}
}

// send sends the run of a time, so many times.
func (s *scheduler) send(at time.Time, times int) {
	s.t.Helper()

	body := strings.ReplaceAll(s.input, "<aws.scheduler.scheduled-time>", at.UTC().Format(time.RFC3339))
	for range times {
		if _, err := s.queue.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &s.url, MessageBody: &body}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// dayClose is an order that runs again and again until it is stopped.
func dayClose(t *testing.T) *workflow.Definition {
	t.Helper()

	open := []workflow.State{"OPEN"}

	d, err := workflow.New(workflow.Spec{
		Name: "day-close", Version: 1, Place: "place", Initial: "OPEN", Content: []workflow.Part{},
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "STOPPED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "run", From: open, To: "OPEN"}, {Event: "stop", From: open, To: "STOPPED"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// world is an order that a schedule moves, and a worker that may be down.
type world struct {
	t      *testing.T
	orders *transitions.Orders
	sqs    *sqs.Client
	dead   string
	*scheduler
}

// work consumes the queue for an hour.
func (w *world) work() {
	w.t.Helper()

	h, err := requests.New(requests.Config{Orders: w.orders})
	if err != nil {
		w.t.Fatal(err)
	}

	c, err := queues.New(queues.Config{SQS: w.sqs, QueueURL: w.url, DeadLetterURL: w.dead, Handler: h.Handle, PollGrace: -1, Log: embeddedtest.Quiet()})
	if err != nil {
		w.t.Fatal(err)
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()

	if err := c.Run(ctx); err != nil {
		w.t.Error(err)
	}
}

// ran checks which runs the order has made, by the days of January.
func (w *world) ran(want ...int) {
	w.t.Helper()

	rows, err := w.orders.History(w.t.Context(), "day-close", 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}

	var days []int
	for _, row := range rows {
		if row.Event != "run" {
			continue
		}

		at, err := time.Parse(time.RFC3339, row.Cause.Text)
		if err != nil || row.Cause.Code != "schedule" || row.Cause.Source != "queue" {
			w.t.Errorf("%+v, %v", row.Cause, err)
		}
		days = append(days, at.Day())
	}

	// A standard queue keeps no order among runs that have waited in it.
	if slices.Sort(days); !slices.Equal(days, want) {
		w.t.Errorf("ran for the days %v, want %v", days, want)
	}
}

// left returns the reasons of the requests that were rejected.
func (w *world) left() (reasons []string) {
	w.t.Helper()

	out, err := w.sqs.ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &w.dead, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
	if err != nil {
		w.t.Fatal(err)
	}

	for _, m := range out.Messages {
		reasons = append(reasons, *m.MessageAttributes[queues.AttributeReason].StringValue)
	}

	return reasons
}

// TestEachRunHappensOnce by the messages of the template: also one that was sent twice, or comes again weeks later. What was sent
// while no worker ran is made up for, run by run. What was never sent does not happen. An order that was stopped runs no more.
func TestEachRunHappensOnce(t *testing.T) {
	dir := t.TempDir()

	synctest.Test(t, func(t *testing.T) {
		e := embeddedtest.Open(t, func(c *embedded.Config) { c.Dir = dir })
		kit := shop.Over(t, e.AWSConfig())
		w := &world{t: t, sqs: sqs.NewFromConfig(e.AWSConfig())}
		w.orders = kit.Orders(shop.Journal(transitions.JournalTransactional), func(c *transitions.Config) { c.Definition = dayClose(t) })
		w.scheduler = newScheduler(t, w.sqs)

		out, err := w.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("ratchet-requests-dead-letters")})
		if err != nil {
			t.Fatal(err)
		}
		w.dead = *out.QueueUrl

		shop.Place(t, w.orders, transitions.NewOrder{ID: "day-close"})

		day := func(n int) time.Time { return time.Date(2026, 1, n, 3, 0, 0, 0, time.UTC) }

		for n := 1; n <= 12; n++ { // more than the order remembers by itself
			w.send(day(n), 2)
			w.work()
		}
		w.ran(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

		w.send(day(1), 1)
		w.work()
		w.ran(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

		// No worker runs for three days.
		for n := 13; n <= 15; n++ {
			w.send(day(n), 1)
		}
		time.Sleep(72 * time.Hour)
		w.work()
		w.ran(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

		// The scheduler itself has not sent the 16th.
		w.send(day(17), 1)
		w.work()
		w.ran(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17)

		if reasons := w.left(); len(reasons) != 0 {
			t.Errorf("rejected: %v", reasons)
		}

		if r, err := w.orders.Apply(t.Context(), transitions.Request{OrderID: "day-close", Event: "stop", RequestID: "stop"}); err != nil || r.Verdict != transitions.Applied {
			t.Fatal(r.Verdict, err)
		}
		w.send(day(18), 1)
		w.work()
		w.ran(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17)

		if reasons := w.left(); len(reasons) != 1 || !strings.Contains(reasons[0], "the order is STOPPED") {
			t.Errorf("rejected: %v", reasons)
		}

		queue, err := w.sqs.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &w.url, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil || fmt.Sprint(queue.Attributes["ApproximateNumberOfMessages"], queue.Attributes["ApproximateNumberOfMessagesNotVisible"]) != "00" {
			t.Errorf("the queue is not empty: %v, %v", queue.Attributes, err)
		}
	})
}
