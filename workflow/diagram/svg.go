package diagram

import (
	"cmp"
	"fmt"
	"html"
	"strings"
)

// Paint says how a picture is painted. Classes are those of CSS, several with blanks between them.
type Paint struct {
	// Standalone adds a style, light or dark as the reader has it. Without it the page has the style.
	Standalone bool
	// Nodes and Edges have the classes of nodes and edges by their ids. A line has those of all its edges.
	Nodes, Edges map[string]string
	// Notes have a second line for the text of nodes, by their ids.
	Notes map[string]string
	// Docs are shown when the texts of edges or nodes are pointed at, by their ids, in place of their own.
	Docs map[string]string
	// Marks stand beside the texts of edges, by their ids: the numbers of a way. There is room for three letters.
	Marks map[string]string
	// Numbers stand at the lower edges of nodes, by their ids. There is room for three letters.
	Numbers map[string]string
}

// style paints a picture that stands alone.
const style = `<style>
.diagram{background:#fff;font:12px ui-monospace,Menlo,Consolas,monospace}
.diagram path{fill:none;stroke:#6e7781;stroke-width:1.2}
.diagram .head{fill:#6e7781;stroke:none}
.diagram rect{fill:#f6f8fa;stroke:#424a53}
.diagram .inner{fill:none}
.diagram .start circle{fill:#424a53}
.diagram text{fill:#1f2328}
.diagram .label,.diagram .by{fill:#0550ae;font-size:11px}
.diagram .note{fill:#1a7f37;font-weight:bold}
.diagram .some rect{fill:#dafbe1}
@media(prefers-color-scheme:dark){
.diagram{background:#0d1117}
.diagram path{stroke:#8b949e}
.diagram .head{fill:#8b949e}
.diagram rect{fill:#161b22;stroke:#8b949e}
.diagram .start circle{fill:#8b949e}
.diagram text{fill:#e6edf3}
.diagram .label,.diagram .by{fill:#79c0ff}
.diagram .note{fill:#3fb950}
.diagram .some rect{fill:#12261e}
}
</style>
`

// SVG returns the picture as an SVG element. Nodes are groups of the class "node", with their ids in data-node;
// lines are groups of the class "line"; texts of edges have the class "label", and their ids in data-edge.
func (p *Picture) SVG(paint Paint) string {
	var b strings.Builder
	p.begin(&b, p.graph.Title, 0, p.width, p.height)

	if paint.Standalone {
		b.WriteString(style)
	}

	for i, l := range p.lanes {
		p.writeLane(&b, i, l, paint)
	}
	b.WriteString("</svg>\n")

	return b.String()
}

// Part is a lane of a picture as an SVG element of its own, without its name.
type Part struct{ Name, SVG string }

// Parts returns the lanes of the picture one by one: on a page, each one is scrolled by itself. Their elements are those of [Picture.SVG].
func (p *Picture) Parts(paint Paint) (parts []Part) {
	for i, l := range p.lanes {
		title := p.graph.Title
		if l.name != "" {
			title += ": " + l.name
		}

		var b strings.Builder
		top := p.inkTop(l) - margin
		p.begin(&b, title, top, l.width, l.bottom-top)
		p.writeContent(&b, i, l, paint)
		b.WriteString("</svg>\n")
		parts = append(parts, Part{l.name, b.String()})
	}

	return parts
}

// begin begins an SVG element. One with links is not an image: what is in it can be reached by the keyboard.
func (p *Picture) begin(b *strings.Builder, title string, top, width, height float64) {
	role := "img"
	if len(p.makers) > 0 {
		role = "group"
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="%s" width="%.0f" height="%.0f" viewBox="0 %s %.0f %.0f">`+"\n",
		role, width, height, short(top), width, height)
	fmt.Fprintf(b, "<title>%s</title>\n", html.EscapeString(title))
}

// inkTop is where the highest box, line or text of a lane begins.
func (p *Picture) inkTop(l drawnLane) float64 {
	top := l.bottom
	for _, i := range l.nodes {
		top = min(top, p.boxes[i].y-p.boxes[i].height/2)
	}

	for _, r := range l.routes {
		if r.y > 0 { // it has a label
			top = min(top, r.y-labelHeight)
		}

		for _, c := range r.curves {
			top = min(top, c[0][1], c[1][1], c[2][1], c[3][1])
		}
	}

	return top
}

// writeLane writes a lane with its name. All but the first one have a rule above them.
func (p *Picture) writeLane(b *strings.Builder, i int, l drawnLane, paint Paint) {
	if i > 0 {
		fmt.Fprintf(b, `<path class="rule" d="M0 %sH%s"/>`, short(l.top), short(p.width))
	}

	if l.name != "" {
		fmt.Fprintf(b, `<text class="heading" x="%g" y="%s">%s</text>`+"\n", margin, short(l.top+headingHeight+4), html.EscapeString(l.name))
	}
	p.writeContent(b, i, l, paint)
}

// writeContent writes the lines and nodes of a lane.
func (p *Picture) writeContent(b *strings.Builder, i int, l drawnLane, paint Paint) {
	class := "lane"
	if i > 0 {
		class += " further"
	}
	fmt.Fprintf(b, `<g class="%s">`+"\n", class)

	for _, r := range l.routes {
		p.writeLine(b, r, paint)
	}

	for _, i := range l.nodes {
		p.writeNode(b, i, paint)
	}
	b.WriteString("</g>\n")
}

func (p *Picture) writeLine(b *strings.Builder, r route, paint Paint) {
	classes := "line"
	for _, i := range r.edges {
		for class := range strings.FieldsSeq(paint.Edges[p.graph.Edges[i].ID]) {
			if !strings.Contains(" "+classes+" ", " "+class+" ") {
				classes += " " + class
			}
		}
	}

	last := r.curves[len(r.curves)-1]
	fmt.Fprintf(b, `<g class="%s"><path d="%s"/>%s`, html.EscapeString(classes), r.path(), head(last[2], last[3]))

	y := r.y
	for _, i := range r.edges {
		y = p.writeLabel(b, r, y, i, paint)
	}
	b.WriteString("</g>\n")
}

// writeLabel writes the label of an edge, with its mark beside it and who makes the move below it. It returns where the next one stands.
func (p *Picture) writeLabel(b *strings.Builder, r route, y float64, edge int, paint Paint) (next float64) {
	e := p.graph.Edges[edge]
	classes := html.EscapeString(paint.Edges[e.ID])

	if e.Text != "" {
		attributes := fmt.Sprintf(`class="%s" data-edge="%s" text-anchor="%s"`, strings.TrimSpace("label "+classes), html.EscapeString(e.ID), r.anchor)
		writeText(b, r.x, y, attributes, labelLetterWidth, e.Text, cmp.Or(paint.Docs[e.ID], e.Doc))
		writeMark(b, r, y, e, paint)
		y += labelHeight
	}

	if p.by[edge] != "" {
		attributes := fmt.Sprintf(`class="%s" data-by="%s" text-anchor="%s"`, strings.TrimSpace("by "+classes), html.EscapeString(e.ID), r.anchor)
		fmt.Fprintf(b, `<a href="#%s">`, nodeID(p.makers[e.By[0]]))
		writeText(b, r.x, y, attributes, labelLetterWidth, p.by[edge], "")
		b.WriteString("</a>")
		y += labelHeight
	}

	return y
}

// nodeID is the id that the element of a node that makes moves has on its page.
func nodeID(index int) string { return fmt.Sprint("node-", index) }

func writeMark(b *strings.Builder, r route, y float64, e Edge, paint Paint) {
	mark := paint.Marks[e.ID]
	if mark == "" {
		return
	}
	width := widthOf(e.Text, labelLetterWidth) + 5

	x, anchor := r.x+width, "start"
	switch r.anchor {
	case "end":
		x, anchor = r.x-width, "end"
	case "middle":
		x = r.x + width/2
	}
	class := html.EscapeString(strings.TrimSpace("mark " + paint.Edges[e.ID]))
	fmt.Fprintf(b, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`, short(x), short(y), class, anchor, html.EscapeString(mark))
}

// head is the head of an arrow that arrives from a handle of its curve: level, or from above.
func head(from, at [2]float64) string {
	x, y := short(at[0]), short(at[1])
	const length, half = 7, 3.5

	if from[0] == at[0] {
		return fmt.Sprintf(`<path class="head" d="M%s %sl%g %dh%dz"/>`, x, y, -half, -length, int(2*half))
	}

	back := -length
	if from[0] > at[0] {
		back = length
	}

	return fmt.Sprintf(`<path class="head" d="M%s %sl%d %gv%gz"/>`, x, y, back, -half, 2*half)
}

// writeText writes a text with the width that was measured for it, whatever font the reader has. When pointed at, its
// doc is shown, or the whole text if it was cut.
func writeText(b *strings.Builder, x, y float64, attributes string, letter float64, text, doc string) {
	if text == "" {
		return
	}
	fmt.Fprintf(b, `<text x="%s" y="%s" %s textLength="%s" lengthAdjust="spacingAndGlyphs">`, short(x), short(y), attributes, short(widthOf(text, letter)))

	shown := cut(text)
	if doc == "" && shown != text {
		doc = text
	}

	if doc != "" {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(doc))
	}
	fmt.Fprintf(b, "%s</text>", html.EscapeString(shown))
}

func (p *Picture) writeNode(b *strings.Builder, i int, paint Paint) {
	n, box := p.graph.Nodes[i], p.boxes[i]
	note := cmp.Or(paint.Notes[n.ID], cut(n.Note))
	x, y := box.x-box.width/2, box.y-box.height/2

	id := ""
	if _, makes := p.makers[n.ID]; makes {
		id = fmt.Sprintf(` id="%s"`, nodeID(i))
	}
	fmt.Fprintf(b, `<g class="%s"%s data-node="%s">`, html.EscapeString(strings.Join(strings.Fields("node "+string(n.Shape)+" "+paint.Nodes[n.ID]), " ")), id, html.EscapeString(n.ID))

	if doc := cmp.Or(paint.Docs[n.ID], n.Doc); doc != "" {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(doc))
	}

	if n.Shape == Start {
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="%g"/></g>`+"\n", short(box.x), short(box.y), startRadius)
		return
	}

	fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s" rx="8"/>`, short(x), short(y), short(box.width), short(box.height))

	if n.Shape == End {
		fmt.Fprintf(b, `<rect class="inner" x="%s" y="%s" width="%s" height="%s" rx="6"/>`, short(x+3), short(y+3), short(box.width-6), short(box.height-6))
	}

	// A note makes room for itself below the text.
	base := box.y + 4
	if note != "" {
		base = box.y - 3
		fmt.Fprintf(b, `<text class="note" x="%s" y="%s" text-anchor="middle">%s</text>`, short(box.x), short(box.y+13), html.EscapeString(note))
	}
	writeText(b, box.x, base, `text-anchor="middle"`, letterWidth, n.Text, "")
	writeNumber(b, box, n.ID, paint)
	b.WriteString("</g>\n")
}

// writeNumber writes the number of a node on its lower edge, where no line ends.
func writeNumber(b *strings.Builder, box rect, id string, paint Paint) {
	number := paint.Numbers[id]
	if number == "" {
		return
	}

	width := widthOf(number, labelLetterWidth)
	x, bottom := box.x-box.width/2+6, box.y+box.height/2
	fmt.Fprintf(b, `<rect class="number" x="%s" y="%s" width="%s" height="14" rx="7"/>`, short(x), short(bottom-7), short(width+10))
	writeText(b, x+5, bottom+4, fmt.Sprintf(`class="number" data-number="%s"`, html.EscapeString(id)), labelLetterWidth, number, "")
}
