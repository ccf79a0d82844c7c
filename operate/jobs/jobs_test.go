package jobs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/executionname"
	"ratchet/operate/audit"
	"ratchet/operate/executions"
	"ratchet/operate/jobs"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var subjects = flag.Int("jobs.subjects", 500, "how many executions the job of the test with kills has")

// office has jobs, and orders whose executions have failed.
type office struct {
	t       *testing.T
	db      *dynamodb.Client
	sfn     *sfn.Client
	store   *jobs.Store
	orders  *transitions.Orders
	machine string
	cfg     aws.Config
	kit     *shop.Shop
}

func newOffice(t *testing.T) *office {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	kit := shop.Over(t, engine.AWSConfig())
	o := &office{t: t, db: kit.DB, sfn: kit.SFN, orders: kit.Orders(), cfg: engine.AWSConfig(), kit: kit}
	kit.Tables(jobs.TableInput("jobs"), audit.TableInput("audit"))
	o.store = o.storeOver(o.db)

	m, err := o.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"),
		Definition: aws.String(`{"StartAt":"Fail","States":{"Fail":{"Type":"Fail","Error":"Order.Unavailable"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.machine = *m.StateMachineArn

	return o
}

type client interface {
	jobsDB
	auditDB
}

type jobsDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

type auditDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

func (o *office) storeOver(db client) *jobs.Store {
	o.t.Helper()

	store, err := jobs.NewStore(jobs.Config{DynamoDB: db, Table: "jobs"})
	if err != nil {
		o.t.Fatal(err)
	}

	return store
}

// runner returns a runner over the clients of a process.
func (o *office) runner(name string, db client, steps executions.StepFunctions, change func(*jobs.RunnerConfig)) *jobs.Runner {
	o.t.Helper()

	log, err := audit.New(audit.Config{DynamoDB: db, Table: "audit"})
	if err != nil {
		o.t.Fatal(err)
	}

	all, err := executions.New(executions.Config{SFN: steps, Orders: o.orders, Machine: func(context.Context) (string, error) { return o.machine, nil }})
	if err != nil {
		o.t.Fatal(err)
	}

	cfg := jobs.RunnerConfig{
		Store: o.storeOver(db), Name: name, Audit: log, Lease: time.Second, Look: 20 * time.Millisecond, Log: embeddedtest.Quiet(),
		Works: map[jobs.Kind]jobs.Work{jobs.RedriveExecutions: jobs.Executions{Executions: all}},
	}
	if change != nil {
		change(&cfg)
	}

	r, err := jobs.NewRunner(cfg)
	if err != nil {
		o.t.Fatal(err)
	}

	return r
}

// run runs a runner until the function that it returns is called.
func (o *office) run(r *jobs.Runner) (stop func()) {
	ctx, cancel := context.WithCancel(o.t.Context())

	var group sync.WaitGroup
	group.Go(func() { _ = r.Run(ctx) }) // it returns nil

	return func() {
		cancel()
		group.Wait()
	}
}

// failed makes n orders whose executions have failed.
func (o *office) failed(n int) (ids []string) {
	o.t.Helper()

	for i := range n {
		id := fmt.Sprintf("o-%05d", i)
		order := shop.Mugs(transitions.OrderID(id), 1)
		shop.Place(o.t, o.orders, order)

		_, err := o.sfn.StartExecution(o.t.Context(), &sfn.StartExecutionInput{StateMachineArn: &o.machine, Name: aws.String(executions.Name(order.ID)), Input: aws.String(fmt.Sprintf(`{"orderId":%q}`, id))})
		if err != nil {
			o.t.Fatal(err)
		}
		ids = append(ids, id)
	}

	return ids
}

// create creates a job that redrives executions.
func (o *office) create(change func(*jobs.New)) jobs.Job {
	o.t.Helper()

	n := jobs.New{Kind: jobs.RedriveExecutions, Rate: 1000, By: "cli:ann", Reason: "the cause is repaired"}
	if change != nil {
		change(&n)
	}

	j, err := o.store.Create(o.t.Context(), n)
	if err != nil {
		o.t.Fatal(err)
	}

	return j
}

// until waits until the job is as wanted.
func (o *office) until(id string, wanted func(jobs.Job) bool) jobs.Job {
	o.t.Helper()

	for began := time.Now(); ; {
		j, err := o.store.Get(o.t.Context(), "", id)
		if err != nil {
			o.t.Fatal(err)
		}

		if wanted(j) {
			return j
		}

		if time.Since(began) > 5*time.Minute {
			o.t.Fatalf("the job stays so: %+v", j)
		}

		select {
		case <-o.t.Context().Done():
			o.t.Fatal("the test ends")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func ended(j jobs.Job) bool { return j.State.Ended() }

// redrives returns how often each execution was redriven.
func (o *office) redrives(ids []string) map[int]int {
	o.t.Helper()

	found := map[int]int{}
	for _, id := range ids {
		arn := executionname.ARN(o.machine, executions.Name(transitions.OrderID(id)))

		out, err := o.sfn.DescribeExecution(o.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		if err != nil {
			o.t.Fatal(err)
		}
		found[int(aws.ToInt32(out.RedriveCount))]++
	}

	return found
}

// errKilled is the answer to each call of a process that is dead.
var errKilled = errors.New("the process is dead")

// mortal are the clients of a process that dies at a record of a result: before the write, or after it without
// its answer.
type mortal struct {
	*dynamodb.Client

	dead    *atomic.Bool
	records *atomic.Int64 // of results, over all processes
	dies    func(record int64) (before, after bool)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	before, after := false, false
	if len(in.TransactItems) == 2 && in.TransactItems[1].Update != nil && !m.dead.Load() {
		before, after = m.dies(m.records.Add(1))
	}

	if before {
		m.dead.Store(true)
	}

	if m.dead.Load() {
		return nil, errKilled
	}
	out, err := m.Client.TransactWriteItems(ctx, in, o...)

	if after {
		m.dead.Store(true)
		return nil, errKilled
	}

	return out, err
}

func (m *mortal) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if m.dead.Load() {
		return nil, errKilled
	}

	return m.Client.GetItem(ctx, in, o...)
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if m.dead.Load() {
		return nil, errKilled
	}

	return m.Client.PutItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if m.dead.Load() {
		return nil, errKilled
	}

	return m.Client.UpdateItem(ctx, in, o...)
}

func (m *mortal) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if m.dead.Load() {
		return nil, errKilled
	}

	return m.Client.Query(ctx, in, o...)
}

// mortalSteps are the calls of the same process to Step Functions.
type mortalSteps struct {
	*sfn.Client

	dead *atomic.Bool
}

func (m *mortalSteps) RedriveExecution(ctx context.Context, in *sfn.RedriveExecutionInput, o ...func(*sfn.Options)) (*sfn.RedriveExecutionOutput, error) {
	if m.dead.Load() {
		return nil, errKilled
	}

	return m.Client.RedriveExecution(ctx, in, o...)
}

// mortalRunner returns a runner of a process that dies.
type mortalRunner func(name string, db *mortal, steps *mortalSteps) *jobs.Runner

// kill runs the job with n subjects in two processes. Five of them die, before or after the record of a result, and
// others take their places. It returns the job when it has ended.
func (o *office) kill(id string, n int, runner mortalRunner) jobs.Job {
	o.t.Helper()

	var records, kills atomic.Int64
	each := int64(max(1, n/6))
	dies := func(record int64) (before, after bool) {
		if record%each != 0 || kills.Load() == 5 {
			return false, false
		}
		first := kills.Add(1)%2 == 1

		return first, !first
	}

	ctx, cancel := context.WithCancel(o.t.Context())
	defer cancel()

	var group sync.WaitGroup
	for place := range 2 {
		group.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				dead := &atomic.Bool{}
				r := runner(fmt.Sprintf("p-%d-%d", place, life), &mortal{o.db, dead, &records, dies}, &mortalSteps{o.sfn, dead})
				stop := o.run(r)

				for !dead.Load() && ctx.Err() == nil {
					select {
					case <-ctx.Done():
					case <-time.After(5 * time.Millisecond):
					}
				}
				stop()
			}
		})
	}

	j := o.until(id, ended)
	cancel()
	group.Wait()

	if kills.Load() != 5 {
		o.t.Errorf("%d processes were killed, want 5", kills.Load())
	}

	if j.State != jobs.Done || j.Total != n || j.Results() != n || j.Counts["done"] != n || j.Epoch < 6 {
		o.t.Errorf("the job: %+v", j)
	}

	if acts := o.acts(); len(acts) != n {
		o.t.Errorf("acts with %d ids, want %d", len(acts), n)
	}

	return j
}

// TestAJobThatIsKilledFiveTimesDoesEachThingOnce: the largest kind of jobs, over many executions.
func TestAJobThatIsKilledFiveTimesDoesEachThingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := *subjects
		if testing.Short() {
			n = 100
		}

		o := newOffice(t)
		ids := o.failed(n)

		o.kill(o.create(nil).ID, n, func(name string, db *mortal, steps *mortalSteps) *jobs.Runner {
			return o.runner(name, db, steps, nil)
		})

		if found := o.redrives(ids); found[1] != n {
			t.Errorf("executions by the number of their redrives: %v, want each once", found)
		}
	})
}

// acts counts the rows of the audit log by the id of the act.
func (o *office) acts() map[string]int {
	o.t.Helper()

	log, err := audit.New(audit.Config{DynamoDB: o.db, Table: "audit"})
	if err != nil {
		o.t.Fatal(err)
	}

	found := map[string]int{}
	for after := ""; ; {
		page, next, err := log.List(o.t.Context(), audit.Filter{Since: time.Now().Add(-time.Hour)}, after, 1000)
		if err != nil {
			o.t.Fatal(err)
		}

		for _, e := range page {
			if e.Via != "job" || e.Who != "cli:ann" || e.Reason != "the cause is repaired" {
				o.t.Errorf("an act: %+v", e)
			}
			found[e.Request]++
		}

		if after = next; next == "" {
			return found
		}
	}
}

// work is a kind whose acts the test decides.
type work struct {
	ids []string
	act func(ctx context.Context, id string) (string, error)
}

func (w work) Select(_ context.Context, _ jobs.Job, found func(jobs.Subject) error) error {
	for _, id := range w.ids {
		if err := found(jobs.Subject{ID: id}); err != nil {
			return err
		}
	}

	return nil
}

func (w work) Look(_ context.Context, _ jobs.Job, id string) (jobs.Subject, error) {
	return jobs.Subject{ID: id}, nil
}

func (w work) Act(ctx context.Context, _ jobs.Job, s jobs.Subject) (string, error) {
	return w.act(ctx, s.ID)
}

func (o *office) works(name string, w jobs.Work, change func(*jobs.RunnerConfig)) *jobs.Runner {
	return o.runner(name, o.db, o.sfn, func(c *jobs.RunnerConfig) {
		c.Works = map[jobs.Kind]jobs.Work{jobs.RedriveExecutions: w}
		if change != nil {
			change(c)
		}
	})
}

// TestAFormerOwnerChangesNothing: its act ends after another one has taken the job over.
func TestAFormerOwnerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		begun, goOn := make(chan struct{}), make(chan struct{})
		dead := &atomic.Bool{}

		former := o.runner("former", &silent{o.db, dead}, o.sfn, func(c *jobs.RunnerConfig) {
			c.Works = map[jobs.Kind]jobs.Work{jobs.RedriveExecutions: work{[]string{"a", "b"}, func(context.Context, string) (string, error) {
				dead.Store(true) // its renewals do not arrive
				close(begun)
				<-goOn

				return "of the former owner", nil
			}}}
		})
		stopFormer := o.run(former)

		j := o.create(nil)
		<-begun

		stop := o.run(o.works("next", work{[]string{"a", "b"}, func(context.Context, string) (string, error) { return "done", nil }}, nil))
		j = o.until(j.ID, ended)
		stop()

		dead.Store(false)
		close(goOn)
		stopFormer()

		after := o.until(j.ID, ended)
		if after.State != jobs.Done || after.Counts["done"] != 2 || len(after.Counts) != 1 || after.Epoch != j.Epoch {
			t.Errorf("the job: %+v", after)
		}
	})
}

// silent is a client whose updates do not arrive while it is set so.
type silent struct {
	*dynamodb.Client

	on *atomic.Bool
}

func (s *silent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if s.on.Load() {
		return nil, errKilled
	}

	return s.Client.UpdateItem(ctx, in, o...)
}

// TestALongActKeepsItsLease: it takes three times as long as a lease, and no other process begins it.
func TestALongActKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)

		var acts atomic.Int64
		w := work{[]string{"a"}, func(ctx context.Context, _ string) (string, error) {
			acts.Add(1)

			select {
			case <-time.After(3 * time.Second):
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}}

		one, other := o.run(o.works("one", w, nil)), o.run(o.works("other", w, nil))
		j := o.until(o.create(nil).ID, ended)
		one()
		other()

		if acts.Load() != 1 || j.State != jobs.Done {
			t.Errorf("%d acts, %+v", acts.Load(), j)
		}
	})
}

// TestAJobWhoseIDsHaveExpiredFails: it would end as done without an act.
func TestAJobWhoseIDsHaveExpiredFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)

		store, err := jobs.NewStore(jobs.Config{DynamoDB: o.db, Table: "jobs", Rows: time.Second})
		if err != nil {
			t.Fatal(err)
		}

		j, err := store.Create(t.Context(), jobs.New{Kind: jobs.RedriveExecutions, IDs: []string{"a"}, By: "cli:ann", Reason: "test"})
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(2 * time.Second)

		defer o.run(o.works("one", work{nil, func(context.Context, string) (string, error) { return "done", nil }}, func(c *jobs.RunnerConfig) { c.Store = store }))()
		o.until(j.ID, func(j jobs.Job) bool { return j.State == jobs.Failed && j.Problem == "rows_expired" })
	})
}

// TestAJobWhoseRowsHaveExpiredFails: it would end as done with less than it has selected.
func TestAJobWhoseRowsHaveExpiredFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		acted := make(chan struct{}, 2)

		store, err := jobs.NewStore(jobs.Config{DynamoDB: o.db, Table: "jobs", Rows: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}

		ids := make(chan string, 1) // the job's, once it is created
		stop := o.run(o.works("one", work{[]string{"a", "b"}, func(ctx context.Context, id string) (string, error) {
			acted <- struct{}{}

			job := <-ids
			ids <- job

			// The rest of the rows expires before the job goes on.
			if _, err := store.Pause(ctx, "", job); err != nil {
				return "", err
			}

			return "done", nil
		}}, func(c *jobs.RunnerConfig) { c.Store = store }))
		defer stop()

		n := jobs.New{Kind: jobs.RedriveExecutions, Rate: 1, By: "cli:ann", Reason: "test"}

		j, err := store.Create(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		ids <- j.ID

		<-acted
		o.until(j.ID, func(j jobs.Job) bool { return j.State == jobs.Paused })
		time.Sleep(3 * time.Second)

		if _, err := store.Resume(t.Context(), "", j.ID); err != nil {
			t.Fatal(err)
		}

		j = o.until(j.ID, ended)
		if j.State != jobs.Failed || j.Problem != "rows_expired" || j.Results() >= j.Total {
			t.Errorf("the job: %+v", j)
		}
	})
}

func TestADryRunCountsAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		ids := o.failed(30)
		stop := o.run(o.runner("one", o.db, o.sfn, nil))
		defer stop()

		j := o.until(o.create(func(n *jobs.New) { n.DryRun = true }).ID, ended)
		if j.State != jobs.Done || j.Counts["selected"] != 30 || j.Total != 30 || len(j.Sample) != 10 || j.Sample[0].Code != "selected" {
			t.Errorf("the dry run: %+v", j)
		}

		// By ids, of which one is no order's and one is named twice.
		j = o.until(o.create(func(n *jobs.New) { n.DryRun, n.IDs = true, []string{"o-00001", "o-00001", "o-none"} }).ID, ended)
		if j.Counts["selected"] != 1 || j.Counts["gone"] != 1 {
			t.Errorf("the dry run by ids: %+v", j)
		}

		if found := o.redrives(ids); found[0] != 30 {
			t.Errorf("executions by the number of their redrives: %v", found)
		}

		if acts := o.acts(); len(acts) != 0 {
			t.Errorf("acts %v", acts)
		}
	})
}

// TestAStoppedDryRunIsNotDone: its counts are a part only.
func TestAStoppedDryRunIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		selecting := make(chan struct{})

		w := endless{selecting}
		stop := o.run(o.works("one", w, nil))
		defer stop()

		j := o.create(func(n *jobs.New) { n.DryRun = true })
		<-selecting

		if _, err := o.store.Stop(t.Context(), "", j.ID); err != nil {
			t.Fatal(err)
		}

		if j = o.until(j.ID, ended); j.State != jobs.Stopped || j.Selected {
			t.Errorf("the dry run: %+v", j)
		}
	})
}

// endless is a kind whose selection does not end by itself.
type endless struct{ selecting chan struct{} }

func (w endless) Select(ctx context.Context, _ jobs.Job, _ func(jobs.Subject) error) error {
	close(w.selecting)
	<-ctx.Done()

	return ctx.Err()
}

func (endless) Look(context.Context, jobs.Job, string) (jobs.Subject, error) {
	return jobs.Subject{}, errKilled
}
func (endless) Act(context.Context, jobs.Job, jobs.Subject) (string, error) { return "", errKilled }

func TestAJobIsPausedResumedAndStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		ids := o.failed(50)
		j := o.create(func(n *jobs.New) { n.Rate = 20 })

		// Without an owner it is paused at once.
		if j, err := o.store.Pause(t.Context(), "", j.ID); err != nil || j.State != jobs.Paused {
			t.Fatalf("paused: %+v, %v", j, err)
		}

		stop := o.run(o.runner("one", o.db, o.sfn, nil))
		defer stop()

		for _, again := range []bool{false, true} {
			if _, err := o.store.Resume(t.Context(), "", j.ID); err != nil {
				t.Fatalf("resumed, again %t: %v", again, err)
			}
		}
		o.until(j.ID, func(j jobs.Job) bool { return j.Results() > 0 })

		if _, err := o.store.Stop(t.Context(), "", j.ID); err != nil {
			t.Fatal(err)
		}

		j = o.until(j.ID, ended)
		if found := o.redrives(ids); j.State != jobs.Stopped || found[1] != j.Counts["done"] || found[1] == 50 || j.Owner != "" {
			t.Errorf("stopped: %+v, redriven %v", j, found)
		}

		for what, change := range map[string]func(context.Context, string, string) (jobs.Job, error){"pause": o.store.Pause, "resume": o.store.Resume} {
			if _, err := change(t.Context(), "", j.ID); !errors.Is(err, jobs.ErrState) {
				t.Errorf("%s of a stopped job: %v", what, err)
			}
		}

		if _, err := o.store.Stop(t.Context(), "", j.ID); err != nil {
			t.Errorf("a second stop: %v", err)
		}

		if _, err := o.store.Get(t.Context(), "acme", j.ID); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("of another tenant: %v", err)
		}
	})
}

func TestOneJobOfAKindIsOpenForEachTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		first := o.create(nil)

		var open *jobs.OpenError

		n := jobs.New{Kind: jobs.RedriveExecutions, By: "cli:ann", Reason: "test"}
		if _, err := o.store.Create(t.Context(), n); !errors.As(err, &open) || open.ID != first.ID {
			t.Errorf("a second one: %v, want job %s", err, first.ID)
		}

		n.Tenant = "acme"
		if _, err := o.store.Create(t.Context(), n); err != nil {
			t.Errorf("of another tenant: %v", err)
		}

		if _, err := o.store.Stop(t.Context(), "", first.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // ids of one millisecond are in no order
		second := o.create(nil)

		page, next, err := o.store.List(t.Context(), "", "", 1)
		if err != nil || len(page) != 1 || page[0].ID != second.ID || next == "" {
			t.Fatalf("the first page: %+v, next %q, %v", page, next, err)
		}

		if page, _, err = o.store.List(t.Context(), "", next, 10); err != nil || len(page) != 1 || page[0].ID != first.ID {
			t.Errorf("the rest: %+v, %v", page, err)
		}
	})
}

// TestActsThatAllFailPauseTheJob: something that all of them need is broken.
func TestActsThatAllFailPauseTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)

		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprintf("%02d", i))
		}

		stop := o.run(o.works("one", work{ids, func(context.Context, string) (string, error) { return "", errKilled }}, nil))
		defer stop()

		j := o.until(o.create(nil).ID, func(j jobs.Job) bool { return j.State == jobs.Paused })
		if j.Problem != "acts_fail" || j.Counts["failed"] != 5 {
			t.Errorf("the job: %+v", j)
		}
	})
}

func TestJobsThatBreakARuleAreRefused(t *testing.T) {
	o := newOffice(t)
	past := time.Now().Add(-time.Hour)

	for what, change := range map[string]func(*jobs.New){
		"kind":              func(n *jobs.New) { n.Kind = "x" },
		"no reason":         func(n *jobs.New) { n.Reason = "" },
		"rate":              func(n *jobs.New) { n.Rate = 1001 },
		"a tenant's stream": func(n *jobs.New) { n.Kind, n.Tenant, n.Filter.Handler = jobs.DiscardDeadLetters, "acme", "notify" },
		"a tenant's migration": func(n *jobs.New) {
			n.Kind, n.Tenant, n.Migration = jobs.MigrateOrders, "acme", &jobs.Migration{Workflow: "order", To: 9}
		},
		"no handler":     func(n *jobs.New) { n.Kind = jobs.RedriveDeadLetters },
		"no endpoint":    func(n *jobs.New) { n.Kind = jobs.ResendDeliveries },
		"no end":         func(n *jobs.New) { n.Kind = jobs.EraseOrders },
		"two selections": func(n *jobs.New) { n.IDs, n.Filter.Since = []string{"o-1"}, past },
		"ids":            func(n *jobs.New) { n.IDs = make([]string, 1001) },
		"an empty range": func(n *jobs.New) { n.Filter.Since, n.Filter.Until = past, past },
	} {
		n := jobs.New{Kind: jobs.RedriveExecutions, By: "cli:ann", Reason: "test"}
		change(&n)

		if _, err := o.store.Create(t.Context(), n); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// watched counts the looks of a runner.
type watched struct {
	*dynamodb.Client

	looks atomic.Int64
}

func (w *watched) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	defer w.looks.Add(1)

	return w.Client.Query(ctx, in, o...)
}

// TestAWrongClockTakesNoJobFromItsOwner: leases end by the time of the service.
func TestAWrongClockTakesNoJobFromItsOwner(t *testing.T) {
	for about, wrong := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				o.failed(1)

				dated := func() *dynamodb.Client {
					return dynamodb.New(o.db.Options(), func(opts *dynamodb.Options) {
						opts.APIOptions, opts.HTTPClient = nil, embeddedtest.Dated{Doer: opts.HTTPClient, Now: time.Now}
					})
				}
				began, end := make(chan struct{}), make(chan struct{})

				var once sync.Once
				runner := func(name string, db client, ahead time.Duration) *jobs.Runner {
					return o.runner(name, db, o.sfn, func(c *jobs.RunnerConfig) {
						c.Lease = time.Minute

						var err error
						if c.Store, err = jobs.NewStore(jobs.Config{DynamoDB: db, Table: "jobs", Now: func() time.Time { return time.Now().Add(ahead) }}); err != nil {
							t.Fatal(err)
						}
						c.Works = map[jobs.Kind]jobs.Work{jobs.RedriveExecutions: acting{c.Works[jobs.RedriveExecutions], func(context.Context, string) {
							once.Do(func() { close(began) })
							<-end
						}}}
					})
				}
				// The owner is the one whose clock is behind, if one is.
				stopOwner := o.run(runner("owner", dated(), min(0, wrong)))
				id := o.create(nil).ID
				<-began

				other := &watched{Client: dated()}
				stopOther := o.run(runner("other", other, max(0, wrong)))

				for other.looks.Load() < 10 {
					time.Sleep(time.Millisecond)
				}

				if j := o.until(id, func(jobs.Job) bool { return true }); j.Owner != "owner" || j.Epoch != 1 {
					t.Errorf("%+v", j)
				}
				close(end)
				o.until(id, ended)
				stopOwner()
				stopOther()
			})
		})
	}
}

// TestAStopIsForGood: while the act that runs comes to its end, a pause does not take the place of a stop.
func TestAStopIsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.failed(2)
		began, end := make(chan struct{}, 2), make(chan struct{})

		stop := o.run(o.runner("one", o.db, o.sfn, func(c *jobs.RunnerConfig) {
			c.Works = map[jobs.Kind]jobs.Work{jobs.RedriveExecutions: acting{c.Works[jobs.RedriveExecutions], func(context.Context, string) {
				began <- struct{}{}
				<-end
			}}}
		}))
		defer stop()

		id := o.create(nil).ID
		<-began

		if j, err := o.store.Stop(t.Context(), "", id); err != nil || j.Wanted != jobs.Stopped {
			t.Errorf("%+v, %v", j, err)
		}

		for what, ask := range map[string]func(context.Context, string, string) (jobs.Job, error){"pause": o.store.Pause, "resume": o.store.Resume} {
			if j, err := ask(t.Context(), "", id); !errors.Is(err, jobs.ErrState) {
				t.Errorf("%s: %+v, %v", what, j, err)
			}
		}
		close(end)
		o.until(id, ended)
	})
}
