package queues

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestALogNamesAMessageWithoutItsContent: in both formats.
func TestALogNamesAMessageWithoutItsContent(t *testing.T) {
	m := Message{ID: "m-1", Queue: "requests", Body: "Erika", Attributes: map[string]Attribute{"name": {Type: "String", Text: "Mustermann"}}}

	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).InfoContext(t.Context(), "message ended", "message", m)
	}

	if text := out.String(); strings.Count(text, "requests/m-1") != 2 || strings.Contains(text, "Erika") || strings.Contains(text, "Mustermann") {
		t.Error(text)
	}
}
