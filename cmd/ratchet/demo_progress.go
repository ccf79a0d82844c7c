package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"ratchet/internal/scenario"
	"ratchet/transitions"
)

// showProgress shows the progress until done is closed: a bar on a terminal, a line every
// two seconds elsewhere.
func showProgress(w io.Writer, s *scenario.Session, done <-chan struct{}) {
	counts := func() string {
		m := &s.Meter
		refused := m.Verdicts(transitions.WrongState) + m.Verdicts(transitions.Superseded) + m.Verdicts(transitions.NotFound)

		return fmt.Sprintf("applied %d  replayed %d  refused %d", m.Verdicts(transitions.Applied), m.Verdicts(transitions.Replayed), refused)
	}
	total := int64(s.Plan.Orders)
	settled := func() int64 { return int64(s.Meter.Settled()) }

	every := progressInterval
	show := func() { fmt.Fprintf(w, "%d of %d orders  %s\n", settled(), total, counts()) }
	finish := func() {}

	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
		bar := bars.AddBar(total, mpb.PrependDecorators(decor.CountersNoUnit("%d of %d orders ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return counts() })))
		every, show = 100*time.Millisecond, func() { bar.SetCurrent(settled()) }
		finish = func() {
			bar.SetCurrent(total)
			bars.Wait()
		}
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		select {
		case <-done:
			finish()
			return
		case <-ticker.C:
			show()
		}
	}
}
