package program

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// name is the name of the link under which a test's own binary is the command.
const name = "ratchet"

// Main is the TestMain of a package whose own binary is also the command `ratchet`: the processes that the
// tests start then cost no build. command is what a process does that was started with the path of Self.
//
// Parallel tests run at the same time whatever the number of processors is, unless -parallel says
// otherwise: most of their time they wait for processes and for what follows a kill.
func Main(m *testing.M, command func()) {
	if filepath.Base(os.Args[0]) == name {
		command()
		return
	}

	flag.Parse()

	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })

	if !given {
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
	}

	os.Exit(m.Run())
}

// Self returns the path under which the test's own binary is the command. The package must call Main.
func Self(t testing.TB) string {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	bin := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}

	return bin
}
