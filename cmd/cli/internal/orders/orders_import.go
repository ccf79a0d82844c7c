package orders

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/orderfile"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

const importHelp = `Brings orders under way here, each in its present state, with the transition "imported". Nothing follows from it:
nothing is booked, charged, reserved, refunded or notified for an imported order. Journal and lists follow.

FILE is JSON Lines, or CSV with a header if its name ends in .csv; - is standard input:
  {"orderId":"o-1","state":"SHIPPED","total":{"amount":1250,"currency":"EUR"},"customer":"c-77"}
A line may also have items, reference, shippingAddress, billingAddress, metadata, and the times createdAt and
enteredAt (of the state). The columns of CSV have the same names, with amount and currency for the total, items as
SKU:QUANTITY:PRICE with spaces between several, and shippingAddress.NAME, billingAddress.NAME and metadata.NAME;
--column orderId=number says that the column number holds the id. Other columns are ignored. --state sent=SHIPPED
says what a word of the file means.

--table takes the orders from their own table in place of a file: every item that has a state of the definition and
no transition yet. The item keeps its state and its attributes. See the settings orders-... for the names in it.

Each order is one write on the condition that the table does not have it, or, for an item that has only a state, that
the state is still the one that was read. So the command may be stopped and repeated: an order that is here with the
same content and state is counted as such, and one that needs one.
Exit also starts the execution that brings an order on from its state, of each order that needs one.`

func ordersImport(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "import [FILE]", Short: "Bring orders under way here, in their present state", Args: cobra.MaximumNArgs(1), Long: importHelp,
		Example: "  ratchet orders import orders.jsonl --dry-run\n" +
			"  ratchet orders import orders.csv --separator ';' --column orderId=number --column state=status --state sent=SHIPPED\n" +
			"  ratchet orders import --table --dry-run --json",
	}
	table := c.Flags().Bool("table", false, "take the orders from their own table: the items that have no transition yet")
	format := c.Flags().String("format", "", "json or csv; default: by the file's ending")
	separator := c.Flags().String("separator", ",", "of the columns of CSV")
	columns := c.Flags().StringToString("column", nil, "FIELD=COLUMN: the name of a column of CSV")
	states := c.Flags().StringToString("state", nil, "WORD=STATE: the state that a word of the file means")
	dryRun := c.Flags().Bool("dry-run", false, "only say what would be imported")
	parallel := c.Flags().Int("parallel", 16, "orders that are imported at the same time, 1 to 64")
	start := c.Flags().Bool("start", false, "start the execution of each order that needs one")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *table == (len(args) > 0):
			return exit.UsageError("import needs a FILE, or --table")
		case *parallel < 1 || *parallel > 64:
			return exit.UsageError("parallel %d: 1 to 64", *parallel)
		case *table && (*format != "" || len(*columns) > 0 || len(*states) > 0):
			return exit.UsageError("--format, --column and --state are about a file: not with --table")
		}

		f, err := formatOf(args, *format, *separator, *columns, *states)
		if err != nil {
			return err
		}

		// The file is opened before the backend: a file that does not exist needs no connection.
		var input io.ReadCloser
		if !*table {
			if input, err = arguments.OpenInput(args[0]); err != nil {
				return exit.With(exit.Usage, err)
			}
			defer input.Close()
		}

		with := s.With
		if *start {
			with = s.WithWorkflow
		}

		return with(c.Context(), func(b *server.Backend) error {
			run := newImportRun(c, s, b, *dryRun, *start)

			var err error
			if *table {
				err = run.table(c.Context(), *parallel)
			} else {
				err = run.file(c.Context(), input, f, *parallel)
			}

			return run.finish(err)
		})
	}

	return s.Long(c, "importing orders")
}

// formatOf returns how to read the file.
func formatOf(args []string, format, separator string, columns, states map[string]string) (orderfile.Format, error) {
	f := orderfile.Format{Columns: columns, States: map[string]workflow.State{}}
	for word, state := range states {
		f.States[word] = workflow.State(state)
	}

	switch {
	case format == "csv", format == "" && len(args) > 0 && strings.EqualFold(filepath.Ext(args[0]), ".csv"):
		f.CSV = true
	case format != "" && format != "json":
		return f, exit.UsageError("format %q: json or csv", format)
	case len(columns) > 0:
		return f, exit.UsageError("--column is about CSV: set --format csv")
	}

	if separator == `\t` {
		separator = "\t"
	}

	r, size := utf8.DecodeRuneInString(separator)
	if size != len(separator) || size == 0 || strings.ContainsRune("\"\r\n", r) {
		return f, exit.UsageError("separator %q: one character, no quote", separator)
	}
	f.Separator = r

	return f, nil
}

// fromLine is one order on its way from a file.
type fromLine struct {
	number int
	order  transitions.Import
}

// file imports the orders of a file. It keeps as many of them in memory as are imported at the same time.
func (r *importRun) file(ctx context.Context, input io.Reader, f orderfile.Format, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	lines := make(chan fromLine)

	for range parallel {
		group.Go(func() error {
			for l := range lines {
				if err := r.importLine(ctx, l); err != nil {
					return err
				}
			}

			return nil
		})
	}

	group.Go(func() error {
		defer close(lines)

		known := linesOfIDs{seed: maphash.MakeSeed(), lines: map[uint64]int{}}

		err := orderfile.Read(input, f, func(l orderfile.Line) error {
			if l.Err != nil {
				return r.badLine(l.Number, l.Err)
			}

			if earlier := known.line(l.Order.ID, l.Number); earlier > 0 {
				return r.refused(l.Number, l.Order.ID, fmt.Sprintf("the order stands on line %d, too", earlier))
			}

			select {
			case lines <- fromLine{l.Number, l.Order}:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		if errors.Is(err, orderfile.ErrFile) {
			return exit.With(exit.Usage, err)
		}

		return err
	})

	return group.Wait()
}

// mostRepeats bounds the ids that are kept to find those that a file repeats, at about 40 bytes each. Beyond them the
// condition of the write finds a repeat whose content differs.
const mostRepeats = 1 << 20

// linesOfIDs knows the lines of the ids by their hashes.
type linesOfIDs struct {
	seed  maphash.Seed
	lines map[uint64]int
}

// line notes the line of an order. It returns an earlier line with the same order, 0 for none.
func (r *linesOfIDs) line(id transitions.OrderID, number int) int {
	hash := maphash.String(r.seed, string(id))

	earlier := r.lines[hash]
	if earlier == 0 && len(r.lines) < mostRepeats {
		r.lines[hash] = number
	}

	return earlier
}

func (r *importRun) importLine(ctx context.Context, l fromLine) error {
	l.order.Cause = arguments.CliCause()

	judge := r.backend.Orders.Import
	if r.DryRun {
		judge = r.backend.Orders.PreviewImport
	}

	result, err := judge(ctx, l.order)

	return r.answered(ctx, l.number, l.order.ID, l.order.State, result, err)
}

// table brings in the items of the orders' table that have no transition yet.
func (r *importRun) table(ctx context.Context, parallel int) error {
	filter := "attribute_not_exists(transitionId)"

	sweep := transitions.Sweep{Segments: parallel, Progress: r.scanned}

	return r.backend.Orders.Scan(ctx, sweep, dynamodb.ScanInput{FilterExpression: &filter}, r.adopt)
}
