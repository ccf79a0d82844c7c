package program

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Main is the TestMain of a package whose own binary is also a program, so that the processes that the tests
// start cost no build. programs are the main functions by their names; see Self.
//
// Parallel tests run at the same time whatever the number of processors is, unless -parallel says
// otherwise: most of their time they wait for processes and for the aftermath of a kill.
func Main(m *testing.M, programs map[string]func()) {
	if run, is := programs[filepath.Base(os.Args[0])]; is {
		run()
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

// Self returns a path under which the test's own binary is the program with the name. The package's TestMain
// must be Main.
func Self(t testing.TB, name string) string {
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
