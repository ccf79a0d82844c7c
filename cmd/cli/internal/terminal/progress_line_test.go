package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgressOnATerminalIsOneLine: it is removed before the command prints and at the end, and
// never put behind an unfinished line of the command.
func TestProgressOnATerminalIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer

		file, err := os.Open(os.DevNull) // without a width, so that no line is cut off
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		p := &Progress{out: &screen, terminal: file, every: progressInterval, begun: time.Now(), shown: time.Now()}
		out := p.Over(&screen)

		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			p.run(done)
		}()

		p.Print("one")
		time.Sleep(2100 * time.Millisecond)
		p.Print("two")
		time.Sleep(200 * time.Millisecond)

		if _, err := out.Write([]byte("found\n")); err != nil {
			t.Fatal(err)
		}

		time.Sleep(2050 * time.Millisecond)

		if _, err := out.Write([]byte("half ")); err != nil {
			t.Fatal(err)
		}

		time.Sleep(5 * time.Second)

		if _, err := out.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		close(done)
		<-ended

		const clear = "\r\x1b[K"
		if have, want := screen.String(), "one (2s)"+clear+"two (2s)"+clear+"found\ntwo (4s)"+clear+"half line\n"; have != want {
			t.Errorf("%q, want %q", have, want)
		}
	})
}

// TestProgressGoesOnBesideAnUnfinishedLineOfAFile: buffered output and backups rarely end with a line
// feed, and a file or a pipe is not on the terminal.
func TestProgressGoesOnBesideAnUnfinishedLineOfAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()

		file, err := os.Create(filepath.Join(t.TempDir(), "codes"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()

		var screen bytes.Buffer
		p := &Progress{out: &screen, terminal: terminal, every: progressInterval, begun: time.Now(), shown: time.Now()}

		if _, err := p.Over(file).Write([]byte("half a li")); err != nil {
			t.Fatal(err)
		}

		p.Print("1 of 9 codes")
		time.Sleep(progressInterval)
		p.show()

		if have, want := screen.String(), "1 of 9 codes (2s)"; have != want {
			t.Errorf("%q, want %q", have, want)
		}
	})
}

// TestNothingIsShownAfterHide: the command hides its progress while the progress makes its text.
func TestNothingIsShownAfterHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		p := &Progress{out: &screen, every: progressInterval, begun: time.Now(), shown: time.Now()}

		p.Follow(func() string {
			p.Hide()
			return "asking what runs"
		})
		time.Sleep(progressInterval)
		p.show()

		if screen.Len() > 0 {
			t.Errorf("%q", screen.String())
		}
	})
}
