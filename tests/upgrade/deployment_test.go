//go:build upgrade

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/tests/program"
)

// requestsQueue is the name of the queue for requests.
const requestsQueue = "requests.fifo"

// deployment is an engine behind an endpoint, and what processes of both versions need to work there.
type deployment struct {
	t        *testing.T
	ctx      context.Context
	dir      string
	endpoint string
	engine   *embedded.Engine
	receiver *receiver
	load     *load

	old, new string          // paths of the programs
	look     *server.Backend // of this version, to look at the tables
	logs     map[string]bool // the files of the processes

	actionKey string // of one-time actions, the same for all processes
	exchanges int    // calls of exchange
	ticket    string // of the newest claim
}

func newDeployment(ctx context.Context, t *testing.T, old string, plan scenario.Plan) *deployment {
	t.Helper()

	d := &deployment{
		t: t, ctx: ctx, dir: t.TempDir(),
		old: old, new: program.Build(t),
		receiver:  newReceiver(t),
		actionKey: actions.NewKey(1).Reveal(),
	}

	// Shards end when the test says so, and workers of one version find the children of the other's.
	d.engine = embeddedtest.Open(t, func(c *embedded.Config) {
		c.Streams = embedded.StreamsConfig{InitialShards: 4, RollEvery: -1}
	})
	embeddedtest.Run(t, d.engine)

	front := httptest.NewServer(shortPolls(d.engine.Handler()))
	t.Cleanup(front.Close)
	d.endpoint = front.URL

	var err error
	if d.look, err = server.Connect(ctx, server.Config{EndpointURL: d.endpoint, Notify: "none", RequestsQueue: requestsQueue}, embeddedtest.Quiet(), server.Events{}); err != nil {
		t.Fatal(err)
	}
	d.load = &load{plan: plan, sqs: d.look.SQS}

	return d
}

// command runs a command of one version, and returns its output. It must exit with status 0.
func (d *deployment) command(bin string, args ...string) string {
	d.t.Helper()

	cmd := exec.CommandContext(d.ctx, bin, append(args, "--endpoint-url", d.endpoint)...)
	cmd.Env = append(cmd.Environ(), "HOOK_SECRET="+hookSecret)

	var problems strings.Builder
	cmd.Stderr = &problems

	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s %v: %v\n%s%s", d.version(bin), args, err, out, problems.String())
	}

	return string(out)
}

// version is the beginning of the name of a process of the program.
func (d *deployment) version(bin string) string {
	if bin == d.old {
		return "old"
	}

	return "new"
}

// open sets up the deployment as the earlier version does: tables, an endpoint, a key of the API, and stock.
func (d *deployment) open() {
	d.t.Helper()

	d.command(d.old, "init", "--requests-queue", requestsQueue)
	d.command(d.old, "endpoints", "create", "stored", d.receiver.server.URL+"/stored",
		"--ordered", "--rate", "500", "--concurrency", "16", "--secret-env", "HOOK_SECRET")

	var key struct{ Token string }
	if out := d.command(d.old, "keys", "create", "--name", "upgrade", "--scope", "admin", "--personal", "--json"); json.Unmarshal([]byte(out), &key) != nil || key.Token == "" {
		d.t.Fatalf("the key is %s", out)
	}
	d.load.key = key.Token

	url, err := d.look.SQS.GetQueueUrl(d.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(requestsQueue)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.load.queue = *url.QueueUrl

	if err := d.load.plan.Fill(d.ctx, d.look); err != nil {
		d.t.Fatal(err)
	}
}

// worker starts a worker. Its name begins with its version.
func (d *deployment) worker(bin, name string) *program.Process {
	d.t.Helper()
	name = d.version(bin) + "-" + name

	return d.start(bin, name, "worker",
		"--name", name,
		"--sandbox-carrier",
		"--notify", d.receiver.server.URL+"/configured",
		"--requests-queue", requestsQueue,
		"--carrier-delay", "100ms",
		"--effect-lease", "3s",
		"--decline-percent", "5",
		"--timeout-percent", "3")
}

// api starts a server of the HTTP API, and returns its URL.
func (d *deployment) api(bin string) (*program.Process, string) {
	d.t.Helper()

	p := d.start(bin, d.version(bin)+"-server", "serve", "--json",
		"--api-listen", "127.0.0.1:0",
		"--notify", "none",
		"--requests-queue", requestsQueue)

	var at struct{ API string }
	if line := p.FirstLine(d.t); json.Unmarshal([]byte(line), &at) != nil || at.API == "" {
		d.t.Fatalf("%s printed %q", p.Name, line)
	}

	return p, at.API
}

func (d *deployment) start(bin, name string, args ...string) *program.Process {
	d.t.Helper()

	if d.logs == nil {
		d.logs = map[string]bool{}
	}

	p := program.Process{
		Bin:  bin,
		Args: append(args, "--endpoint-url", d.endpoint),
		Env:  []string{"RATCHET_WEBHOOK_SECRET=" + hookSecret, "RATCHET_ACTION_KEYS=" + d.actionKey},
		Dir:  d.dir,
		Name: name,
	}
	d.logs[p.Log()] = true

	return p.Start(d.t)
}

// rollShards ends every open shard, as AWS does every few hours.
func (d *deployment) rollShards() {
	d.t.Helper()

	table, err := d.look.DynamoDB.DescribeTable(d.ctx, &dynamodb.DescribeTableInput{TableName: &d.look.Tables.Orders})
	if err == nil {
		err = d.engine.RollShards(d.ctx, *table.Table.LatestStreamArn)
	}

	if err != nil {
		d.t.Fatal(err)
	}
}

// untilPlaced waits until so many orders are placed.
func (d *deployment) untilPlaced(want int) {
	d.t.Helper()
	until(d.ctx, d.t, fmt.Sprintf("%d orders to be placed", want), func() bool { return d.load.placed.Load() >= int64(want) })
}

// until calls done every 10 ms until it returns true.
func until(ctx context.Context, t *testing.T, what string, done func() bool) {
	t.Helper()

	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
