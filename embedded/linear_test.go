package embedded

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
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
	flagRounds     = flag.Int("rounds", 25, "rounds of the test of linearizability, each of four scenes and two power failures")
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

// TestItemsTransactionsAndIndexesAreLinearizable: the answers of many clients are such as one order of their
// calls gives, each at a moment between its beginning and its end. Answers get lost, and the power fails, so
// that calls have no answer; these take effect at one moment, or never.
func TestItemsTransactionsAndIndexesAreLinearizable(t *testing.T) {
	t.Parallel()

	r := &linearRun{t: t, fs: vfs.NewCrashableMem(), dice: rand.New(rand.NewPCG(*flagLinearSeed, 0))}
	r.open()
	r.createTable()

	for round := range *flagRounds {
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

// open opens the engine on what the file system has. One answer in 50 gets lost.
func (r *linearRun) open() {
	e, err := openOn(stallingFS{r.fs, &r.gate}, Config{Dir: "data", Log: slog.New(slog.DiscardHandler), SweepEvery: -1})
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

// stall is how long the disk does not finish a sync before the power fails. Reads then see changes that are
// not on disk, and must not show them.
const stall = 2 * time.Millisecond

// stallingFS is a file system whose syncs wait for a reader's lock.
type stallingFS struct {
	*vfs.MemFS
	gate *sync.RWMutex
}

func (s stallingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.Create(name, category)
	return stallingFile{file, s.gate}, err
}

func (s stallingFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.ReuseForWrite(oldName, newName, category)
	return stallingFile{file, s.gate}, err
}

type stallingFile struct {
	vfs.File
	gate *sync.RWMutex
}

func (s stallingFile) SyncData() error {
	s.gate.RLock()
	defer s.gate.RUnlock()

	return s.File.SyncData()
}

// play lets the clients of the scenes make calls. After so many answers, if there are as many, the disk stalls
// and the power fails. The engine then goes on with what was on disk.
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

// record adds a call to the history. What is answered when the power is off may be lost.
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

// verify checks the history of a scene. It stores a picture of one that is wrong.
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

// make makes a call and returns its answer in the words of the model.
func (r *linearRun) make(scene string, c linearCall) linearAnswer {
	text, err := r.send(r.t.Context(), scene, c)

	var failed *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException

	switch {
	case err == nil:
		return linearAnswer{text: text}
	case errors.As(err, &failed):
		return linearAnswer{text: fmt.Sprint("refused ", []string{linearText(failed.Item)})}
	case errors.As(err, &canceled):
		return linearAnswer{text: fmt.Sprint("refused ", linearReasons(canceled.CancellationReasons))}
	case !errors.Is(err, faults.ErrLost) && !errors.Is(err, faults.ErrAnswerLost):
		r.t.Error(err)
	}

	return linearAnswer{unknown: true}
}

func linearReasons(reasons []types.CancellationReason) (texts []string) {
	for _, reason := range reasons {
		text := "none"
		if code := aws.ToString(reason.Code); code == "ConditionalCheckFailed" {
			text = linearText(reason.Item)
		} else if code != "None" {
			text = code
		}
		texts = append(texts, text)
	}

	return texts
}

func (r *linearRun) send(ctx context.Context, scene string, c linearCall) (string, error) {
	switch c.verb {
	case "write":
		return r.write(ctx, scene, c.writes[0])
	case "transact":
		parts := make([]types.TransactWriteItem, len(c.writes))
		for k, w := range c.writes {
			parts[k] = w.part(scene)
		}
		_, err := r.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})

		return "done", err
	case "get":
		out, err := r.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(linearTable), Key: linearKey(scene, c.n), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return "", err
		}

		return linearText(out.Item), nil
	case "transactGet":
		return r.transactGet(ctx, scene)
	default:
		return r.query(ctx, scene, c)
	}
}

func (r *linearRun) write(ctx context.Context, scene string, w linearWrite) (string, error) {
	var returned item
	part := w.part(scene)
	old := types.ReturnValuesOnConditionCheckFailureAllOld

	switch {
	case part.Put != nil:
		p := part.Put
		out, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: p.TableName, Item: p.Item, ReturnValues: types.ReturnValueAllOld,
			ConditionExpression: p.ConditionExpression, ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	case part.Update != nil:
		u := part.Update
		out, err := r.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ReturnValues: types.ReturnValueAllNew,
			ConditionExpression: u.ConditionExpression, ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	default:
		d := part.Delete
		out, err := r.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: d.TableName, Key: d.Key, ReturnValues: types.ReturnValueAllOld,
			ConditionExpression: d.ConditionExpression, ExpressionAttributeValues: d.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	}

	return linearText(returned), nil
}

func (r *linearRun) transactGet(ctx context.Context, scene string) (string, error) {
	var gets []types.TransactGetItem
	for n := range linearItems {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: aws.String(linearTable), Key: linearKey(scene, n)}})
	}

	out, err := r.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		return "", err
	}

	var texts []string
	for _, got := range out.Responses {
		texts = append(texts, linearText(got.Item))
	}

	return fmt.Sprint(texts), nil
}

// query reads the items of a scene, or those of a group by the global index.
func (r *linearRun) query(ctx context.Context, scene string, c linearCall) (string, error) {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(linearTable),
		KeyConditionExpression:    aws.String("scene = :key"),
		ExpressionAttributeValues: item{":key": str(scene)},
		ConsistentRead:            aws.Bool(true),
	}

	if c.verb != "query" {
		in.IndexName = &c.verb
	}

	if c.verb == "global" { // which has no consistent reads
		in.KeyConditionExpression, in.ConsistentRead = aws.String("#group = :key"), nil
		in.ExpressionAttributeNames = map[string]string{"#group": "group"}
		in.ExpressionAttributeValues = item{":key": str(scene + c.group)}
	}

	out, err := r.db.Query(ctx, in)
	if err != nil {
		return "", err
	}

	// Items with the same v may come in any order.
	if c.verb != "query" {
		slices.SortStableFunc(out.Items, func(a, b item) int {
			if number(a["v"]) == number(b["v"]) {
				return strings.Compare(number(a["n"]), number(b["n"]))
			}

			return 0
		})
	}

	var texts []string
	for _, i := range out.Items {
		texts = append(texts, number(i["n"])+"="+linearText(i))
	}

	return strings.Join(texts, " "), nil
}

func linearKey(scene string, n int) item { return item{"scene": str(scene), "n": num(strconv.Itoa(n))} }

// linearText shows an item as the model does.
func linearText(i item) string {
	if len(i) == 0 {
		return "-"
	}
	group := text(i["group"])

	return number(i["v"]) + group[len(group)-1:]
}

// part returns the write as a part of a transaction.
func (w linearWrite) part(scene string) types.TransactWriteItem {
	table, key := aws.String(linearTable), linearKey(scene, w.n)
	v, group := num(strconv.Itoa(w.v)), str(scene+w.group)

	var condition *string
	var values item
	switch w.when {
	case "absent":
		condition = aws.String("attribute_not_exists(v)")
	case "equal":
		condition, values = aws.String("v = :is"), item{":is": num(strconv.Itoa(w.is))}
	}

	old := types.ReturnValuesOnConditionCheckFailureAllOld
	switch w.verb {
	case "put":
		key["v"], key["group"] = v, group
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: key, ConditionExpression: condition, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case "add":
		all := item{":v": v, ":group": group}
		if w.when == "equal" {
			all[":is"] = values[":is"]
		}

		return types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("ADD v :v SET #group = :group"),
			ConditionExpression: condition, ExpressionAttributeNames: map[string]string{"#group": "group"}, ExpressionAttributeValues: all, ReturnValuesOnConditionCheckFailure: old}}
	case "delete":
		return types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: key, ConditionExpression: condition, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: old}}
	}
}
