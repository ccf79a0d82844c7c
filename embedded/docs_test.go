package embedded

import (
	"flag"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	qtypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var updateDocs = flag.Bool("update", false, "write the operations into docs/reference/engine.md")

// TestTheDocsListEveryOperation compares the lists of docs/reference/engine.md with the operations that
// the services have, with those that the API models have beside them, and with the attributes of queues. So an operation
// or an attribute of a new release of the SDK fails this test.
func TestTheDocsListEveryOperation(t *testing.T) {
	const page = "../docs/reference/engine.md"

	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	lists := map[string][]string{
		"queue attributes":   listed(slices.Values(qtypes.QueueAttributeName("").Values())),
		"message attributes": listed(slices.Values(qtypes.MessageSystemAttributeName("").Values())),
	}
	f := open(t)

	for i, name := range []string{"dynamodb", "streams", "states", "sqs"} {
		a := f.apis()[i]
		lists[name] = listed(maps.Keys(a.service.Operations))
		lists[name+" refused"] = f.refusedOperations(&a)
	}

	text := string(before)
	for name, list := range lists {
		mark := "<!-- " + name + " -->\n"
		from := strings.Index(text, mark)
		if from < 0 {
			t.Fatalf("%s has no list %q", page, mark)
		}
		from += len(mark)
		end := from + strings.Index(text[from:], "<!-- end -->")
		text = text[:from] + filled(list) + text[end:]
	}

	if text == string(before) {
		return
	}

	if !*updateDocs {
		t.Fatalf("%s is stale: go test ./embedded -run TheDocs -args -update", page)
	}

	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listed returns the names in their order, without "All", which stands for the others.
func listed[S ~string](names iter.Seq[S]) []string {
	var list []string
	for name := range names {
		if name != "All" {
			list = append(list, string(name))
		}
	}
	slices.Sort(list)

	return list
}

// refusedOperations returns the operations of the API model that the engine does not have, each refused by its name.
func (f *fixture) refusedOperations(a *api) (names []string) {
	f.t.Helper()

	for method := range a.client.Methods() {
		if _, has := a.service.Operations[method.Name]; has || method.Name == "Options" {
			continue
		}
		names = append(names, method.Name)

		status, answer := f.ask(a, method.Name, "{}")
		if text := fmt.Sprint(answer); status != http.StatusBadRequest || !strings.Contains(text, "UnknownOperationException") || !strings.Contains(text, method.Name) {
			f.t.Errorf("%s: %d %s", method.Name, status, text)
		}
	}

	return names
}

// filled writes names, or "none", in lines of up to 100 characters.
func filled(names []string) string {
	if len(names) == 0 {
		return "none\n"
	}

	var b strings.Builder
	width := 0
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')

			if width+len(name) > 96 {
				b.WriteByte('\n')
				width = 0
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(name)
		width += len(name) + 2
	}

	return b.String() + "\n"
}
