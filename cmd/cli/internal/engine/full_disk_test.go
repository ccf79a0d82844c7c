package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/embedded"
	"ratchet/server"
)

// TestCopiesThatHaveNoRoomAreNoMisuse: the error is the engine's, and the exit status is 1.
func TestCopiesThatHaveNoRoomAreNoMisuse(t *testing.T) {
	answers := map[string]string{
		embedded.CompactTarget: `{"__type":"ratchet.engine#InsufficientStorage","message":"compact the store: the disk is full: data has 1 MB"}`,
		embedded.BackupTarget:  "backup: checkpoint into data: the disk is full: data has 1 MB\n",
	}

	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, answers[r.Header.Get("X-Amz-Target")], http.StatusInsufficientStorage)
	}))
	defer engine.Close()

	b := &server.Backend{Config: server.Config{EndpointURL: engine.URL}}

	_, err := askCompaction(t.Context(), b, embedded.CompactTarget)
	if err == nil || exit.StatusOf(err) != exit.Failure || err.Error() != "compact the store: the disk is full: data has 1 MB" {
		t.Error(err)
	}

	err = fetchBackup(t.Context(), b, io.Discard)
	if err == nil || exit.StatusOf(err) != exit.Failure || err.Error() != "backup: checkpoint into data: the disk is full: data has 1 MB" {
		t.Error(err)
	}
}
