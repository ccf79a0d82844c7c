package cli

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/start"
	"ratchet/server"
	"ratchet/transitions"
)

// printedCommands are the texts of commands that a running program prints, as the code has them, with the command that a
// user gets from them and its exit status here: the order o-1 is paid and has no execution, and the endpoint shop
// exists. 2 means that the command is wrong, and stands nowhere.
var printedCommands = map[string]struct {
	run    string
	status int
}{
	"ratchet deadletters list %s":                            {"deadletters list notify", 0},
	"ratchet deadletters list ":                              {"deadletters list notify", 0},
	"ratchet deadletters list %s --%s":                       {"deadletters list refund --refund-returns", 0},
	"ratchet deadletters redrive %s %s":                      {"deadletters redrive notify letter-1", 4},
	"ratchet deadletters redrive --all --handler %s":         {"deadletters redrive --all --handler notify", 0},
	"ratchet deadletters discard HANDLER LETTER":             {"deadletters discard notify letter-1", 4},
	"ratchet deliveries resend ":                             {"deliveries resend o-1/06h1hnv0clhti/3/shop", 4},
	"ratchet deliveries resend --endpoint %s%s --since 720h": {"deliveries resend --endpoint shop --since 720h", 0},
	"ratchet endpoints enable %s":                            {"endpoints enable shop", 0},
	"ratchet executions list --status ":                      {"executions list --status FAILED", 0},
	"ratchet jobs ":                                          {"jobs pause 20261128T151834.123-ABCDEFGHIJ", 4},
	"ratchet jobs get ":                                      {"jobs get 20261128T151834.123-ABCDEFGHIJ", 4},
	"ratchet jobs resume %s%s":                               {"jobs resume 20261128T151834.123-ABCDEFGHIJ", 4},
	"ratchet jobs start ":                                    {"jobs start dead-letters-redrive --handler notify --reason test", 0},
	"ratchet jobs start executions-redrive --since 2h --dry-run --reason 'the bank was down'": {"jobs start executions-redrive --since 2h --dry-run --reason test", 0},
	"ratchet orders scheduled":                        {"orders scheduled", 0},
	"ratchet orders scheduled list":                   {"orders scheduled list o-1", 0},
	"ratchet orders scheduled list %s":                {"orders scheduled list o-1", 0},
	"ratchet help settings":                           {"help settings", 0},
	"ratchet endpoints delete %s":                     {"endpoints delete shop", 0},
	"ratchet executions get ":                         {"executions get o-1", 4},
	"ratchet executions get %s":                       {"executions get o-1", 4},
	"ratchet executions redrive ":                     {"executions redrive o-1", 0},
	"ratchet executions repair ":                      {"executions repair o-1", 0},
	"ratchet executions repair %s":                    {"executions repair o-2", 0},
	"ratchet executions repair":                       {"executions repair", 0},
	"ratchet orders adopt":                            {"orders adopt o-1", 3},
	"ratchet orders adopt %s":                         {"orders adopt o-1", 3},
	"ratchet orders import":                           {"orders import --table --dry-run", 0},
	"ratchet orders import --table --dry-run":         {"orders import --table --dry-run", 0},
	"ratchet orders adopt ORDER":                      {"orders adopt o-1", 3},
	"ratchet orders rebuild ORDER --write":            {"orders rebuild o-1 --write", 3},
	"ratchet streams rebuild --handler journal":       {"streams rebuild --handler journal", 0},
	"ratchet orders apply %s %s":                      {"orders apply o-1 cancel", 0},
	"ratchet orders explain ":                         {"orders explain o-1", 0},
	"ratchet orders explain %s":                       {"orders explain o-1", 0},
	"ratchet orders get %s":                           {"orders get o-1", 0},
	"ratchet orders rebuild-lists":                    {"orders rebuild-lists --order-lists", 0},
	"ratchet orders rebuild-timers":                   {"orders rebuild-timers --expire-unpaid 1h", 0},
	"ratchet payments get %s":                         {"payments get o-1", 3},
	"ratchet payments refund %s %s --amount ":         {"payments refund o-1 parcel-1 --amount 100", 3},
	"ratchet shipments book-again %s --reason TEXT":   {"shipments book-again o-1 --reason TEXT", 0},
	"ratchet shipments reports --effect attention":    {"shipments reports --effect attention", 0},
	"ratchet streams resume %s":                       {"streams resume notify", 0},
	"ratchet streams resume %[1]s":                    {"streams resume notify", 0},
	"ratchet tasks list %s":                           {"tasks list o-1", 0},
	"ratchet tasks list ORDER":                        {"tasks list o-1", 0},
	"ratchet tasks list ORDER --overdue":              {"tasks list o-1 --overdue", 0},
	"ratchet trigger EVENT":                           {"trigger cancel", 0},
	"ratchet workflow check --definition FILE":        {"workflow check --definition ../../examples/ticket/workflow.yaml", 1},
	"ratchet init":                                    {"init", 0},
	"ratchet init --keep-machine":                     {"init --keep-machine", 0},
	"ratchet verify":                                  {"verify", 0},
	"ratchet status":                                  {"status", 1},
	"ratchet status --count-stuck":                    {"status --count-stuck", 1},
	"ratchet doctor":                                  {"doctor", 0},
	"ratchet plan":                                    {"plan", 0},
	"ratchet streams status":                          {"streams status", 0},
	"ratchet streams lag":                             {"streams lag", 1},
	"ratchet streams rebuild":                         {"streams rebuild", 0},
	"ratchet workflow check":                          {"workflow check", 0},
	"ratchet workflow show":                           {"workflow show", 0},
	"ratchet workflow migrate":                        {"workflow migrate", 0},
	"ratchet workflow migrate --dry-run":              {"workflow migrate --dry-run", 0},
	"ratchet config show":                             {"config show", 0},
	"ratchet streams replay --from-journal --again":   {"streams replay --from-journal --again --handler notify", 0},
	"ratchet workflow migrate --reason-text {reason}": {"workflow migrate --reason mistake", 0},
	"ratchet keys list":                               {"keys list", 0},
	"ratchet claims unsettled":                        {"claims unsettled", 0},
	"ratchet deploy plan":                             {"deploy plan", 0},
	"ratchet payments report":                         {"payments report", 0},
	"ratchet inventory expire":                        {"inventory expire", 0},

	"ratchet orders apply {order} {event} --request-id {key} --reason-text {reason}":    {"orders apply o-1 cancel --request-id k-1 --reason-text asked", 3},
	"ratchet orders edit change-item {order} {sku}:{quantity}:{price} --event-id {key}": {"orders edit change-item o-3 mug:3:1250 --event-id k-2", 0},
	"ratchet orders edit remove-item {order} {sku} --event-id {key}":                    {"orders edit remove-item o-1 none --event-id k-3", 3},
	"ratchet orders edit add-item {order} {sku}:{quantity}:{price} --event-id {key}":    {"orders edit add-item o-3 pen:1:2 --event-id k-4", 0},
	"ratchet orders edit add-note {order} {text} --event-id {key}":                      {"orders edit add-note o-3 note --event-id k-5", 0},
	"ratchet orders edit set-address {order} {kind} {lines} --event-id {key}":           {"orders edit set-address o-3 shipping street=x --event-id k-6", 0},
	"ratchet orders edit set-own {order} --set {name}={value} --event-id {key}":         {"orders edit set-own o-3 --set shelf=7 --event-id k-8", 0},
	"ratchet orders edit set-own {order} --remove {name} --event-id {key}":              {"orders edit set-own o-3 --remove shelf --event-id k-9", 0},
	"ratchet deliveries resend {order}/{incarnation}/{transition}/{endpoint}":           {"deliveries resend o-1/06h1hnv0clhti/3/shop", 4},
	"ratchet orders scheduled move {order} {scheduled}":                                 {"orders scheduled move o-3 0123456789abcdef0123456789abcdef --to 1h", 4},
	"ratchet orders scheduled withdraw {order} {scheduled}":                             {"orders scheduled withdraw o-3 0123456789abcdef0123456789abcdef", 4},
	"ratchet deadletters redrive {handler} {letter}":                                    {"deadletters redrive notify letter-1", 4},
	"ratchet deadletters discard {handler} {letter}":                                    {"deadletters discard notify letter-1", 4},
	"ratchet tasks complete {order} --state {state}":                                    {"tasks complete o-1 --state SHIPPED", 4},
	"ratchet tasks fail {order} --state {state}":                                        {"tasks fail o-1 --state SHIPPED", 4},
	"ratchet payments refund {payment} {key} --amount {amount}":                         {"payments refund o-1 k-7 --amount 100", 3},
	"ratchet payments void {payment}":                                                   {"payments void o-1", 3},
	"ratchet endpoints create {endpoint} {destination}":                                 {"endpoints create shop-3 https://shop.example/hooks", 0},
	"ratchet endpoints test {endpoint}":                                                 {"endpoints test shop-none", 4},
	"ratchet endpoints disable {endpoint}":                                              {"endpoints disable shop-2", 0},
	"ratchet endpoints enable {endpoint}":                                               {"endpoints enable shop-2", 0},
	"ratchet endpoints rotate-secret {endpoint}":                                        {"endpoints rotate-secret shop-2", 0},
	"ratchet streams pause {handler}":                                                   {"streams pause journal", 0},
	"ratchet streams resume {handler}":                                                  {"streams resume journal", 0},
	"ratchet executions redrive {order}":                                                {"executions redrive o-1", 0},
	"ratchet executions repair {order}":                                                 {"executions repair o-1", 3},
	"ratchet shipments book-again {order} --reason {reason}":                            {"shipments book-again o-none --reason asked", 4},
	"ratchet orders erase {order}":                                                      {"orders erase o-none", 4},

	"ratchet engine shards":                        {"engine shards", 0},
	"ratchet accounts create alice --currency EUR": {"accounts create alice --currency EUR", 0},
	"ratchet inventory set mug 100":                {"inventory set mug-2 100", 0},
	"ratchet actions get SPRING-7":                 {"actions get SPRING-7", 4},
	"ratchet orders apply o-1 ship":                {"orders apply o-2 ship", 3},
	"ratchet payments authorize p-1 --order o-1 --payer alice --payee shop --amount 1250": {"payments authorize p-1 --order o-1 --payer alice --payee shop --amount 1250", 3},

	"ratchet endpoints create shop https://shop.example/hooks": {"endpoints create shop-2 https://shop.example/hooks", 0},
}

// namedCommands are texts that name a command without its arguments, or a command that runs until it is stopped: it
// must exist.
var namedCommands = []string{
	"ratchet actions key", "ratchet backup", "ratchet claims force-release", "ratchet claims run",
	"ratchet deadletters ", "ratchet deliveries resend --endpoint ", "ratchet deliveries resend --since", "ratchet deploy", "ratchet deploy ", "ratchet deploy terraform", "ratchet dev", "ratchet endpoints enable",
	"ratchet executions get", "ratchet executions redrive", "ratchet health", "ratchet health --live",
	"ratchet health --url %[1]s", "ratchet jobs resume", "ratchet keys", "ratchet keys create", "ratchet ledger verify", "ratchet listen", "ratchet orders",
	"ratchet orders apply ", "ratchet orders erase", "ratchet orders explain", "ratchet orders rebuild", "ratchet orders renew", "ratchet reconcile",
	"ratchet restored", "ratchet transfers create --hold", "ratchet worker", "ratchet worker --only %s", "ratchet workflow new",
}

// commandText matches a command in a text that a program prints: in backticks or parentheses, or the whole text.
var commandText = regexp.MustCompile("(?:^|[`(])(ratchet [a-z][^`)\n]*)")

// TestEveryPrintedCommandRuns finds the commands that the code prints, in help, errors, banners, status, explain,
// doctor and advice, and runs them. A new text needs a line in the table.
func TestEveryPrintedCommandRuns(t *testing.T) {
	found := printedTexts(t)

	for text, where := range found {
		if _, runs := printedCommands[text]; !runs && !slices.Contains(namedCommands, text) {
			t.Errorf("%s prints %q: add it to the table of this test, with what a user runs", where, text)
		}
	}

	root := newRoot(server.Parts{})
	for _, text := range namedCommands {
		if found[text] == "" {
			t.Errorf("no code prints %q any more", text)
		}

		words := strings.Fields(text)[1:]
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); i >= 0 {
			words = words[:i]
		}

		if c, rest, err := root.Find(words); err != nil || len(rest) > 0 {
			t.Errorf("%s prints %q: %v, %v", found[text], text, c.CommandPath(), err)
		}
	}

	for _, text := range slices.Sorted(maps.Keys(printedCommands)) {
		if found[text] == "" {
			t.Errorf("no code prints %q any more", text)
		}
	}
}

// TestPrintedCommandsHaveTheirExitStatus runs each command on data of its own.
func TestPrintedCommandsHaveTheirExitStatus(t *testing.T) {
	t.Setenv("RATCHET_DATA", filepath.Join(t.TempDir(), "data"))

	run := func(line string) (int, error) {
		root := newRoot(server.Parts{})
		root.SetArgs(strings.Fields(line))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)

		err := root.ExecuteContext(t.Context())
		if err == nil {
			return 0, nil
		}

		return exit.Report(err), err
	}

	for _, line := range []string{
		"init", "orders create o-1 --item mug:1:100 --no-execution", "orders apply o-1 pay", "orders create o-2 --item mug:1:100 --no-execution", "orders create o-3 --item mug:2:1250 --stock 10", "endpoints create shop log",
	} {
		if status, err := run(line); status != 0 {
			t.Fatalf("%s: %d, %v", line, status, err)
		}
	}

	// What changes the fixture comes last.
	last := func(text string) int {
		if strings.Contains(text, "apply") || strings.Contains(text, "remove") || strings.Contains(text, "delete") || strings.Contains(text, "repair") {
			return 1
		}
		return 0
	}
	texts := slices.SortedStableFunc(maps.Keys(printedCommands), func(a, b string) int {
		if d := last(a) - last(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})

	for _, text := range texts {
		want := printedCommands[text]
		if status, err := run(want.run); status != want.status {
			t.Errorf("%q: `ratchet %s` has exit status %d, want %d: %v", text, want.run, status, want.status, err)
		}
	}
}

// printedTexts returns the commands in the string literals of all code that is no test, each with one file.
func printedTexts(t *testing.T) map[string]string {
	t.Helper()

	found := map[string]string{}

	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name := filepath.ToSlash(path)

		if d.IsDir() {
			skipped := strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || slices.Contains([]string{"testdata", "tests", "examples", "tools", "bench", "scaffold"}, d.Name())
			if skipped {
				return filepath.SkipDir
			}

			return nil
		}

		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}

			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}

			for _, match := range commandText.FindAllStringSubmatch(text, -1) {
				found[match[1]] = name
			}

			return true
		})

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// TestTheBannersOrderCanBePlaced: whichever parts the definition has.
func TestTheBannersOrderCanBePlaced(t *testing.T) {
	for name, content := range map[string]string{
		"all": "", "none": "content: []", "items": "content: [items]", "a total": "content: [total]", "both": "content: [items, total]",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := "name: n\nversion: 1\nplace: open\ninitial: OPEN\n" + content + "\nstates: [{state: OPEN}, {state: SHUT, terminal: true}]\ntransitions: [{event: shut, from: [OPEN], to: SHUT}]\n"

			file := filepath.Join(dir, "workflow.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("RATCHET_DATA", filepath.Join(dir, "data"))
			t.Setenv("RATCHET_ORDER_DEFINITION", file)

			d, err := server.ParseDefinition(file, []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			create, body := start.SampleOrder(d)

			root := newRoot(server.Parts{})
			root.SetArgs(append(strings.Fields(create), "--no-execution"))
			root.SetOut(io.Discard)

			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Errorf("%s: %v", create, err)
			}

			order := transitions.NewOrder{ID: "sample-2"}
			if err := json.Unmarshal([]byte(body), &order); err != nil {
				t.Fatal(err)
			}

			if err := order.ValidateFor(d); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
}
