package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
	"ratchet/embedded/faults"
	"ratchet/internal/dynamo"
	"ratchet/operate/audit"
	"ratchet/operate/jobs"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	jobsTable  = "jobs"
	auditTable = "audit"
	// jobsRate is the highest rate of a job.
	jobsRate = 1000
	// jobsVersion is the version of the definition that a job brings the orders to.
	jobsVersion = 1000
)

// benchJobs lets a job migrate 10,000 orders while other orders are moved by requests. It compares the latency of these
// requests with that before.
func benchJobs(ctx context.Context, work size) (figures []figure, err error) {
	r, err := openJobs(ctx, 5*work.orders)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()

	return r.measureJob(ctx, work.budget)
}

// manyOrders is a job's orders, and other orders.
type manyOrders struct {
	rush

	store  *jobs.Store
	runner *jobs.Runner
	new    jobs.New
}

func openJobs(ctx context.Context, n int) (m *manyOrders, err error) {
	m = &manyOrders{rush: rush{due: n}}

	m.engine, m.stop, err = openEmbedded(embedded.Config{Consumed: func(table string, _, write float64) { m.units.add(table, write) }})
	if err != nil {
		return nil, err
	}
	m.db = dynamodb.NewFromConfig(m.engine.AWSConfig())

	if err := m.fillJobs(ctx); err != nil {
		return nil, errors.Join(err, m.stop())
	}

	return m, nil
}

func (m *manyOrders) fillJobs(ctx context.Context) error {
	for _, table := range []*dynamodb.CreateTableInput{
		transitions.Mapping{}.OrdersTable(timersOrders), transitions.RequestsTable(timersRequests), jobs.TableInput(jobsTable), audit.TableInput(auditTable),
	} {
		if _, err := m.db.CreateTable(ctx, table); err != nil {
			return err
		}
	}

	was := workflow.Order()
	spec := was.Spec()
	spec.Version = jobsVersion

	next, err := workflow.New(spec)
	if err != nil {
		return err
	}

	if m.orders, err = transitions.New(transitions.Config{DynamoDB: m.db, Table: timersOrders, RequestsTable: timersRequests, Definition: next}); err != nil {
		return err
	}

	former := dynamo.N(int64(was.Version()))
	if err := m.copies(ctx, func(_ int, order dynamo.Item) { order["definitionVersion"] = former }); err != nil {
		return err
	}

	if err := m.placeOthers(ctx); err != nil {
		return err
	}

	m.new = jobs.New{
		Kind: jobs.MigrateOrders, Rate: jobsRate, By: "bench", Reason: "bench",
		Migration: &jobs.Migration{Workflow: next.Name(), To: jobsVersion, Mapping: "migrations:\n  - from: " + strconv.Itoa(was.Version()) + "\n    to: " + strconv.Itoa(jobsVersion) + "\n"},
	}

	log, err := audit.New(audit.Config{DynamoDB: m.db, Table: auditTable})
	if err != nil {
		return err
	}

	if m.store, err = jobs.NewStore(jobs.Config{DynamoDB: m.db, Table: jobsTable}); err != nil {
		return err
	}

	m.runner, err = jobs.NewRunner(jobs.RunnerConfig{
		Store: m.store, Audit: log, Name: "bench", Works: map[jobs.Kind]jobs.Work{jobs.MigrateOrders: &jobs.Migrations{Orders: m.orders}},
	})

	return err
}

// measureJob runs the job, and measures the other work for a while before that and then meanwhile.
func (m *manyOrders) measureJob(ctx context.Context, before time.Duration) ([]figure, error) {
	if _, err := m.engine.Inject(faults.Delay(timersDelay)); err != nil {
		return nil, err
	}

	alone, stop := context.WithTimeout(ctx, before)
	defer stop()

	p99Alone, err := m.others(alone)
	if err != nil {
		return nil, err
	}

	meanwhile, stop := context.WithCancel(ctx)
	defer stop()

	var (
		p99, took time.Duration
		job       jobs.Job
	)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		p99, err = m.others(meanwhile)
		return err
	})
	group.Go(func() (err error) {
		defer stop()

		began := time.Now()

		if job, err = m.store.Create(groupCtx, m.new); err != nil {
			return err
		}
		job, err = m.runner.RunOne(groupCtx, "", job.ID)
		took = time.Since(began)

		return err
	})

	if err := group.Wait(); err != nil {
		return nil, err
	}

	if job.State != jobs.Done || job.Counts["done"] != m.due {
		return nil, fmt.Errorf("the job has not done all of its %d orders: %+v", m.due, job)
	}

	return []figure{
		{"jobs_orders", float64(m.due), "", "orders that a job migrates"},
		{"jobs_seconds", took.Seconds(), "s", fmt.Sprintf("until it has ended, with %s for each call", timersDelay)},
		{"jobs_per_second", float64(m.due) / took.Seconds(), "/s", "acts of the job; its rate is the highest, 1,000"},
		{"jobs_p99_ratio", float64(p99) / float64(p99Alone), "", "p99 of 100 requests per second for other orders, beside the same before; goal: at most 2"},
		{"jobs_row_writes", m.units.of(jobsTable) / float64(m.due), "", "write units of the table of jobs for an order"},
	}, nil
}
