package processes_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is a table of processes on an engine of its own.
type fleet struct {
	*processes.Store
	t         *testing.T
	db        *client
	transport *embeddedtest.Transport
}

// client notes the consumption of each PutItem. It calls put before a PutItem, and got after a
// GetItem, unless these are nil.
type client struct {
	*dynamodb.Client
	put func(*dynamodb.PutItemInput)
	got func()

	mu    sync.Mutex
	units []float64
}

func (c *client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := c.Client.GetItem(ctx, in, o...)
	if c.got != nil {
		c.got()
	}

	return out, err
}

func (c *client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.put != nil {
		c.put(in)
	}
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := c.Client.PutItem(ctx, in, o...)
	if err == nil {
		c.mu.Lock()
		c.units = append(c.units, *out.ConsumedCapacity.CapacityUnits)
		c.mu.Unlock()
	}

	return out, err
}

func newFleet(t *testing.T) *fleet {
	t.Helper()

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.NoRetries
	f := &fleet{t: t}
	f.transport = embeddedtest.Intercept(&cfg)
	f.db = &client{Client: dynamodb.NewFromConfig(cfg)}
	embeddedtest.Create(t, f.db.Client, processes.TableInput("processes"))

	var err error
	if f.Store, err = processes.New(processes.Config{DynamoDB: f.db, Table: "processes", Log: embeddedtest.Quiet()}); err != nil {
		t.Fatal(err)
	}

	return f
}

// run runs a process with the reports of report. stop ends the process and waits for its end.
func (f *fleet) run(report func() processes.Report) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})

	go func() {
		defer close(done)
		f.Run(ctx, processes.Self{Version: "v1", Report: func(context.Context) processes.Report { return report() }})
	}()

	return func() {
		cancel()
		<-done
	}
}

// check returns the processes that Check finds.
func (f *fleet) check() []processes.Process {
	f.t.Helper()

	found, err := f.Check(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}

	return found
}

// only returns the only process that Check finds.
func (f *fleet) only() processes.Process {
	f.t.Helper()

	found := f.check()
	if len(found) != 1 {
		f.t.Fatalf("%d processes, want one: %+v", len(found), found)
	}

	return found[0]
}
