package embedded

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ownOperations returns the targets of all operations that AWS does not have.
func (f *fixture) ownOperations() []string {
	targets := []string{BackupTarget}
	for name := range maps.Keys(f.adminWire().Operations) {
		targets = append(targets, adminService+"."+name)
	}
	slices.Sort(targets)

	return targets
}

// TestOwnOperationsNeedTheToken: every operation that AWS does not have is refused to a caller on a socket who cannot
// read the data directory, and has done nothing.
func TestOwnOperationsNeedTheToken(t *testing.T) {
	f := open(t, withFaultAdmin)
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)

	for _, target := range f.ownOperations() {
		for _, token := range [][]string{nil, {""}, {"wrong"}, {f.keys.token, f.keys.token}} {
			header := http.Header{"X-Amz-Target": {target}, TokenHeader: token}
			if status, answer := postWith(t, server.Client(), server.URL, header, `{"Millis":1}`); status != http.StatusForbidden {
				t.Errorf("%s with the token %q: %d %v", target, token, status, answer)
			}
		}
	}

	status, _ := f.admin(server.Client(), server.URL, "ShiftClock", `{"Millis":1}`)
	if status != http.StatusOK {
		t.Errorf("with the token: %d", status)
	}
}

// TestPagesReachNoOperation: neither a page whose name resolves to this machine nor one that sends across origins.
func TestPagesReachNoOperation(t *testing.T) {
	f := open(t, withFaultAdmin)
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)

	for _, target := range append(f.ownOperations(), "DynamoDB_20120810.ListTables", "AWSStepFunctions.ListStateMachines", "AmazonSQS.ListQueues") {
		for _, page := range []struct {
			name, value string
			status      int
		}{
			{"Host", "evil.example", http.StatusMisdirectedRequest},
			{"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
			{"Origin", "http://evil.example", http.StatusForbidden},
		} {
			header := http.Header{"X-Amz-Target": {target}, TokenHeader: {f.keys.token}, page.name: {page.value}}
			if status, answer := postWith(t, server.Client(), server.URL, header, `{}`); status != page.status {
				t.Errorf("%s with %s %s: %d %v", target, page.name, page.value, status, answer)
			}
		}
	}
}

// TestAnotherDirectoryIsRefused: a request that expects another data directory reaches no operation.
func TestAnotherDirectoryIsRefused(t *testing.T) {
	f, other := open(t), open(t)
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)

	call := func(dir string) int {
		identity, err := Identity(dir)
		if err != nil || identity == "" {
			t.Fatalf("the identity of %s: %q, %v", dir, identity, err)
		}

		status, _ := postWith(t, server.Client(), server.URL, http.Header{"X-Amz-Target": {"DynamoDB_20120810.ListTables"}, IdentityHeader: {identity}}, `{}`)

		return status
	}

	if status := call(f.cfg.Dir); status != http.StatusOK {
		t.Errorf("the engine's own directory: %d", status)
	}

	if status := call(other.cfg.Dir); status != http.StatusMisdirectedRequest {
		t.Errorf("another directory: %d", status)
	}
}

// TestTheIdentityStays: through closing and opening, but not in a backup, whose restore is another store.
func TestTheIdentityStays(t *testing.T) {
	dir := t.TempDir()
	var seen []keys

	var backup bytes.Buffer
	for range 2 {
		e, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}

		backup.Reset()

		if _, err := e.Backup(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}

		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.keys)
	}

	if seen[0].identity != seen[1].identity || seen[0].token == seen[1].token {
		t.Errorf("two openings have %v", seen)
	}

	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(&backup, restored); err != nil {
		t.Fatal(err)
	}

	identity, err := Identity(restored)
	if err != nil || identity == "" || identity == seen[0].identity {
		t.Errorf("the restored directory has the identity %q, %v", identity, err)
	}

	for _, name := range []string{identityFile, tokenFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
