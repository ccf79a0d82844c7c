package embedded

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// countedTransfer moves a cent and counts that in a third item, in one transaction.
func countedTransfer(ctx context.Context, f *fixture, owner string) error {
	return moveCent(ctx, f.db, owner, addToBalance("count-"+owner, "1"))
}

// TestBackupUnderLoad takes backups while writers move money. Each backup holds all writes that
// were acknowledged before it began and no transaction in part, and a restored engine takes writes.
func TestBackupUnderLoad(t *testing.T) {
	const writers = 4

	f := reopen(t, t.TempDir(), func(c *Config) { c.BackupFiles = []string{"keys", "missing"} })
	f.table("accounts", "id", "", "")

	if err := os.WriteFile(filepath.Join(f.cfg.Dir, "keys"), []byte("1:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	load, stop := context.WithCancel(t.Context())

	var (
		acknowledged [writers]atomic.Int64
		started      = make(chan struct{}, writers)
		writing      sync.WaitGroup
	)

	for w := range writers {
		writing.Go(func() {
			for load.Err() == nil {
				if err := countedTransfer(t.Context(), f, fmt.Sprint(w)); err != nil {
					t.Error(err)
					return
				}

				if acknowledged[w].Add(1) == 10 {
					started <- struct{}{}
				}
			}
		})
	}

	for range writers {
		<-started
	}

	var (
		backups [3]bytes.Buffer
		least   [3][writers]int64
	)

	for i := range backups {
		for w := range writers {
			least[i][w] = acknowledged[w].Load()
		}

		if _, err := f.Backup(t.Context(), &backups[i]); err != nil {
			t.Fatal(err)
		}
	}

	stop()
	writing.Wait()

	for i := range backups {
		dir := filepath.Join(t.TempDir(), "restored")
		if _, err := Restore(&backups[i], dir); err != nil {
			t.Fatal(err)
		}

		restored := reopen(t, dir)
		for w := range writers {
			balance := func(account string) int64 {
				return int64(atoi(t, number(restored.get("accounts", item{"id": str(fmt.Sprint(account, w))})["balance"])))
			}

			from, to, count := balance("from-"), balance("to-"), balance("count-")
			if from != -count || to != count || count < least[i][w] {
				t.Errorf("backup %d, writer %d: from %d, to %d, count %d, acknowledged before %d", i, w, from, to, count, least[i][w])
			}
		}

		if err := countedTransfer(t.Context(), restored, "later"); err != nil {
			t.Errorf("backup %d: %v", i, err)
		}

		if keys, err := os.ReadFile(filepath.Join(dir, "keys")); err != nil || string(keys) != "1:secret\n" {
			t.Errorf("backup %d: the further file holds %q, %v", i, keys, err)
		}
	}

	if left, err := filepath.Glob(filepath.Join(f.cfg.Dir, checkpointPrefix+"*")); err != nil || len(left) != 0 {
		t.Errorf("the backups left %v, %v", left, err)
	}
}

// backupOf returns a backup of an engine with one table.
func backupOf(t *testing.T) []byte {
	t.Helper()

	f := reopen(t, t.TempDir())
	f.table("accounts", "id", "", "")

	var out bytes.Buffer
	if _, err := f.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// A backup that was cut off or changed is not restored, and leaves nothing.
func TestDamagedBackup(t *testing.T) {
	whole := backupOf(t)

	if _, err := CheckBackup(bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}

	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1

	for name, damaged := range map[string][]byte{
		"empty":            nil,
		"no archive":       []byte("not a backup"),
		"cut in the half":  whole[:len(whole)/2],
		"without its end":  whole[:len(whole)-1],
		"one bit is wrong": flipped,
	} {
		parent := t.TempDir()

		if _, err := Restore(bytes.NewReader(damaged), filepath.Join(parent, "data")); !errors.Is(err, ErrBackup) {
			t.Errorf("%s: %v", name, err)
		}

		if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
			t.Errorf("%s: restore left %v, %v", name, left, err)
		}
	}
}

// A backup of a later format is refused by its number.
func TestABackupOfAnotherFormatIsRefused(t *testing.T) {
	var later bytes.Buffer

	compressed := gzip.NewWriter(&later)
	archive := tar.NewWriter(compressed)
	text := []byte(`{"format": 2}`)

	err := archive.WriteHeader((&Manifest{}).header(manifestName, int64(len(text))))
	_, writeErr := archive.Write(text)

	if err := errors.Join(err, writeErr, archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}

	if _, err := CheckBackup(&later); !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), "the backup has format 2, and this program reads format 1") {
		t.Error(err)
	}
}

// One wrong bit, wherever it is, is damage of the backup, or stands in the header of the compression,
// where nothing depends on it.
func TestOneWrongBit(t *testing.T) {
	whole := backupOf(t)

	manifest, err := CheckBackup(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}

	step := 1
	if testing.Short() {
		step = 50 // there is one goroutine
	}

	for at := 0; at < len(whole); at += step {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)

		got, err := CheckBackup(bytes.NewReader(flipped))

		switch {
		case err == nil && !reflect.DeepEqual(got, manifest):
			t.Errorf("byte %d: %v, want %v", at, got, manifest)
		case err != nil && !errors.Is(err, ErrBackup):
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// A restore never touches data that is there.
func TestRestoreIntoDataThatIsThere(t *testing.T) {
	backup := backupOf(t)
	dir := t.TempDir()

	if _, err := Restore(bytes.NewReader(backup), dir); err != nil {
		t.Fatalf("an empty directory is refused: %v", err)
	}

	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := Restore(bytes.NewReader(backup), dir); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a directory with data: %v", err)
	}

	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("%d files, before %d, %v", len(after), len(before), err)
	}
}

// atEnd calls act when everything was read.
type atEnd struct {
	r   io.Reader
	act func() error
}

func (a *atEnd) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if errors.Is(err, io.EOF) && a.act != nil {
		if failed := a.act(); failed != nil {
			return n, failed
		}
		a.act = nil
	}

	return n, err
}

// A restore that cannot put the directory into its place says why.
func TestRestoreNamesWhatKeepsItFromItsPlace(t *testing.T) {
	backup := backupOf(t)

	for _, row := range []struct {
		name      string
		before    func(dir string) error // the restore
		meanwhile func(dir string) error
		want      error
	}{
		{name: "a file", before: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, want: ErrNotDirectory},
		{name: "a file that appears meanwhile", meanwhile: func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, want: ErrNotDirectory},
		{name: "a link to nowhere that appears meanwhile", meanwhile: func(dir string) error { return os.Symlink("nowhere", dir) }, want: ErrNotDirectory},
		{name: "data that appears meanwhile", meanwhile: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "other"), 0o700) }, want: ErrNotEmpty},
		{name: "a parent that is removed meanwhile", meanwhile: func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) }, want: fs.ErrNotExist},
		{name: "a name that is too long", before: func(string) error { return nil }, want: syscall.ENAMETOOLONG},
	} {
		dir := filepath.Join(t.TempDir(), "parent", "data")
		if errors.Is(row.want, syscall.ENAMETOOLONG) {
			dir = filepath.Join(filepath.Dir(dir), strings.Repeat("d", 300))
		}

		if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}

		if row.before != nil {
			if err := row.before(dir); err != nil {
				t.Fatal(err)
			}
		}

		in := &atEnd{r: bytes.NewReader(backup)}
		if row.meanwhile != nil {
			in.act = func() error { return row.meanwhile(dir) }
		}

		_, err := Restore(in, dir)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}

		for _, other := range []error{ErrNotEmpty, ErrNotDirectory, ErrBackup} {
			if !errors.Is(row.want, other) && errors.Is(err, other) {
				t.Errorf("%s: %v, which says %v, too", row.name, err, other)
			}
		}
	}
}

// The engine sends a backup to a client. A backup that fails ends the connection.
func TestBackupOverHTTP(t *testing.T) {
	f := reopen(t, t.TempDir())
	f.table("accounts", "id", "", "")
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)

	get := func() (Manifest, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Target", BackupTarget)
		request.Header.Set(TokenHeader, f.keys.token)

		response, err := server.Client().Do(request)
		if err != nil {
			return Manifest{}, err
		}
		defer response.Body.Close()

		return CheckBackup(response.Body)
	}

	if m, err := get(); err != nil || len(m.Files) == 0 || m.Bytes() == 0 {
		t.Errorf("%+v, %v", m, err)
	}

	f.cfg.BackupFiles = []string{"."} // a directory cannot be read as a file

	if _, err := get(); err == nil {
		t.Error("a backup that failed looks complete")
	}
}

// The files of a process that was killed during a backup are deleted when the engine is opened.
func TestOpenRemovesCheckpoints(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, checkpointPrefix+"1", "data")

	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	reopen(t, dir)

	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

func TestExists(t *testing.T) {
	dir := t.TempDir()
	for _, missing := range []string{dir, filepath.Join(dir, "none")} {
		if found, err := Exists(missing); found || err != nil {
			t.Errorf("%s: %v, %v", missing, found, err)
		}
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("Exists made %v, %v", left, err)
	}
	reopen(t, dir)

	if found, err := Exists(dir); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}
