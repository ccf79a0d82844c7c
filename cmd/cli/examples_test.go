package cli

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ratchet/operate/jobs"
	"ratchet/server"
)

// exampleNeed is what the reader of an example has done before.
type exampleNeed struct {
	before string   // commands
	words  []string // and what stands for them in the fixture
	store  func(context.Context, *server.Backend) error
	dev    bool   // `ratchet dev` runs
	ready  string // the output that shows that the command runs; then it is interrupted
}

// o3 leads an example to an order that waits for its payment.
var o3 = []string{"o-1", "o-3"}

const authorized = "payments authorize p-1 --order p-1 --payer alice --payee shop --amount 1250"

// exampleNeeds are by the beginning of the example.
var exampleNeeds = map[string]exampleNeed{
	"accounts create shop --shards":        {words: []string{"shop", "market"}},
	"actions create --code SPRING-7":       {words: []string{"SPRING-7", "SPRING-9"}},
	"claims get refund-7":                  {before: "claims run refund-7 -- true"},
	"orders apply o-1 hold":                {words: o3},
	"orders apply o-1 release":             {before: "orders apply o-3 hold --request-id hold", words: o3},
	"orders create o-1 --item mug:1:1250":  {words: []string{"o-1", "o-9"}},
	"orders edit add-note o-1 'two boxes'": {before: "orders edit set-own o-3 --set shelf=B8", words: o3},
	"orders renew --all --data":            {before: "backup monday.backup\nrestore monday.backup --data restored"},
	"orders renew --all --dry-run --data":  {before: "backup monday.backup\nrestore monday.backup --data restored"},
	"transfers create t-1 --from clearing": {words: []string{"t-1", "t-9", "clearing", "house"}},
	"actions release":                      {before: "actions reserve SPRING-7 --holder checkout --for 10m"},
	"claims get":                           {before: "claims run report-2026-11 -- true"},
	"compact --endpoint-url":               {dev: true},
	"deadletters":                          {store: storeLetter},
	"dev":                                  {ready: "Stop with Ctrl-C"},
	"endpoints create shop":                {before: "endpoints delete shop"},
	"executions repair o-1":                {words: o3},
	"executions start":                     {words: o3},
	"health":                               {dev: true},
	"holds get":                            {before: "holds create alice basket-9 --amount 1250"},
	"holds release":                        {before: "holds create alice basket-9 --amount 1250"},
	"inventory add-items":                  {words: o3},
	"jobs get":                             {store: storeJob},
	"jobs pause":                           {store: storeJob},
	"jobs resume":                          {store: storeJob},
	"jobs stop":                            {store: storeJob},
	"listen":                               {dev: true, ready: "whsec_"},
	"orders adopt o-1":                     {store: storeState, words: o3},
	"orders edit":                          {words: o3},
	"orders rebuild o-1":                   {store: storeEarlier},
	"orders scheduled":                     {words: o3},
	"orders watch":                         {ready: "PAYMENT_RECEIVED"},
	"payments capture":                     {before: authorized},
	"payments get":                         {before: authorized},
	"payments refund":                      {before: authorized + "\npayments capture p-1 all --amount 1250"},
	"payments void":                        {before: authorized},
	"restore monday.backup":                {before: "backup monday.backup"},
	"serve --api-listen":                   {dev: true, ready: "Health and metrics"},
	"status":                               {dev: true},
	"status --watch":                       {ready: "PROCESS"},
	"streams lag":                          {dev: true},
	"trigger cancel --order":               {words: o3},
	"verify --data restored":               {before: "backup monday.backup\nrestore monday.backup --data restored"},
	"worker":                               {dev: true, ready: "Health and metrics"},
}

// theJob is the id of the job in the examples.
const theJob = "20261128T151834.123-ABCDEFGHIJ"

// storeJob stores a job that waits. Its id is in the output of `ratchet jobs list`.
func storeJob(ctx context.Context, b *server.Backend) error {
	_, err := b.Jobs.Create(ctx, jobs.New{Kind: jobs.RedriveExecutions, IDs: []string{"o-1"}, By: "cli:ann", Reason: "the bank was down"})

	return err
}

// runElsewhere are examples that other tests run, by their beginning.
var runElsewhere = map[string]string{
	"claims force-release":              "a claim of another process: claims.txtar",
	"deadletters redrive notify LETTER": "a worker has to handle a record: deadletters_test.go",
	"demo":                              "CI runs it",
	"orders erase o-1":                  "an order that ended minutes ago: orders_erase.txtar",
	"shipments book-again":              "a carrier has canceled: shipments.txtar",
	"shipments reports done":            "a carrier has reported: shipments.txtar",
	"status":                            "it waits for the beats of processes: status.txtar",
	"workflow new":                      "it needs the sources: workflow_new_test.go",
}

// TestExamplesOfHelpRun runs the examples of every command on data of their own: each ends with the exit status that stands
// beside it, or with 0. Those that run until they are stopped are stopped when they are ready.
func TestExamplesOfHelpRun(t *testing.T) {
	f := newFixture(t)
	all := commands(newRoot(server.Parts{}))
	run := 0

	for _, path := range slices.Sorted(maps.Keys(all)) {
		for line := range strings.Lines(all[path].Example) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "ratchet ") && beginning(runElsewhere, line) == "" {
				run++
				f.fresh(t)
				f.example(t, line)
			}
		}
	}

	if run < 150 {
		t.Errorf("%d examples run, want at least 150", run)
	}
}

// beginning returns the longest key that a line of an example begins with, or "".
func beginning[V any](table map[string]V, line string) (longest string) {
	for begin := range table {
		if strings.HasPrefix(strings.TrimPrefix(line, "ratchet ")+" ", begin+" ") && len(begin) > len(longest) {
			longest = begin
		}
	}

	return longest
}

// example runs one line of an example, with what it needs.
func (f *fixture) example(t *testing.T, line string) {
	t.Helper()

	var words []string

	needs := exampleNeeds[beginning(exampleNeeds, line)]
	f.give(t, needs.before)

	if needs.store != nil {
		f.storing(t, needs.store)
	}

	if strings.Contains(line, theJob) {
		out, _ := f.run(t, "ratchet jobs list --json")
		words = append(words, theJob, theJobID.FindStringSubmatch(out)[1])
	}

	words = append(words, needs.words...)

	if needs.dev {
		at, stop := f.dev(t)
		defer stop()

		words = append(words, at...)
	}

	want := "0"
	if stated := statedStatus.FindStringSubmatch(line); stated != nil {
		want = stated[1]
	}

	for command := range strings.SplitSeq(line, " && ") {
		if out, status := f.until(t, command, needs.ready, slices.Concat(words, f.words)...); strconv.Itoa(status) != want {
			t.Errorf("%s: exit status %d, want %s:\n%s", line, status, want, out)
		}
	}
}

var theJobID = regexp.MustCompile(`"id":"([^"]+)"`)
