package inspect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/notify"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/streams/status"
	"ratchet/workflow/plan"
)

// healthy are the sources of a system in which nothing needs a person.
func healthy() inspect.StatusSources {
	return inspect.StatusSources{
		Acts: func(context.Context) error { return nil },
		Processes: func(context.Context) ([]processes.Process, error) {
			return []processes.Process{
				worker(func(*processes.Process) {}),
				worker(func(p *processes.Process) { p.Name = "second" }),
				worker(func(p *processes.Process) { p.State, p.Rates = processes.Ended, map[string]float64{"throttled": 100} }),
			}, nil
		},
		Survey: func(context.Context) (processes.Survey, bool, error) {
			return processes.Survey{Stuck: map[string]int{"failed": 0}}, true, nil
		},
		Stream: func(context.Context) (status.Status, error) {
			return status.Status{State: status.StreamOn, Handlers: []status.HandlerStatus{{Name: "notify"}}}, nil
		},
		Endpoints:   func(context.Context) ([]notify.Endpoint, error) { return []notify.Endpoint{{ID: "shop"}}, nil },
		Queued:      func(context.Context, string, notify.Status, int) (int, bool, error) { return 0, false, nil },
		Quotas:      plan.USEast1(),
		OrderReads:  "orderReadUnits",
		OrderWrites: "orderWriteUnits",
		MaxLag:      time.Minute,
	}
}

// worker returns a live worker, with a change.
func worker(change func(*processes.Process)) processes.Process {
	p := processes.Process{
		Host:   "host-1",
		State:  processes.Live,
		Rates:  map[string]float64{plan.StartExecution: 10, plan.DescribeStream: 0.5, "transitions": 1.5, "orderWriteUnits": 4},
		Report: processes.Report{Name: "first", Parts: []string{"worker"}, Ready: true},
	}
	change(&p)

	return p
}

func only(p processes.Process) func(context.Context) ([]processes.Process, error) {
	return func(context.Context) ([]processes.Process, error) { return []processes.Process{p}, nil }
}

//raced:here
func TestAHealthySystemNeedsNoPerson(t *testing.T) {
	status, err := inspect.Status(t.Context(), healthy())
	if err != nil || !status.OK || len(status.Problems) != 0 {
		t.Fatalf("%+v, %v", status.Problems, err)
	}

	// The rates are the sums over the live processes.
	if status.Rates["transitions"] != 3 || status.Rates["throttled"] != 0 {
		t.Errorf("rates: %v", status.Rates)
	}

	want := map[string]inspect.QuotaUse{
		plan.StartExecution: {Of: "account", Used: 20, Quota: 300, Percent: 6.7},
		plan.DescribeStream: {Of: "account", Used: 1, Quota: 10, Percent: 10},
		plan.TableReads:     {Of: "orders", Quota: 40_000},
		plan.TableWrites:    {Of: "orders", Used: 8, Quota: 40_000},
	}

	for _, q := range status.Quotas {
		name, source := q.Name, q.Source
		if q.Name, q.Source = "", ""; want[name] != (inspect.QuotaUse{}) && q != want[name] || !strings.HasPrefix(source, "https://docs.aws.amazon.com/") {
			t.Errorf("quota %s: %+v, from %q", name, q, source)
		}
		delete(want, name)
	}

	if len(want) > 0 || len(status.Quotas) != len(inspect.MeteredCalls())+2 {
		t.Errorf("quotas: %+v", status.Quotas)
	}
}

func TestTheStatusNamesWhatNeedsAPerson(t *testing.T) {
	denied := errors.New("access denied")

	for _, row := range []struct {
		what         string
		change       func(*inspect.StatusSources)
		area         string
		text, action string // parts of them
	}{
		{"no process", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) { return nil, nil }
		}, "processes", "no worker of ratchet reports that it runs: orders wait", "`ratchet worker`"},
		{"workers of which none runs a part", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) {
				return []processes.Process{
					worker(func(p *processes.Process) { p.Parts = []string{"activities", "stream"} }),
					worker(func(p *processes.Process) { p.Parts = []string{"sweeps"} }),
					worker(func(p *processes.Process) { p.Parts, p.State = []string{"notifications"}, processes.Ended }),
				}, nil
			}
		}, "processes", "no worker of ratchet reports that it runs notifications: what was not delivered at once waits", "`ratchet worker --only notifications`"},
		{"activities that other programs may serve", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) {
				return []processes.Process{worker(func(p *processes.Process) { p.Parts = []string{"stream", "notifications", "sweeps"} })}, nil
			}
		}, "processes", "no worker of ratchet reports that it runs activities: tasks of executions wait, unless other programs serve all activities", "`ratchet worker --only activities`"},
		{"a missing process", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) {
				return []processes.Process{worker(func(*processes.Process) {}), worker(func(p *processes.Process) { p.Name, p.State = "gone", processes.Missing })}, nil
			}
		}, "processes", "process gone on host-1 (worker) gives no sign of life", "start it again"},
		{"a missing process whose name another one has", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) {
				return []processes.Process{worker(func(p *processes.Process) { p.ID = "k1" }), worker(func(p *processes.Process) { p.ID, p.State = "k2", processes.Missing })}, nil
			}
		}, "processes", "process first k2 on host-1 (worker) gives no sign of life", "start it again"},
		{"a failed process", func(s *inspect.StatusSources) {
			s.Processes = func(context.Context) ([]processes.Process, error) {
				return []processes.Process{worker(func(*processes.Process) {}), worker(func(p *processes.Process) { p.State, p.Failure = processes.Failed, "boom" })}, nil
			}
		}, "processes", "boom", "end the cause"},
		{"a process that is not ready", func(s *inspect.StatusSources) {
			s.Processes = only(worker(func(p *processes.Process) { p.Ready, p.Reason = false, "stream lag: 6m" }))
		}, "processes", "is not ready: stream lag: 6m", "`ratchet health`"},
		{"no table of acts", func(s *inspect.StatusSources) { s.Acts = func(context.Context) error { return denied } },
			"audit", "cannot be read: access denied", "`ratchet init`"},
		{"a quota", func(s *inspect.StatusSources) {
			s.Processes = only(worker(func(p *processes.Process) { p.Rates = map[string]float64{plan.StartExecution: 250} }))
		}, "quotas", "StartExecution: 250 of 300", "`ratchet plan`"},
		{"throttles", func(s *inspect.StatusSources) {
			s.Processes = only(worker(func(p *processes.Process) { p.Rates = map[string]float64{"throttled": 2} }))
		}, "quotas", "throttles 2.0 calls", "calls-per-second"},
		{"lag", func(s *inspect.StatusSources) {
			s.Stream = func(context.Context) (status.Status, error) {
				return status.Status{State: status.StreamOn, Handlers: []status.HandlerStatus{{Name: "notify", Records: 1, Items: 1, Error: "503", Since: time.Now().Add(-25 * time.Second)}}}, nil
			}
		}, "stream", "handler notify fails since", "mend what the error names"},
		{"dead letters", func(s *inspect.StatusSources) {
			s.Stream = func(context.Context) (status.Status, error) {
				return status.Status{State: status.StreamOn, Handlers: []status.HandlerStatus{{Name: "notify", DeadLetters: 2}}}, nil
			}
		}, "dead letters", "handler notify gave up on 2 records", "`ratchet deadletters redrive --all --handler notify`"},
		{"dead letters of a handler that is off", func(s *inspect.StatusSources) {
			s.OffHandlers = map[string]string{"refund": "refund-returns"}
			s.Stream = func(context.Context) (status.Status, error) {
				return status.Status{State: status.StreamOn, Handlers: []status.HandlerStatus{{Name: "refund", DeadLetters: 1}}}, nil
			}
		}, "dead letters", "handler refund gave up on 1 record, and is off by these settings", "`ratchet deadletters list refund --refund-returns`; redrive them if workers"},
		{"a disabled endpoint", func(s *inspect.StatusSources) {
			s.Endpoints = func(context.Context) ([]notify.Endpoint, error) {
				return []notify.Endpoint{{ID: "shop", Status: notify.Disabled, Reason: "410"}}, nil
			}
		}, "notifications", "endpoint shop is disabled: 410", "`ratchet endpoints enable shop`"},
		{"missed notifications", func(s *inspect.StatusSources) {
			s.Queued = func(_ context.Context, _ string, status notify.Status, _ int) (int, bool, error) {
				if status == notify.Missed {
					return 3, false, nil
				}

				return 7, false, nil
			}
		}, "notifications", "has missed 3 notifications", "`ratchet deliveries resend --endpoint shop --since 720h`"},
		{"missed notifications of a tenant", func(s *inspect.StatusSources) {
			s.Endpoints = func(context.Context) ([]notify.Endpoint, error) {
				return []notify.Endpoint{{ID: "shop", Settings: notify.Settings{Filter: notify.Filter{Tenant: "acme"}}, Status: notify.Active}}, nil
			}
			s.Queued = func(context.Context, string, notify.Status, int) (int, bool, error) { return 3, false, nil }
		}, "notifications", "has missed 3 notifications", "`ratchet deliveries resend --endpoint shop --tenant acme --since 720h`"},
		{"stuck orders", func(s *inspect.StatusSources) {
			s.Survey = func(context.Context) (processes.Survey, bool, error) {
				return processes.Survey{Stuck: map[string]int{"failed": 2, "lost_parcel": 1, "overdue": 0}}, true, nil
			}
		}, "orders", "3 orders stuck at", "`ratchet executions repair`"},
		{"a source that cannot be read", func(s *inspect.StatusSources) {
			s.Survey = func(context.Context) (processes.Survey, bool, error) { return processes.Survey{}, false, denied }
		}, "orders", "cannot be read: access denied", "permissions"},
	} {
		t.Run(row.what, func(t *testing.T) {
			sources := healthy()
			row.change(&sources)

			status, err := inspect.Status(t.Context(), sources)
			if err != nil || status.OK || len(status.Problems) != 1 {
				t.Fatalf("%+v, %v, want one problem", status.Problems, err)
			}

			if p := status.Problems[0]; p.Area != row.area || !strings.Contains(p.Text, row.text) || !strings.Contains(p.Action, row.action) {
				t.Errorf("%+v", p)
			}
		})
	}
}
