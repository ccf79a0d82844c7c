package requests_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// schedule returns the requests for later of the orders.
func (s *orderQueue) schedule() *scheduled.Schedule {
	s.t.Helper()

	db := dynamodb.NewFromConfig(s.engine.AWSConfig())
	embeddedtest.Create(s.t, db, scheduled.TableInput("scheduled"), timers.TableInput("due"))

	later, err := scheduled.New(scheduled.Config{DynamoDB: db, Table: "scheduled", DueTable: "due", Orders: s.Orders, Log: embeddedtest.Quiet()})
	if err != nil {
		s.t.Fatal(err)
	}

	return later
}

// TestAMessageMayBeForLater: its request waits for its time, however often the message is sent, and is judged then. What can never
// be placed is a dead letter that says why.
func TestAMessageMayBeForLater(t *testing.T) {
	at := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(time.RFC3339) }

	for _, row := range []struct {
		name     string
		messages func() []string
		waiting  int
		reason   string // of the dead letter
		state    workflow.State
	}{
		{"sent once", func() []string {
			return []string{fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(2*time.Hour))}
		}, 1, "", workflow.Cancelled},
		{"sent three times", func() []string {
			one := fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(2*time.Hour))
			return []string{one, one, one}
		}, 1, "", workflow.Cancelled},
		{"another time under the same id", func() []string {
			return []string{
				fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(2*time.Hour)),
				fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(3*time.Hour)),
			}
		}, 1, "the request id was used for another request", workflow.Cancelled},
		{"refused at its time", func() []string {
			return []string{fmt.Sprintf(`{"orderId":"o-1","event":"ship","requestId":"r-1","at":%q}`, at(2*time.Hour))}
		}, 1, "", workflow.Pending},
		{"too far ahead", func() []string {
			return []string{fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(367*24*time.Hour))}
		}, 0, "at most 366 days ahead", workflow.Pending},
		{"past", func() []string {
			return []string{fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, at(-time.Hour))}
		}, 0, "and not past", workflow.Pending},
		{"no time", func() []string {
			return []string{`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":"tomorrow"}`}
		}, 0, "at", workflow.Pending},
		{"of no order", func() []string {
			return []string{fmt.Sprintf(`{"orderId":"o-9","event":"cancel","requestId":"r-1","at":%q}`, at(2*time.Hour))}
		}, 0, "given up after", workflow.Pending},
	} {
		t.Run(row.name, func(t *testing.T) {
			onQueue(t, "", func(t *testing.T, s *orderQueue) {
				s.create("o-1")
				later := s.schedule()

				cfg := s.config(requests.Config{Orders: s, Scheduled: later})
				cfg.Slots = 1 // one after the other, as sent
				cfg.Backoff = queues.Backoff{Base: 20 * time.Second}
				s.run(cfg)
				s.send(row.messages()...)
				time.Sleep(time.Hour)
				synctest.Wait()

				found, _, err := later.OfOrder(t.Context(), "o-1")
				if err != nil || len(found) != row.waiting || s.state("o-1") != workflow.Pending {
					t.Errorf("before its time: %+v, %v, %s", found, err, s.state("o-1"))
				}

				if queued, reasons := s.left(); queued != "0+0" || (row.reason == "") != (len(reasons) == 0) || !strings.Contains(strings.Join(reasons, "; "), row.reason) {
					t.Errorf("%s messages are left; dead letters: %q", queued, reasons)
				}

				time.Sleep(time.Hour + time.Minute)

				if _, err := later.Sweep(t.Context(), 100); err != nil || s.state("o-1") != row.state {
					t.Errorf("after its time: %s, %v", s.state("o-1"), err)
				}
			})
		})
	}
}

// TestAnOutageLosesNoRequestForLater: the message waits until the request is stored. A worker that keeps none rejects it.
func TestAnOutageLosesNoRequestForLater(t *testing.T) {
	onQueue(t, "", func(t *testing.T, s *orderQueue) {
		s.create("o-1")
		later := s.schedule()
		outage := s.database.Inject(embeddedtest.LoseRequest().With(errors.New("connection refused")))
		s.run(s.config(requests.Config{Orders: s, Scheduled: later}))
		s.send(fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, time.Now().Add(12*time.Hour).UTC().Format(time.RFC3339)))
		time.Sleep(30 * time.Minute)
		outage.Remove()
		time.Sleep(6 * time.Minute)
		synctest.Wait()

		queued, reasons := s.left()
		if found, _, err := later.OfOrder(t.Context(), "o-1"); err != nil || len(found) != 1 || queued != "0+0" || len(reasons) != 0 {
			t.Errorf("%+v, %v; %s messages are left, dead letters %q", found, err, queued, reasons)
		}
	})

	onQueue(t, "", func(t *testing.T, s *orderQueue) {
		s.create("o-1")
		s.run(s.config(requests.Config{Orders: s}))
		s.send(fmt.Sprintf(`{"orderId":"o-1","event":"cancel","requestId":"r-1","at":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
		time.Sleep(time.Minute)
		synctest.Wait()

		if queued, reasons := s.left(); queued != "0+0" || len(reasons) != 1 || !strings.Contains(reasons[0], "this worker keeps no requests for later") || s.state("o-1") != workflow.Pending {
			t.Errorf("%s messages are left, dead letters %q", queued, reasons)
		}
	})
}
