package system

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

// filesWith returns the names of the files in the engine's directory that hold the person. Tables are
// compressed, but what occurs in a block for the first time is written as it is.
func filesWith(t *testing.T, dir string) (names []string) {
	t.Helper()

	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		var text []byte
		if err == nil && !entry.IsDir() {
			text, err = os.ReadFile(name)
		}

		if bytes.Contains(text, []byte(person)) {
			names = append(names, filepath.Base(name))
		}

		if errors.Is(err, fs.ErrNotExist) { // the store has deleted it meanwhile
			return nil
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return names
}

// onlyLogs reports whether all names are of logs or manifests of the store.
func onlyLogs(names []string) bool {
	for _, name := range names {
		if manifest, _ := filepath.Match("MANIFEST-*", name); filepath.Ext(name) != ".log" && !manifest {
			return false
		}
	}

	return true
}

// trim removes the records of the orders' stream, as the engine does after a day.
func (e *ended) trim() {
	e.t.Helper()

	table, err := e.Backend.DynamoDB.DescribeTable(e.t.Context(), &dynamodb.DescribeTableInput{TableName: &e.Backend.Tables.Orders})
	if err == nil {
		err = e.Backend.Engine.TrimStream(e.t.Context(), *table.Table.LatestStreamArn, embedded.TrimPoint{})
	}

	if err != nil {
		e.t.Fatal(err)
	}
}

// TestNothingOfAPersonIsLeftInTheFiles erases a person, removes the records of the stream, and compacts. After that the tables on disk do not hold the person; after Tidy no file does.
func TestNothingOfAPersonIsLeftInTheFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it rewrites all data several times; short tests leave it out")
	}

	t.Run("in tables on disk", func(t *testing.T) { erasesFromFiles(t, true) })
	t.Run("in the log only", func(t *testing.T) { erasesFromFiles(t, false) })
}

// erasesFromFiles erases a person who is in tables on disk, as after hours of work, or not.
func erasesFromFiles(t *testing.T, inTables bool) {
	dir := t.TempDir()

	synctest.Test(t, func(t *testing.T) {
		e := startIn(t, dir)
		settle()

		if inTables {
			if _, err := e.Backend.Engine.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		if names := filesWith(t, dir); len(names) == 0 || onlyLogs(names) == inTables {
			t.Fatalf("before: the person is in the files %v only", names)
		}

		for range 2 { // the second one erases what a handler has given up on
			if _, err := e.eraser().Erase(t.Context(), "o-1"); err != nil {
				t.Fatal(err)
			}
			settle()
		}

		e.trim()

		done, err := e.Backend.Engine.Compact(t.Context())
		if err != nil || done.Running || done.BytesWritten == 0 {
			t.Errorf("%+v, %v", done, err)
		}

		names := filesWith(t, dir)
		t.Logf("while the engine is open, the person is in %v", names)

		if !onlyLogs(names) {
			t.Errorf("the person is in %v", names)
		}
	})

	// The engine is closed. If its logs were deleted by that, Tidy would be shown to do nothing.
	if len(filesWith(t, dir)) == 0 {
		t.Error("closed, no file has the person")
	}

	if err := embedded.Tidy(embedded.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}

	if names := filesWith(t, dir); len(names) > 0 {
		t.Errorf("after Tidy the person is in %v", names)
	}
}
