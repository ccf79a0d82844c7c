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

// shop is an engine behind an endpoint, and what processes of both versions need to work there.
type shop struct {
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

func newShop(ctx context.Context, t *testing.T, old string, plan scenario.Plan) *shop {
	t.Helper()

	s := &shop{
		t: t, ctx: ctx, dir: t.TempDir(),
		old: old, new: program.Build(t),
		receiver:  newReceiver(t),
		actionKey: actions.NewKey(1).Reveal(),
	}

	// Shards end when the test says so, and workers of one version find the children of the other's.
	s.engine = embeddedtest.Open(t, func(c *embedded.Config) {
		c.Streams = embedded.StreamsConfig{InitialShards: 4, RollEvery: -1}
	})
	embeddedtest.Run(t, s.engine)

	front := httptest.NewServer(shortPolls(s.engine.Handler()))
	t.Cleanup(front.Close)
	s.endpoint = front.URL

	var err error
	if s.look, err = server.Connect(ctx, server.Config{EndpointURL: s.endpoint, Notify: "none", RequestsQueue: requestsQueue}, embeddedtest.Quiet(), server.Events{}); err != nil {
		t.Fatal(err)
	}
	s.load = &load{plan: plan, sqs: s.look.SQS}

	return s
}

// command runs a command of one version, and returns its output. It must exit with status 0.
func (s *shop) command(bin string, args ...string) string {
	s.t.Helper()

	cmd := exec.CommandContext(s.ctx, bin, append(args, "--endpoint-url", s.endpoint)...)
	cmd.Env = append(cmd.Environ(), "HOOK_SECRET="+hookSecret)

	var problems strings.Builder
	cmd.Stderr = &problems

	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s%s", s.version(bin), args, err, out, problems.String())
	}

	return string(out)
}

// version is the beginning of the name of a process of the program.
func (s *shop) version(bin string) string {
	if bin == s.old {
		return "old"
	}

	return "new"
}

// open makes the shop as the earlier version does: tables, an endpoint, a key of the API, and stock.
func (s *shop) open() {
	s.t.Helper()

	s.command(s.old, "init", "--requests-queue", requestsQueue)
	s.command(s.old, "endpoints", "create", "stored", s.receiver.server.URL+"/stored",
		"--ordered", "--rate", "500", "--concurrency", "16", "--secret-env", "HOOK_SECRET")

	var key struct{ Token string }
	if out := s.command(s.old, "keys", "create", "--name", "upgrade", "--scope", "admin", "--json"); json.Unmarshal([]byte(out), &key) != nil || key.Token == "" {
		s.t.Fatalf("the key is %s", out)
	}
	s.load.key = key.Token

	url, err := s.look.SQS.GetQueueUrl(s.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(requestsQueue)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.load.queue = *url.QueueUrl

	if err := s.load.plan.Fill(s.ctx, s.look); err != nil {
		s.t.Fatal(err)
	}
}

// worker starts a worker. Its name begins with its version.
func (s *shop) worker(bin, name string) *program.Process {
	s.t.Helper()
	name = s.version(bin) + "-" + name

	return s.start(bin, name, "worker",
		"--name", name,
		"--sandbox-carrier",
		"--notify", s.receiver.server.URL+"/configured",
		"--requests-queue", requestsQueue,
		"--carrier-delay", "100ms",
		"--effect-lease", "3s",
		"--decline-percent", "5",
		"--timeout-percent", "3")
}

// api starts a server of the HTTP API, and returns its URL.
func (s *shop) api(bin string) (*program.Process, string) {
	s.t.Helper()

	p := s.start(bin, s.version(bin)+"-server", "serve", "--json",
		"--api-listen", "127.0.0.1:0",
		"--notify", "none",
		"--requests-queue", requestsQueue)

	var at struct{ API string }
	if line := p.FirstLine(s.t); json.Unmarshal([]byte(line), &at) != nil || at.API == "" {
		s.t.Fatalf("%s printed %q", p.Name, line)
	}

	return p, at.API
}

func (s *shop) start(bin, name string, args ...string) *program.Process {
	s.t.Helper()

	if s.logs == nil {
		s.logs = map[string]bool{}
	}

	p := program.Process{
		Bin:  bin,
		Args: append(args, "--endpoint-url", s.endpoint),
		Env:  []string{"RATCHET_WEBHOOK_SECRET=" + hookSecret, "RATCHET_ACTION_KEYS=" + s.actionKey},
		Dir:  s.dir,
		Name: name,
	}
	s.logs[p.Log()] = true

	return p.Start(s.t)
}

// rollShards ends every open shard, as AWS does every few hours.
func (s *shop) rollShards() {
	s.t.Helper()

	table, err := s.look.DynamoDB.DescribeTable(s.ctx, &dynamodb.DescribeTableInput{TableName: &s.look.Tables.Orders})
	if err == nil {
		err = s.engine.RollShards(s.ctx, *table.Table.LatestStreamArn)
	}

	if err != nil {
		s.t.Fatal(err)
	}
}

// untilPlaced waits until so many orders are placed.
func (s *shop) untilPlaced(want int) {
	s.t.Helper()
	until(s.ctx, s.t, fmt.Sprintf("%d orders to be placed", want), func() bool { return s.load.placed.Load() >= int64(want) })
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
