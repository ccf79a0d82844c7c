package orders

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/transitions"
)

// TestRefusalsAreReadFromTheLog parses a log in the format of package transitions.
func TestRefusalsAreReadFromTheLog(t *testing.T) {
	var text, lines bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug})} {
		log := slog.New(handler)
		say := func(order, event string, id int64, request string, v transitions.Verdict) {
			log.Debug("transition", "order", order, "event", event, "transition", id, "request", request, "verdict", v)
		}
		say("o-1", "pay", 2, "", transitions.Applied)
		say("o-1", "pay", 0, `web hook "7" = x`, transitions.WrongState)
		say("o-10", "pay", 2, "", transitions.WrongState)
		say("o-1", "cancel", 2, "", transitions.Conflict)
		log.Info("something else about o-1", "order", "o-1", "verdict", "Conflict")
	}

	want := []refusedRequest{{Event: "pay", Request: `web hook "7" = x`, Verdict: transitions.WrongState}, {Event: "cancel", ID: 2, Verdict: transitions.Conflict}}
	for name, log := range map[string]string{"text": text.String(), "JSON": lines.String()} {
		got, err := refusals(strings.NewReader("not a line of ours\n"+log), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		for i := range got {
			if time.Since(got[i].At) > time.Minute {
				t.Errorf("%s: at %s", name, got[i].At)
			}
			got[i].At = time.Time{}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzRefusals(f *testing.F) {
	f.Add(`time=2026-03-01T12:00:00Z level=DEBUG msg=transition order=o-1 event=pay transition=2 request="a b" verdict=WrongState`)
	f.Add(`{"time":"2026-03-01T12:00:00Z","msg":"transition","order":"o-1","event":"pay","transition":2,"verdict":"Superseded"}`)
	f.Add(`a="`)
	f.Fuzz(func(t *testing.T, line string) {
		found, err := refusals(strings.NewReader(line), "o-1")
		if err == nil && len(found) > 0 && !strings.Contains(line, "o-1") {
			t.Errorf("%q holds %+v", line, found)
		}
	})
}
