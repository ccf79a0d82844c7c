package console

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	laneHeight = 30.0
	laneNames  = 110.0 // room for the names
	laneLeast  = 16.0  // between two moments that are not the same
	laneMost   = 130.0
	gapFrom    = 10 * time.Minute // a wait of this length is drawn as a gap
)

// lanes draws the moments of an order on one time axis, a lane for each kind. The axis is not linear: a wait takes
// room by the logarithm of its length, and a long one is a gap that says how long it was. So everything can be
// seen at once, whatever took days. first is the number of the first one of them among all moments of the order.
func lanes(all []moments, first int) string {
	if len(all) == 0 {
		return ""
	}

	var kinds []string
	for _, m := range all {
		if !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
	}

	x, gaps, width := axis(all)
	height := laneHeight*float64(len(kinds)) + 26

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="lanes" role="group" aria-label="Time line" width="%.0f" height="%.0f">`,
		laneNames+width, height)

	for i, kind := range kinds {
		y := laneHeight*float64(i) + laneHeight/2
		fmt.Fprintf(&b, `<text class="name" x="0" y="%.0f">%s</text><line class="rule" x1="%.0f" x2="100%%" y1="%.0f" y2="%.0f"/>`, y+4, html.EscapeString(kind), laneNames, y, y)
	}

	// The axis fills the page to the right of the names. A mark at the share x/width of the axis stands at that share of the whole
	// picture, moved to the right by the rest of the share times the width of the names.
	share := func(x float64) string { return fmt.Sprintf("%.2f%%", 100*x/width) }
	beside := func(x float64) string { return fmt.Sprintf(`transform="translate(%.1f)"`, laneNames*(1-x/width)) }

	for _, g := range gaps {
		fmt.Fprintf(&b, `<g %s><line class="gap" x1="%s" x2="%s" y1="0" y2="%.0f"/><text class="tick" x="%s" y="%.0f" text-anchor="middle">%s</text></g>`,
			beside(g.x), share(g.x), share(g.x), height-22, share(g.x), height-6, length(g.took))
	}

	// The clock stands where there is room for it, and once if it is the same.
	free, shown := -1.0, ""
	for i, m := range all {
		if clock := m.At.UTC().Format("15:04:05"); x[i] > free && clock != shown {
			fmt.Fprintf(&b, `<text class="tick" %s x="%s" y="%.0f">%s</text>`, beside(x[i]), share(x[i]), height-6, clock)
			free, shown = x[i]+70, clock
		}
	}

	for i, m := range all {
		y := laneHeight*float64(slices.Index(kinds, m.Kind)) + laneHeight/2
		fmt.Fprintf(&b, `<a href="#m%d" class="%s" data-at="%s"><circle class="dot" %s cx="%s" cy="%.0f" r="5"><title>%s</title></circle></a>`,
			first+i, m.mood(), m.At.iso(), beside(x[i]), share(x[i]), y, html.EscapeString(m.At.short()+" "+m.text()))
	}
	b.WriteString("</svg>")

	return b.String()
}

// mood says how a moment is colored.
func (m moments) mood() string {
	switch {
	case m.Kind == refusalKind, m.Kind == "dead letter", strings.Contains(m.What, "FAILED"), strings.Contains(m.What, "MISSED"):
		return "bad"
	case m.Next != "":
		return "warn"
	}

	return ""
}

// within returns the moments of a range of times, as the address of a page has it, and how many are before them. A bound that is no
// time is none.
func within(all []moments, from, to string) (part []moments, first int) {
	if at, err := time.Parse(time.RFC3339Nano, from); err == nil {
		first = len(all)
		if i := slices.IndexFunc(all, func(m moments) bool { return !m.At.Before(at) }); i >= 0 {
			first = i
		}
	}

	last := len(all)
	if at, err := time.Parse(time.RFC3339Nano, to); err == nil {
		if i := slices.IndexFunc(all, func(m moments) bool { return m.At.After(at) }); i >= 0 {
			last = i
		}
	}

	return all[min(first, last):last], min(first, last)
}

// gap is a long wait on the axis.
type gap struct {
	x    float64
	took time.Duration
}

// axis returns where each moment stands, and the gaps between them, if there is no more room than that.
func axis(all []moments) (x []float64, gaps []gap, width float64) {
	at := 8.0
	x = make([]float64, len(all))

	for i, m := range all {
		if i > 0 {
			took := m.At.Sub(all[i-1].At.Time)
			room := 0.0
			if took > 0 {
				room = min(laneLeast+22*math.Log10(1+took.Seconds()*1000)/2, laneMost)
			}

			if took >= gapFrom {
				gaps = append(gaps, gap{at + room/2, took})
			}
			at += room
		}
		x[i] = at
	}

	return x, gaps, at + 80
}

// length is a duration in its two largest units.
func length(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}

	return fmt.Sprintf("%d min", d/time.Minute)
}
