package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ratchet/internal/plural"
)

// progressInterval is the time before the first line of progress, and between two lines.
const progressInterval = 2 * time.Second

// redrawInterval is the time between two states of the line on a terminal.
const redrawInterval = 200 * time.Millisecond

// Progress shows on standard error how far a long command is, and for how many seconds it has run:
// on a terminal in one line that is rewritten and removed at the end, elsewhere as a line every two
// seconds. Commands that end within two seconds show nothing, and --quiet shows nothing.
//
// A nil progress shows nothing.
type Progress struct {
	out      io.Writer
	terminal *os.File      // out, if it is a terminal
	every    time.Duration // see progressInterval

	mu    sync.Mutex
	text  func() string
	begun time.Time
	shown time.Time // when it was last shown; at first, when the command began
	drawn bool      // whether the terminal's line is the progress
	open  bool      // whether the terminal's line is unfinished output of the command
}

// StartProgress shows the progress of a command until stop is called. It begins with the text; every replaces
// progressInterval, if it is not 0.
func StartProgress(c *cobra.Command, text string, every time.Duration) (p *Progress, stop func()) {
	now := time.Now()
	p = &Progress{
		out:   c.ErrOrStderr(),
		every: cmp.Or(every, progressInterval),
		begun: now,
		shown: now,
	}

	restore := func() {}
	if f, ok := p.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = f

		out, errs := c.OutOrStdout(), c.ErrOrStderr()
		// Output of the command must remove the line of the progress first.
		c.SetOut(p.Over(out))
		c.SetErr(p.Over(errs))
		restore = func() {
			c.SetOut(out)
			c.SetErr(errs)
		}
	}

	p.Print("%s", text)

	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.run(done)
	}()

	return p, func() {
		close(done)
		// Wait for the goroutine: nothing may be printed after the command's last line.
		<-ended
		restore()
	}
}

// run shows the progress again and again, also while the command counts nothing, until done is closed.
func (p *Progress) run(done <-chan struct{}) {
	// A log gets a line per interval. A terminal is redrawn more often, so that the seconds run.
	interval := max(p.every, redrawInterval)
	if p.terminal != nil {
		interval = redrawInterval
	}

	ticker := time.NewTicker(interval)
	defer ticker.Stop()

	for {
		select {
		case <-done:
			p.mu.Lock()
			p.remove()
			p.mu.Unlock()

			return
		case <-ticker.C:
			p.show()
		}
	}
}

// Print sets the progress to a text.
func (p *Progress) Print(format string, args ...any) {
	p.Follow(func() string { return fmt.Sprintf(format, args...) })
}

// Orders returns a function that sets the progress to a number of orders. The verb is a participle
// such as "counted".
func (p *Progress) Orders(verb string) func(n int) {
	return func(n int) { p.Print("%s %s", plural.Of(n, "order"), verb) }
}

// Hide removes the progress until the next print.
func (p *Progress) Hide() { p.Follow(nil) }

// Follow sets a function that the progress calls for its text whenever it is shown.
func (p *Progress) Follow(text func() string) {
	if p == nil {
		return
	}

	p.mu.Lock()
	p.text = text

	if text == nil {
		p.remove()
	}
	p.mu.Unlock()

	// A line in a log is printed as soon as it is due. A terminal is redrawn by its ticker alone.
	if p.terminal == nil {
		p.show()
	}
}

// show prints the progress if it is due. It calls the function for the text without the lock,
// because that function may print meanwhile.
func (p *Progress) show() {
	p.mu.Lock()
	text, now := p.text, time.Now()

	wait := p.every
	// The first line waits for two seconds; once it stands, it is redrawn.
	if p.drawn {
		wait = redrawInterval
	}

	// The tolerance is for a tick that comes a little early.
	due := text != nil && !p.open && now.Sub(p.shown) >= wait-wait/20
	if due {
		// Set before the lock is released: two goroutines must not print the same line.
		p.shown = now
	}
	p.mu.Unlock()

	if !due {
		return
	}
	line := fmt.Sprintf("%s (%s)", text(), now.Sub(p.begun).Round(time.Second))

	p.mu.Lock()
	defer p.mu.Unlock()

	switch {
	case p.text == nil: // hidden while the text was made
	case p.terminal == nil:
		fmt.Fprintln(p.out, line)
	case !p.open:
		p.remove()
		fmt.Fprint(p.out, fitting(line, p.terminal))
		p.drawn = true
	}
}

// fitting cuts off the end of a line that would wrap on the terminal: a wrapped line cannot be
// rewritten.
func fitting(line string, terminal *os.File) string {
	width, _, err := term.GetSize(int(terminal.Fd()))
	if err != nil {
		return line
	}

	runes := []rune(line)

	// One column less: a cursor behind the last column wraps on some terminals.
	return string(runes[:min(len(runes), max(width-1, 0))])
}

// remove clears the terminal's line if it is the progress. The caller holds p.mu.
func (p *Progress) remove() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// Over returns a writer for the command's output, which removes the progress from the terminal
// first.
func (p *Progress) Over(w io.Writer) io.Writer {
	if p == nil || p.terminal == nil {
		return w
	}

	f, isFile := w.(*os.File)

	// A file shows nothing on the terminal, so its lines do not interrupt the progress.
	return &overProgress{p: p, w: w, elsewhere: isFile && !term.IsTerminal(int(f.Fd()))}
}

type overProgress struct {
	p *Progress
	w io.Writer
	// elsewhere is set if the output does not reach the terminal, such as a file.
	elsewhere bool
}

func (o *overProgress) Write(text []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()

	o.p.remove()

	if len(text) > 0 && !o.elsewhere {
		// The progress must not continue a line that the command has begun.
		o.p.open = text[len(text)-1] != '\n'
	}

	return o.w.Write(text)
}

// Reading returns a reader of r that sets the progress to the bytes that were read. The verb is a
// participle such as "checked"; size is 0 if it is not known.
func (p *Progress) Reading(r io.Reader, verb string, size int64) io.Reader {
	return io.TeeReader(r, &byteProgress{p: p, verb: verb, size: size})
}

// Writing returns a writer to w that sets the progress to the bytes that were written.
func (p *Progress) Writing(w io.Writer, verb string) io.Writer {
	return io.MultiWriter(w, &byteProgress{p: p, verb: verb})
}

// byteProgress counts the bytes that are written to it.
type byteProgress struct {
	p           *Progress
	verb        string
	count, size int64
}

func (b *byteProgress) Write(data []byte) (int, error) {
	b.count += int64(len(data))

	of := ""
	if b.size > 0 {
		of = " of " + megabytes(b.size)
	}
	b.p.Print("%s%s %s", megabytes(b.count), of, b.verb)

	return len(data), nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
