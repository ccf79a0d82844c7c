package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.text.String()
}

// TestLogsNameOrdersAndHoldNoPersonalData reads all that a system logs at level debug about an
// order with an address.
func TestLogsNameOrdersAndHoldNoPersonalData(t *testing.T) {
	log := &lockedBuffer{}
	env := ratchettest.Start(t, ratchettest.Config{
		Server: server.Config{OrderLists: true},
		Log:    slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})

	order := ratchettest.NewOrder("o-1", "mug")
	order.Shipping = transitions.Address{"name": "Erika Mustermann", "street": "Heidestrasse 17"}
	order.Metadata = transitions.Metadata{"note": "Geburtstag"}

	env.SetStock("mug", 1)
	env.Execute(order)
	env.WantOrder("o-1", workflow.Delivered, 4)
	env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")

	// The values are the attributes of lines about the order.
	wanted := map[string]string{"order": "o-1", "event": "deliver", "verdict": "Applied", "transition": "2", "activity": "pay", "handler": "shipping", "outcome": "succeeded"}

	env.Wait("lines that have the attributes", func() (bool, string, error) { // some lines follow the event that they report
		lacks := missing(t, log.String(), wanted)
		return len(lacks) == 0, fmt.Sprintf("no line has %v in:\n%.4000s", lacks, log), nil
	})

	for _, personal := range []string{"Mustermann", "Heidestrasse", "Geburtstag", `"taskToken"`} {
		if strings.Contains(log.String(), personal) {
			t.Errorf("the log holds %q", personal)
		}
	}
}

// missing returns the attributes that no line has. Attributes may be in groups.
func missing(t *testing.T, log string, wanted map[string]string) map[string]string {
	t.Helper()

	found := map[string]bool{}

	for line := range strings.Lines(log) {
		if !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}

		var attributes map[string]any
		if err := json.Unmarshal([]byte(line), &attributes); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		note(attributes, wanted, found)
	}

	lacks := map[string]string{}

	for name, value := range wanted {
		if !found[name] {
			lacks[name] = value
		}
	}

	return lacks
}

func note(attributes map[string]any, wanted map[string]string, found map[string]bool) {
	for name, value := range attributes {
		if group, is := value.(map[string]any); is {
			note(group, wanted, found)
		}

		text, _ := json.Marshal(value)
		if want, is := wanted[name]; is && strings.Trim(string(text), `"`) == want {
			found[name] = true
		}
	}
}
