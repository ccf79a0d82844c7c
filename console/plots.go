package console

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

const (
	plotWidth  = 320.0
	plotHeight = 96.0
	plotFoot   = 16.0 // room for the clock
	plotHead   = 16.0 // room for the scale
)

// series is a line of a plot.
type series struct {
	name, class string
	values      []int64
}

// plot is a figure over the last hour: one value a minute.
type plot struct {
	title, unit string
	lines       []series
}

// largest returns the largest value, at least 1.
func (p plot) largest() int64 {
	largest := int64(1)
	for _, l := range p.lines {
		for _, n := range l.values {
			largest = max(largest, n)
		}
	}

	return largest
}

// words say what the plot shows, for those who do not see it.
func (p plot) words() string {
	var said []string
	for _, l := range p.lines {
		if n := len(l.values); n > 0 {
			said = append(said, fmt.Sprintf("%s %s in the last full minute, at most %s", l.name, thousands(l.values[n-1]), thousands(slices.Max(l.values))))
		}
	}

	return p.title + ": " + strings.Join(said, "; ") + " " + p.unit
}

// svg draws the plot of the minutes that end at the times. A minute that is missing is a gap.
func (p plot) svg(ends []time.Time) string {
	if len(ends) == 0 {
		return ""
	}

	var (
		b       strings.Builder
		last    = ends[len(ends)-1]
		largest = float64(p.largest())
		room    = plotHeight - plotFoot - plotHead
	)
	x := func(at time.Time) float64 { return plotWidth * (1 - last.Sub(at).Minutes()/60) }
	y := func(n int64) float64 { return plotHead + room*(1-float64(n)/largest) }

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="%s" viewBox="0 0 %.0f %.0f">`, html.EscapeString(p.words()), plotWidth, plotHeight)
	fmt.Fprintf(&b, `<path class="rule" d="M0 %.1fH%.0fM0 %.1fH%.0f"/>`, plotHead, plotWidth, plotHead+room, plotWidth)
	fmt.Fprintf(&b, `<text class="tick" x="0" y="%.0f">%s %s</text>`, plotHead-4, thousands(p.largest()), html.EscapeString(p.unit))
	fmt.Fprintf(&b, `<text class="tick" x="0" y="%.0f">%s</text>`, plotHeight-3, last.Add(-time.Hour).UTC().Format("15:04"))
	fmt.Fprintf(&b, `<text class="tick" x="%.0f" y="%.0f" text-anchor="end">%s</text>`, plotWidth, plotHeight-3, last.UTC().Format("15:04"))

	for _, l := range p.lines {
		var way strings.Builder

		for i, n := range l.values {
			command := "L"
			if i == 0 || ends[i].Sub(ends[i-1]) > time.Minute {
				command = "M"
			}
			fmt.Fprintf(&way, "%s%.1f %.1f", command, x(ends[i]), y(n))

			if command == "M" { // a minute between two gaps is a point
				fmt.Fprintf(&way, "h0.1")
			}
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, html.EscapeString(strings.TrimSpace("line "+l.class)), way.String())
	}
	b.WriteString("</svg>")

	return b.String()
}
