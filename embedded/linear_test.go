package embedded

import (
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"ratchet/embedded/faults"
)

var (
	flagRounds     = flag.Int("rounds", 15, "rounds of the test of linearizability, each of four scenes and two power failures")
	flagLinearSeed = flag.Uint64("linearseed", 1, "seed of the clients' choices")
)

const (
	linearScenes  = 4
	linearClients = 4  // of a scene
	linearCalls   = 12 // of a client from one power failure to the next
)

// linearRun is an engine whose power fails now and then, and the clients of its scenes.
type linearRun struct {
	t     *testing.T
	fs    *vfs.MemFS
	gate  sync.RWMutex // a writer's lock stalls the disk
	dice  *rand.Rand
	db    *dynamodb.Client
	close func()

	clock atomic.Int64 // counts the beginnings and ends of calls
	mu    sync.Mutex   // guards what follows, and the histories
	off   bool         // the power has failed, or is about to
	left  int          // how many answers are to come before the disk stalls
	cut   chan struct{}

	calls, unknown, failures int
}

// linearScene is a few items and the calls on them.
type linearScene struct {
	name    string
	history []porcupine.Operation
}

// TestItemsTransactionsAndIndexesAreLinearizable: the answers of many clients match one order of
// their calls, in which each call takes effect at a moment between its beginning and its end.
// Answers get lost, and the power fails: a call without an answer takes effect at one moment, or
// never.
func TestItemsTransactionsAndIndexesAreLinearizable(t *testing.T) {
	t.Parallel()

	r := &linearRun{t: t, fs: vfs.NewCrashableMem(), dice: rand.New(rand.NewPCG(*flagLinearSeed, 0))}
	r.open()
	r.createTable()

	rounds := *flagRounds
	if testing.Short() {
		rounds = min(rounds, 4)
	}

	for round := range rounds {
		scenes := make([]*linearScene, linearScenes)
		for n := range scenes {
			scenes[n] = &linearScene{name: fmt.Sprintf("%d.%d", round, n)}
		}

		for range 2 {
			r.play(scenes, 1+r.dice.IntN(linearScenes*linearClients*linearCalls))
		}
		r.play(scenes, math.MaxInt)

		for _, scene := range scenes {
			r.verify(scene)
		}
	}
	r.close()

	t.Logf("%d calls, %d without an answer, %d power failures", r.calls, r.unknown, r.failures)

	if r.failures == 0 || r.unknown == 0 {
		t.Error("no call was left without an answer")
	}
}

// open opens the engine on the file system. One answer in 50 gets lost.
func (r *linearRun) open() {
	e, err := openOn(stallingFS{r.fs, &r.gate}, Config{Dir: "data", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}

	for _, fault := range []faults.Fault{
		faults.LoseAnswer("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems").WithProbability(0.02, r.dice.Uint64()),
		faults.LoseRequest("PutItem", "TransactWriteItems").WithProbability(0.01, r.dice.Uint64()),
	} {
		if _, err := e.Inject(fault); err != nil {
			r.t.Fatal(err)
		}
	}

	r.db = dynamodb.NewFromConfig(e.AWSConfig(), func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	r.close = func() {
		if err := e.Close(); err != nil {
			r.t.Fatal(err)
		}
	}
}

const linearTable = "items"

func (r *linearRun) createTable() {
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	whole := &types.Projection{ProjectionType: types.ProjectionTypeAll}

	_, err := r.db.CreateTable(r.t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(linearTable),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keys("scene", "n"),
		AttributeDefinitions: []types.AttributeDefinition{
			attribute("scene", types.ScalarAttributeTypeS), attribute("n", types.ScalarAttributeTypeN),
			attribute("group", types.ScalarAttributeTypeS), attribute("v", types.ScalarAttributeTypeN),
		},
		LocalSecondaryIndexes:  []types.LocalSecondaryIndex{{IndexName: aws.String("local"), KeySchema: keys("scene", "v"), Projection: whole}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("global"), KeySchema: keys("group", "v"), Projection: whole}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// play lets the clients of the scenes make calls. After so many answers, if there are as many, the disk stalls
// and the power fails. The engine then goes on with the data on disk.
func (r *linearRun) play(scenes []*linearScene, answers int) {
	r.off, r.left, r.cut = false, answers, make(chan struct{})

	var clients sync.WaitGroup
	for _, scene := range scenes {
		for range linearClients {
			dice := rand.New(rand.NewPCG(r.dice.Uint64(), 0))
			clients.Go(func() { r.client(scene, dice) })
		}
	}

	ended := make(chan struct{})
	go func() {
		clients.Wait()
		close(ended)
	}()

	select {
	case <-ended:
		return
	case <-r.cut:
	}

	r.gate.Lock()
	<-time.After(stall)

	r.mu.Lock()
	r.off = true
	r.mu.Unlock()

	rest := r.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 0, 50, 100}[r.dice.IntN(4)], RNG: r.dice})
	r.gate.Unlock()
	<-ended
	r.close()
	r.failures++
	r.fs = rest
	r.open()
}

// client makes calls until it has made enough, or the power fails.
func (r *linearRun) client(scene *linearScene, dice *rand.Rand) {
	seen := 0 // a value that conditions may ask for
	for range linearCalls {
		r.mu.Lock()
		off := r.off
		r.mu.Unlock()

		if off {
			return
		}

		call := chooseLinear(dice, seen)
		began := r.clock.Add(1)
		answer := r.make(scene.name, call)
		r.record(scene, porcupine.Operation{Input: call, Output: answer, Call: began})

		if v, err := strconv.Atoi(strings.Trim(answer.text, "ab")); err == nil {
			seen = v
		}
	}
}

// record adds a call to the history. An answer that comes when the power is off may be lost.
func (r *linearRun) record(scene *linearScene, made porcupine.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.calls++
	if made.Return = r.clock.Add(1); r.off || made.Output.(linearAnswer).unknown {
		made.Output, made.Return = linearAnswer{unknown: true}, math.MaxInt64
		r.unknown++

		if len(made.Input.(linearCall).writes) == 0 {
			return // a read without an answer says nothing
		}
	}

	scene.history = append(scene.history, made)

	if r.left--; r.left == 0 {
		close(r.cut)
	}
}

// chooseLinear chooses a call. Half of the conditions ask for a value that was seen.
func chooseLinear(dice *rand.Rand, seen int) linearCall {
	write := func(n int) linearWrite {
		w := linearWrite{
			verb:  []string{"put", "add", "add", "delete"}[dice.IntN(4)],
			n:     n,
			v:     1 + dice.IntN(9),
			group: []string{"a", "b"}[dice.IntN(2)],
			when:  []string{"", "", "absent", "equal"}[dice.IntN(4)],
		}
		if w.is = seen; dice.IntN(2) == 0 {
			w.is = dice.IntN(20)
		}

		return w
	}

	switch n := dice.IntN(linearItems); dice.IntN(10) {
	case 0, 1, 2, 3:
		return linearCall{verb: "write", writes: []linearWrite{write(n)}}
	case 4, 5:
		c := linearCall{verb: "transact", writes: []linearWrite{write(n), write((n + 1) % linearItems)}}
		if dice.IntN(2) == 0 {
			c.writes = append(c.writes, linearWrite{verb: "check", n: (n + 2) % linearItems, when: "absent"})
		}

		return c
	case 6:
		return linearCall{verb: "get", n: n}
	case 7:
		return linearCall{verb: "transactGet"}
	case 8:
		return linearCall{verb: []string{"query", "local"}[dice.IntN(2)]}
	default:
		return linearCall{verb: "global", group: []string{"a", "b"}[dice.IntN(2)]}
	}
}

// verify checks the history of a scene. It stores a picture of a wrong history.
func (r *linearRun) verify(scene *linearScene) {
	r.t.Helper()

	result := porcupine.CheckOperationsTimeout(linearModel(), scene.history, time.Minute)
	if result == porcupine.Ok {
		return
	}

	path := filepath.Join(r.t.ArtifactDir(), scene.name+".html")
	_, info := porcupine.CheckOperationsVerbose(linearModel(), scene.history, time.Minute)

	if err := porcupine.VisualizePath(linearModel(), info, path); err != nil {
		r.t.Error(err)
	}
	r.t.Errorf("scene %s is not linearizable (%s); run with -artifacts to keep %s", scene.name, result, path)
}
