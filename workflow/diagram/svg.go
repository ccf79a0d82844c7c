package diagram

import (
	"fmt"
	"html"
	"strings"

	"ratchet/workflow"
)

// Measures of a drawing in pixels. Letters are monospaced, so that widths are known
// without fonts.
const (
	letterWidth      = 7.3 // at 12 px
	labelLetterWidth = 6.6 // at 11 px
	labelHeight      = 13.0
	boxHeight        = 44.0
	bendHeight       = 30.0
	rowGap           = 40.0
	layerGap         = 60.0 // beside the labels
	margin           = 24.0
)

const (
	svgOpen = `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" ` +
		`font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" role="img">` + "\n"
	svgArrowHead = `<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" ` +
		`orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>` + "\n"
	svgStart = `<circle cx="%.1f" cy="%.1f" r="5" fill="#1f2328"/>` +
		`<path d="M%.1f %.1fH%.1f" stroke="#57606a" stroke-width="1.2" marker-end="url(#head)"/>` + "\n"
	// The white rim keeps a label readable where lines cross it.
	svgLabel = `<text x="%.1f" y="%.1f" font-size="11" text-anchor="middle" fill="#0969da" ` +
		`stroke="#ffffff" stroke-width="4" paint-order="stroke">%s</text>` + "\n"
)

// svg draws the definition from left to right: states as boxes, terminal states with a double border,
// moves as curves with their events in the middle.
func svg(d *workflow.Definition, counts map[workflow.State]int) string {
	l := newLayout(d)

	var b strings.Builder
	fmt.Fprintf(&b, svgOpen, l.width, l.height, l.width, l.height)
	fmt.Fprintf(&b, "<title>%s, version %d</title>\n", html.EscapeString(d.Name()), d.Version())
	b.WriteString(svgArrowHead)
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")

	for _, r := range l.routes {
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#57606a" stroke-width="1.2" marker-end="url(#head)"/>`+"\n", r.path)
	}

	for i, s := range d.States() {
		writeBox(&b, l.boxes[i], s, counts)
	}

	initial := l.boxes[l.index[d.Initial()]]
	fmt.Fprintf(&b, svgStart, margin/2, initial.y, margin/2, initial.y, initial.x-initial.width/2)

	// Labels come last, so that no line covers them.
	for _, r := range l.routes {
		writeLabels(&b, r)
	}

	b.WriteString("</svg>\n")

	return b.String()
}

func writeBox(b *strings.Builder, p *point, s workflow.StateSpec, counts map[workflow.State]int) {
	x, y := p.x-p.width/2, p.y-boxHeight/2

	fill := "#f6f8fa"
	if counts[s.State] > 0 {
		fill = "#dafbe1"
	}

	b.WriteString("<g>")

	if s.Doc != "" {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(s.Doc))
	}

	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8" fill="%s" stroke="#1f2328"/>`,
		x, y, p.width, boxHeight, fill)

	if s.Terminal {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="none" stroke="#1f2328"/>`,
			x+3, y+3, p.width-6, boxHeight-6)
	}

	// With counts, the name moves up to make room for the second line.
	base := p.y + 4
	if counts != nil {
		base = p.y - 3
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-weight="bold" fill="#1a7f37">%s</text>`,
			p.x, p.y+13, thousands(counts[s.State]))
	}

	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#1f2328">%s</text></g>`+"\n",
		p.x, base, html.EscapeString(string(s.State)))
}

// writeLabels writes one label below the other, centered on the route's label position.
func writeLabels(b *strings.Builder, r route) {
	first := r.label[1] - labelHeight/2*float64(len(r.labels)-1) + 4
	for i, text := range r.labels {
		fmt.Fprintf(b, svgLabel, r.label[0], first+labelHeight*float64(i), html.EscapeString(text))
	}
}
