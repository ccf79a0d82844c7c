package layout

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// instances is what the compiler makes of generic types within large types of other modules, and the only package that may
// have it. A struct with such a type, in a package that many others import, makes each of them instantiate these types: all
// object code of this module was twice as large so, and was compiled and linked with each test.
var instances = map[string]string{
	"pebble/v2/internal/manifest.(*node[": "embedded/internal/store",
	"otel/sdk/metric.(*inserter[":         "operate/telemetry",
}

// TestPackagesInstantiateNothingOfPebble: and nothing of OpenTelemetry, but for the package that uses them.
func TestPackagesInstantiateNothingOfPebble(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-json=ImportPath,Export", "./...")
	list.Dir = root

	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}

	found := map[string][]string{}
	for from := json.NewDecoder(bytes.NewReader(out)); from.More(); {
		var pkg struct{ ImportPath, Export string }
		if err := from.Decode(&pkg); err != nil {
			t.Fatal(err)
		}

		if pkg.Export == "" {
			continue // it has only tests
		}

		object, err := os.ReadFile(pkg.Export)
		if err != nil {
			t.Fatal(err)
		}

		for symbol := range instances {
			if bytes.Contains(object, []byte(symbol)) {
				found[symbol] = append(found[symbol], pkg.ImportPath)
			}
		}
	}

	for symbol, only := range instances {
		if !slices.Equal(found[symbol], []string{modulePath(t) + "/" + only}) {
			t.Errorf("%s…: in %v, want it in %s alone", symbol, found[symbol], only)
		}
	}
}
