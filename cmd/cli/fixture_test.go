package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

// The reader of an example has a shop with orders, money, stock and a bit of each thing that a command names. fixtureFirst
// makes what needs no worker, fixtureLive what `ratchet dev` does, and fixtureLast what comes after it.
const (
	fixtureFirst = `
init
endpoints create shop log
inventory set mug 100
inventory set cup 10
accounts create alice --currency EUR
accounts create bob --currency EUR
accounts create carol --currency EUR
accounts create shop --currency EUR
accounts create fees --currency EUR
accounts create house --currency EUR --overdraft
transfers create t-0 --from house --to alice --amount 100000
keys create --name shop --tenant acme --scope act --expires 2160h
actions create --code SPRING-7 --expires-at 2030-01-01T00:00:00Z
`
	fixtureLive = `
orders create o-1 --item mug:2:1250 --customer c-42
orders create o-2 --item mug:1:1250
orders create o-3 --item mug:1:1250 --no-execution
`
	fixtureLast = `
orders apply o-3 cancel --at 2027-03-01T00:00:00Z --request-id r-3
transfers create t-1 --from alice --to bob --amount 1250
locks acquire welcome-mail/alice --holder signup-7
payments report > report.csv
`
)

// fixtureFiles are the files of the reader's.
var fixtureFiles = map[string]string{
	"orders.jsonl":   `{"orderId":"i-1","state":"PENDING","total":{"amount":1250,"currency":"EUR"}}` + "\n",
	"orders.csv":     "number;status;total;currency\ni-2;sent;1250;EUR\n",
	"requests.jsonl": `{"orderId":"r-1","event":"place"}` + "\n",
	"worker.log":     "",
}

// fixture is what the reader has, in a directory from which each example gets a copy.
type fixture struct {
	dir   string
	words []string // from the names in the examples to those of the fixture
}

var captured = []struct{ placeholder, command, pattern string }{
	{"5xprx62f523x4pcr", "ratchet keys list", `(?m)^(\w{16}) `},
	{"0123456789abcdef0123456789abcdef", "ratchet orders scheduled list o-3", `([0-9a-f]{32})`},
	{"o-1/06h1hnv0clhti/3/shop", "ratchet deliveries list --order o-1", `(o-1/\w+/\d+/shop)`},
	{"shardId-00000000000000000000-00000000", "ratchet engine shards", `(shardId-\S+)`},
}

func newFixture(t *testing.T) *fixture {
	t.Helper()

	for _, name := range []string{"RATCHET_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}

	// Examples name ports that another program may have.
	for _, name := range []string{"RATCHET_LISTEN", "RATCHET_API_LISTEN", "RATCHET_ADMIN_LISTEN"} {
		t.Setenv(name, "127.0.0.1:0")
	}

	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	f := &fixture{dir: t.TempDir()}
	for name, source := range map[string]string{
		"machine.asl.json": "statemachine.asl.json", "my.asl.json": "statemachine.asl.json",
		"ticket.yaml": "examples/ticket/workflow.yaml", "order.yaml": "statemachine.asl.json", // YAML, too
	} {
		fixtureFiles[name] = readSource(t, filepath.Join(sources, source))
	}

	t.Chdir(f.dir)

	for name, text := range fixtureFiles {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	f.give(t, fixtureFirst)
	_, stop := f.dev(t)
	f.give(t, fixtureLive)

	for _, awaited := range []struct{ command, text string }{
		{"ratchet tasks list o-1", "SHIPPED"}, {"ratchet deliveries list --order o-1", "/shop"}, {"ratchet verify --lag 0s", " 0 mismatched"},
	} {
		for out := ""; !strings.Contains(out, awaited.text); out, _ = f.run(t, awaited.command) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	stop()
	f.give(t, fixtureLast)

	for _, c := range captured {
		out, _ := f.run(t, c.command)

		match := regexp.MustCompile(c.pattern).FindStringSubmatch(out)
		if match == nil {
			t.Fatalf("%s: no %s in %s", c.command, c.pattern, out)
		}

		f.words = append(f.words, c.placeholder, match[1])
	}

	f.words = append(f.words, "LETTER", "letter-of-o-1", "./make-report.sh", "true", "/var/lib/ratchet", "other", "127.0.0.1:8701", "127.0.0.1:0")

	return f
}

// storing calls store with the parts over the directory.
func (f *fixture) storing(t *testing.T, store func(ctx context.Context, b *server.Backend) error) {
	t.Helper()

	s := commandtest.At(t, ".ratchet")
	if err := s.With(t.Context(), func(b *server.Backend) error { return store(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}
}

// storeState changes the state of o-3 as another program does.
func storeState(ctx context.Context, b *server.Backend) error {
	return updateOrder(ctx, b, "o-3", "SET orderState = :state", map[string]types.AttributeValue{":state": &types.AttributeValueMemberS{Value: "PAYMENT_RECEIVED"}})
}

// storeEarlier makes o-1 what it was before its newest transition.
func storeEarlier(ctx context.Context, b *server.Backend) error {
	return updateOrder(ctx, b, "o-1", "SET orderState = :state, transitionId = :id REMOVE s2", map[string]types.AttributeValue{
		":state": &types.AttributeValueMemberS{Value: "PENDING"}, ":id": &types.AttributeValueMemberN{Value: "1"}})
}

func updateOrder(ctx context.Context, b *server.Backend, id, set string, values map[string]types.AttributeValue) error {
	_, err := b.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &b.Tables.Orders, Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression: &set, ExpressionAttributeValues: values,
	})

	return err
}

// storeLetter stores a dead letter of o-1.
func storeLetter(ctx context.Context, b *server.Backend) error {
	return commandtest.UnreadableLetter(ctx, b, "notify", "o-1")
}

// give gives commands that must be done.
func (f *fixture) give(t *testing.T, lines string) {
	t.Helper()

	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.TrimSpace(line)
		command, file, _ := strings.Cut(line, " > ")

		out, status := f.run(t, "ratchet "+command)
		if status != exit.OK {
			t.Fatalf("%s: exit status %d: %s", line, status, out)
		}

		if file != "" {
			if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// dev runs `ratchet dev` over the directory until stop, and returns the words that lead examples to it.
func (f *fixture) dev(t *testing.T) (words []string, stop func()) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	up, done := make(chan struct{}), make(chan error)
	out := text{ready: "Stop with Ctrl-C", stop: sync.OnceFunc(func() { close(up) })}

	go func() {
		root := newRoot(server.Parts{})
		root.SetArgs(strings.Fields("dev --carrier-delay 1h --log-level error"))
		root.SetOut(&out)
		root.SetErr(io.Discard)
		done <- root.ExecuteContext(ctx)
	}()

	select {
	case <-up:
	case err := <-done:
		t.Fatal(err)
	}

	engine := regexp.MustCompile(`AWS_ENDPOINT_URL=(\S+)`).FindStringSubmatch(out.String())[1]
	health := regexp.MustCompile(`health --url (\S+)`).FindStringSubmatch(out.String())[1]

	for status := exit.Failure; status != exit.OK; _, status = f.run(t, "ratchet health --url "+health) {
		time.Sleep(10 * time.Millisecond)
	}

	return []string{
			"http://127.0.0.1:8700", engine, "ratchet worker", "ratchet worker --endpoint-url " + engine, "ratchet serve", "ratchet serve --endpoint-url " + engine,
			"--url http://127.0.0.1:8702", "--url " + health, "ratchet health", "ratchet health --url " + health,
		}, func() {
			cancel()

			if err := <-done; err != nil {
				t.Error(err)
			}
		}
}

// fresh goes to a copy of the directory.
func (f *fixture) fresh(t *testing.T) {
	t.Helper()

	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}

	// CopyFS opens files to all; the store refuses keys that others can read.
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Chdir(dir)
}

// run runs a command line and returns what it printed, with its exit status.
func (f *fixture) run(t *testing.T, line string, words ...string) (string, int) {
	t.Helper()

	return f.until(t, line, "", slices.Concat(words, f.words)...)
}

// until runs a command line, and interrupts it when its output has the text, if there is one.
func (f *fixture) until(t *testing.T, line, ready string, words ...string) (string, int) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	out, diagnosis := text{ready: ready, stop: cancel}, text{ready: ready, stop: cancel}
	root := newRoot(server.Parts{})
	root.SetArgs(exampleArguments(t, strings.NewReplacer(words...).Replace(line)))
	root.SetIn(strings.NewReader(answers[strings.Contains(line, "--pin")] + "\n"))
	root.SetOut(&out)
	root.SetErr(&diagnosis)

	c, err := root.ExecuteContextC(ctx)

	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%s: it did not end, and did not print %q", line, ready)
	}

	if err != nil {
		fmt.Fprintln(&out, diagnosis.String(), err)
	}

	if !isStated(c, err) {
		t.Errorf("%s: the help of `ratchet %s` does not name the exit status %d", line, settings.CommandName(c), exit.StatusOf(err))
	}

	return out.String(), exit.StatusOf(err)
}

func readSource(t *testing.T, path string) string {
	t.Helper()

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	return string(content)
}

// answers are what commands ask for: a PIN, or the id of an order.
var answers = map[bool]string{true: "1234", false: "o-1"}

// text is what a command prints, also while another goroutine reads it.
type text struct {
	ready string // unless "", the text that ends the command
	stop  func()

	mu  sync.Mutex
	all bytes.Buffer
}

func (o *text) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	n, err := o.all.Write(b)
	if o.ready != "" && strings.Contains(o.all.String(), o.ready) {
		o.stop()
	}

	return n, err
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.all.String()
}
