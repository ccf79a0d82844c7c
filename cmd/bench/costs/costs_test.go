package costs

import (
	"flag"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write what is measured into docs/reference/costs.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = "../../../docs/reference/costs.md"

// block returns the place of the measured table of that name in the page.
func block(t *testing.T, text, name string) (from, to int) {
	t.Helper()

	mark := "<!-- measured: " + name + " -->\n"
	from = strings.Index(text, mark)
	to = strings.Index(text[max(from, 0):], "<!-- end -->")
	if from < 0 || to < 0 {
		t.Fatalf("%s has no %q", page, mark)
	}

	return from + len(mark), from + to
}

// TestThePageOfCostsIsTrue measures every table of the page again. -update writes the page.
func TestThePageOfCostsIsTrue(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	text := string(raw)
	for _, p := range Parts() {
		if p.Name == "idle" && !*update {
			continue // it takes half a minute
		}

		table, err := p.Measure(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}

		from, to := block(t, text, p.Name)
		switch {
		case *update:
			text = text[:from] + table.String() + text[to:]
		case p.Exact:
			if diff := cmp.Diff(text[from:to], table.String()); diff != "" {
				t.Errorf("%s (-page +measured):\n%s", p.Name, diff)
			}
		default:
			near(t, p.Name, text[from:to], table)
		}
	}

	if *update {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// near compares the sum of the write units, within a quarter. It depends on the speed of the
// machine: a slow one extends leases and meets more live claims.
func near(t *testing.T, name, documented string, measured Table) {
	t.Helper()

	lines := strings.Split(strings.TrimSpace(documented), "\n")
	cells := strings.Split(lines[len(lines)-1], "|")
	want, err := strconv.ParseFloat(strings.TrimSpace(cells[len(cells)-2]), 64)
	if err != nil {
		t.Fatalf("%s: the last line is %q", name, lines[len(lines)-1])
	}

	last := measured.Rows[len(measured.Rows)-1]

	got, err := strconv.ParseFloat(last[len(last)-1], 64)
	if err != nil || math.Abs(got-want) > want/4 {
		t.Errorf("%s: %v write units in all, the page says %v; %v", name, got, want, err)
	}
}

// TestATransitionOfAnOrderUpToOneKilobyteCostsOneWriteUnitAndNoRead holds for every
// column of the table of sizes, and for the average that the benchmark reports.
func TestATransitionOfAnOrderUpToOneKilobyteCostsOneWriteUnitAndNoRead(t *testing.T) {
	average, err := PerTransition(t.Context())
	if err != nil || average != (Units{Read: 0, Write: 1}) {
		t.Errorf("on average %+v, %v", average, err)
	}

	table, err := measureSizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range table.Rows {
		for i, cell := range row[1:] {
			bytes, units, _ := strings.Cut(cell, " B, ")
			if size, _ := strconv.Atoi(bytes); size <= 1024 && !strings.HasPrefix(units, "1") {
				t.Errorf("transition %s of %s: %s", row[0], table.Head[i+1], cell)
			}
		}
	}
}
