package diagram_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ratchet/workflow"
	"ratchet/workflow/diagram"
	"ratchet/workflow/file"
)

var pictures = flag.Int("pictures", 50, "draw `N` graphs that were made at random")

// drawn is what a reader of a picture sees.
type drawn struct {
	boxes, labels map[string]area
	// lines are the points of each line, close together, by the ids of its edges.
	lines         map[string][]point
	width, height float64
}

type point struct{ x, y float64 }

type area struct{ left, top, right, bottom float64 }

func (a area) overlaps(b area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// contains reports whether the point is inside, and not on the border.
func (a area) contains(p point) bool {
	const border = 0.11 // coordinates have one decimal
	return p.x > a.left+border && p.x < a.right-border && p.y > a.top+border && p.y < a.bottom-border
}

// look reads a picture as a browser does.
func look(t *testing.T, svg string) drawn {
	t.Helper()

	out := drawn{boxes: map[string]area{}, labels: map[string]area{}, lines: map[string][]point{}}
	var (
		groups []map[string]string
		path   string
		edges  []string
	)

	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}

		switch token := token.(type) {
		case xml.StartElement:
			has := map[string]string{}
			for _, a := range token.Attr {
				has[a.Name.Local] = a.Value
			}

			switch token.Name.Local {
			case "svg":
				out.width, out.height = number(t, has["width"]), number(t, has["height"])
			case "g":
				groups, path, edges = append(groups, has), "", nil
			case "path":
				if has["class"] == "" {
					path = has["d"]
				}
			case "rect":
				if has["class"] == "" {
					x, y := number(t, has["x"]), number(t, has["y"])
					out.boxes[groups[len(groups)-1]["data-node"]] = area{x, y, x + number(t, has["width"]), y + number(t, has["height"])}
				}
			case "circle":
				x, y, r := number(t, has["cx"]), number(t, has["cy"]), number(t, has["r"])
				out.boxes[groups[len(groups)-1]["data-node"]] = area{x - r, y - r, x + r, y + r}
			case "text":
				if edge := has["data-edge"]; edge != "" {
					out.labels[edge] = textArea(t, has)
					edges = append(edges, edge)
				}

				if edge := has["data-by"]; edge != "" {
					out.labels["by "+edge] = textArea(t, has)
				}

				if node := has["data-number"]; node != "" {
					out.labels["number "+node] = textArea(t, has)
				}
			}
		case xml.EndElement:
			if token.Name.Local == "g" {
				if path != "" {
					out.lines[strings.Join(edges, "\n")] = follow(t, path)
				}
				groups, path = groups[:len(groups)-1], ""
			}
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()

	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		t.Fatalf("the coordinate %q", text)
	}

	return v
}

// textArea is the room of a label: its letters rise 9 px above the baseline, and fall 2 px below it.
func textArea(t *testing.T, has map[string]string) area {
	t.Helper()

	x, y, width := number(t, has["x"]), number(t, has["y"]), number(t, has["textLength"])
	switch has["text-anchor"] {
	case "end":
		x -= width
	case "middle":
		x -= width / 2
	}

	return area{x, y - 9, x + width, y + 2}
}

var command = regexp.MustCompile(`([MHC])([^MHC]*)`)

// follow returns points of a path that are close together.
func follow(t *testing.T, path string) (points []point) {
	t.Helper()

	var at point
	for _, c := range command.FindAllStringSubmatch(path, -1) {
		var v []float64
		for _, text := range strings.FieldsFunc(c[2], func(r rune) bool { return r == ' ' || r == ',' }) {
			v = append(v, number(t, text))
		}

		switch c[1] {
		case "M":
			at = point{v[0], v[1]}
		case "H":
			v = []float64{at.x, at.y, v[0], at.y, v[0], at.y}
			fallthrough
		case "C":
			for i := range 41 {
				s := float64(i) / 40
				u := 1 - s
				points = append(points, point{
					u*u*u*at.x + 3*u*u*s*v[0] + 3*u*s*s*v[2] + s*s*s*v[4],
					u*u*u*at.y + 3*u*u*s*v[1] + 3*u*s*s*v[3] + s*s*s*v[5],
				})
			}
			at = point{v[4], v[5]}
		}
	}

	return points
}

// faults returns what is wrong with the picture of a graph.
func faults(t *testing.T, g diagram.Graph, svg string) (found []string) {
	t.Helper()
	d := look(t, svg)

	fault := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	if len(d.boxes) != len(g.Nodes) {
		fault("%d boxes of %d nodes", len(d.boxes), len(g.Nodes))
	}

	within := func(what string, a area) {
		if a.left < 0 || a.top < 0 || a.right > d.width || a.bottom > d.height {
			fault("%s leaves the picture: %v", what, a)
		}
	}

	for i, a := range g.Nodes {
		within(a.ID, d.boxes[a.ID])

		if _, drawn := d.labels["number "+a.ID]; drawn == (a.Shape == diagram.Start) {
			fault("the number of %s is drawn: %t", a.ID, drawn)
		}

		for _, b := range g.Nodes[i+1:] {
			if d.boxes[a.ID].overlaps(d.boxes[b.ID]) {
				fault("the boxes %s and %s overlap", a.ID, b.ID)
			}
		}
	}

	for _, e := range g.Edges {
		if _, drawn := d.labels[e.ID]; !drawn && e.Text != "" {
			fault("%s is not drawn", e.ID)
		}

		if _, drawn := d.labels["by "+e.ID]; drawn != (len(e.By) > 0) {
			fault("who makes %s is drawn: %t", e.ID, drawn)
		}
	}

	for a, label := range d.labels {
		within(a, label)

		for b, other := range d.labels {
			if a < b && label.overlaps(other) {
				fault("the labels %s and %s overlap", a, b)
			}
		}

		for id, box := range d.boxes {
			if label.overlaps(box) && a != "number "+id {
				fault("the label %s covers %s", a, id)
			}
		}
	}

	for line, points := range d.lines {
		for _, p := range points {
			for id, label := range d.labels {
				if label.contains(p) {
					fault("the line of %q runs through the label %s", line, id)
				}
			}

			for id, box := range d.boxes {
				if box.contains(p) {
					fault("the line of %q runs through %s", line, id)
				}
			}
		}
	}

	return found
}

// inLanes is a second random graph below the first, whose nodes make some of the moves of both.
func inLanes(seed uint64) diagram.Graph {
	r := rand.New(rand.NewPCG(seed, 1))
	g, below := randomGraph(seed), randomGraph(seed+1000)
	g.Title += " in lanes"

	for i := range g.Nodes {
		g.Nodes[i].Lane = "above"
	}

	for _, n := range below.Nodes {
		n.ID, n.Lane = "below "+n.ID, "below"
		g.Nodes = append(g.Nodes, n)
	}

	for _, e := range below.Edges {
		e.ID, e.From, e.To, e.Text = "below "+e.ID, "below "+e.From, "below "+e.To, ""
		g.Edges = append(g.Edges, e)
	}

	for i := range g.Edges {
		for range r.IntN(3) {
			g.Edges[i].By = append(g.Edges[i].By, "below "+below.Nodes[r.IntN(len(below.Nodes))].ID)
		}
	}

	return g
}

// numbered numbers all nodes.
func numbered(g diagram.Graph) map[string]string {
	numbers := map[string]string{}
	for i, n := range g.Nodes {
		numbers[n.ID] = fmt.Sprint(100 + i)
	}

	return numbers
}

// randomGraph has up to 40 nodes, circles, loops, several edges between the same nodes, and parts that are apart.
func randomGraph(seed uint64) diagram.Graph {
	r := rand.New(rand.NewPCG(seed, 0))
	g := diagram.Graph{Title: fmt.Sprint("seed ", seed)}

	for i := range 1 + r.IntN(40) {
		g.Nodes = append(g.Nodes, diagram.Node{
			ID: fmt.Sprint("n", i), Text: strings.Repeat("N", 1+r.IntN(60)), Shape: []diagram.Shape{diagram.Box, diagram.Box, diagram.End, diagram.Start}[r.IntN(4)],
		})
	}

	for i := range r.IntN(3*len(g.Nodes) + 1) {
		from, to := r.IntN(len(g.Nodes)), r.IntN(len(g.Nodes))
		if r.IntN(3) > 0 {
			to = min(from+1+r.IntN(4), len(g.Nodes)-1) // most lead on
		}
		g.Edges = append(g.Edges, diagram.Edge{ID: fmt.Sprint("e", i), From: g.Nodes[from].ID, To: g.Nodes[to].ID, Text: strings.Repeat("e", 1+r.IntN(60))})
	}

	return g
}

// TestNothingCoversALabel: no label overlaps a label or a box, and no line runs through one of them.
func TestNothingCoversALabel(t *testing.T) {
	graphs := []diagram.Graph{diagram.GraphOf(workflow.Order()), diagram.GraphOf(workflow.Payment()), diagram.GraphOf(workflow.Shipment())}

	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		if d, err := file.Parse(name, text); err == nil {
			graphs = append(graphs, diagram.GraphOf(d))
		}
	}

	if len(graphs) < 4 {
		t.Error("no definition of the examples was drawn")
	}

	for seed := range *pictures {
		graphs = append(graphs, randomGraph(uint64(seed)))
		if seed%5 == 0 {
			graphs = append(graphs, inLanes(uint64(seed)))
		}
	}

	for _, g := range graphs {
		first, err := diagram.Layout(g)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := diagram.Layout(g)

		paint := diagram.Paint{Numbers: numbered(g)}
		svg := first.SVG(paint)
		if again := second.SVG(paint); again != svg {
			t.Errorf("%s: two pictures of the same graph differ", g.Title)
		}

		for i, fault := range faults(t, g, svg) {
			if i == 3 {
				t.Errorf("%s: and more", g.Title)
				break
			}
			t.Errorf("%s: %s", g.Title, fault)
		}
	}
}

// TestFewLinesOfTheOrderCross: Graphviz needs no crossing for it; one is close to that.
func TestFewLinesOfTheOrderCross(t *testing.T) {
	picture, err := diagram.Layout(diagram.GraphOf(workflow.Order()))
	if err != nil {
		t.Fatal(err)
	}
	d := look(t, picture.SVG(diagram.Paint{}))

	var all [][]point
	for _, points := range d.lines {
		all = append(all, points)
	}

	crossings := 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			for k := 1; k < len(a); k++ {
				for l := 1; l < len(b); l++ {
					if cross(a[k-1], a[k], b[l-1], b[l]) {
						crossings++
					}
				}
			}
		}
	}

	if crossings > 1 {
		t.Errorf("%d crossings", crossings)
	}
}

// cross reports whether two stretches have a point in common that is no end of either.
func cross(a, b, c, d point) bool {
	side := func(p, q, r point) float64 { return (q.x-p.x)*(r.y-p.y) - (q.y-p.y)*(r.x-p.x) }
	return side(a, b, c)*side(a, b, d) < 0 && side(c, d, a)*side(c, d, b) < 0
}

func TestALayoutNeedsNodesThatExist(t *testing.T) {
	for want, g := range map[string]diagram.Graph{
		`two have the id "a"`:   {Nodes: []diagram.Node{{ID: "a"}, {ID: "a"}}},
		`there is no node "b"`:  {Nodes: []diagram.Node{{ID: "a"}}, Edges: []diagram.Edge{{From: "a", To: "b"}}},
		`there is no node "zz"`: {Nodes: []diagram.Node{{ID: "a"}}, Edges: []diagram.Edge{{From: "zz", To: "a"}}},
		`there is no node "by"`: {Nodes: []diagram.Node{{ID: "a"}}, Edges: []diagram.Edge{{From: "a", To: "a", By: []string{"by"}}}},
		`to the lane "two"`:     {Nodes: []diagram.Node{{ID: "a"}, {ID: "b", Lane: "two"}}, Edges: []diagram.Edge{{From: "a", To: "b"}}},
	} {
		if _, err := diagram.Layout(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}

	if p, err := diagram.Layout(diagram.Graph{}); err != nil || !strings.HasPrefix(p.SVG(diagram.Paint{}), "<svg") {
		t.Errorf("an empty graph: %v", err)
	}
}

// TestAPictureIsPaintedByIDs: classes, notes and marks are those of the paint, and texts are escaped.
func TestAPictureIsPaintedByIDs(t *testing.T) {
	picture, err := diagram.Layout(diagram.Graph{Title: "<t>", Nodes: []diagram.Node{{ID: "a", Text: "<a>", Doc: `"doc"`}, {ID: "b", Text: "b"}}, Edges: []diagram.Edge{
		{ID: "one", From: "a", To: "b", Text: "<one>", By: []string{"a", "b"}}, {ID: "two", From: "a", To: "b", Text: "two"}, {ID: "self", From: "b", To: "b", Text: "self", Doc: "<why>"},
	}})
	if err != nil {
		t.Fatal(err)
	}

	svg := picture.SVG(diagram.Paint{
		Nodes: map[string]string{"a": "present"}, Edges: map[string]string{"one": "taken", "two": "may taken"},
		Notes: map[string]string{"b": "1,000 <"}, Marks: map[string]string{"one": "12", "self": "3"}, Numbers: map[string]string{"b": "7"}, Docs: map[string]string{"b": "<doc>", "two": "why"},
	})
	for _, want := range []string{
		`<g class="node present" id="node-0" data-node="a">`, `<a href="#node-0"><text`, `>by &lt;a&gt;, b</text></a>`, `data-number="b"`, ">7</text>", "<title>&lt;doc&gt;</title>", "<title>why</title>two</text>", `<g class="line taken may">`, `class="label taken" data-edge="one"`, `class="label may taken" data-edge="two"`,
		`>1,000 &lt;</text>`, `>12</text>`, `>3</text>`, "<title>&lt;t&gt;</title>", ">&lt;a&gt;</text>", "<title>&lt;why&gt;</title>self</text>", "<title>&#34;doc&#34;</title>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("it lacks %s:\n%s", want, svg)
		}
	}

	if strings.Contains(svg, "<style>") || !strings.Contains(picture.SVG(diagram.Paint{Standalone: true}), "prefers-color-scheme:dark") {
		t.Error("only a picture that stands alone has a style")
	}
}

// TestEachLaneIsAPartOfThePicture: the parts have all that the picture has, and each one shows the whole of its lane.
func TestEachLaneIsAPartOfThePicture(t *testing.T) {
	for seed := range uint64(10) {
		whole := diagram.Graph{Title: "two"}
		for _, lane := range []string{"a", "b"} {
			g := randomGraph(seed)
			for _, n := range g.Nodes {
				n.ID, n.Lane = lane+n.ID, lane
				whole.Nodes = append(whole.Nodes, n)
			}

			for _, e := range g.Edges {
				e.ID, e.From, e.To = lane+e.ID, lane+e.From, lane+e.To
				whole.Edges = append(whole.Edges, e)
			}
			seed += 100
		}

		picture, err := diagram.Layout(whole)
		if err != nil {
			t.Fatal(err)
		}
		all, parts := look(t, picture.SVG(diagram.Paint{})), picture.Parts(diagram.Paint{})

		if len(parts) != 2 || parts[0].Name != "a" || parts[1].Name != "b" {
			t.Fatalf("%d parts", len(parts))
		}

		for _, part := range parts {
			seen := look(t, part.SVG)
			shown := area{right: seen.width}
			if _, err := fmt.Sscanf(regexp.MustCompile(`viewBox="[^"]*"`).FindString(part.SVG), `viewBox="0 %f`, &shown.top); err != nil {
				t.Fatal(err)
			}
			shown.bottom = shown.top + seen.height

			for _, kind := range []struct{ all, seen map[string]area }{{all.boxes, seen.boxes}, {all.labels, seen.labels}} {
				for id, a := range kind.seen {
					near(t, id, a, kind.all[id])
					delete(kind.all, id)

					if a.left < 0 || a.top < shown.top || a.right > shown.right+1 || a.bottom > shown.bottom+1 {
						t.Errorf("seed %d: %q at %v is not within %v", seed, id, a, shown)
					}
				}
			}
		}

		if len(all.boxes)+len(all.labels) > 0 {
			t.Errorf("seed %d: no part has %v, %v", seed, all.boxes, all.labels)
		}
	}
}

func BenchmarkLayoutOfFortyStates(b *testing.B) {
	var largest diagram.Graph
	for seed := range uint64(200) {
		if g := randomGraph(seed); len(g.Nodes) == 40 && len(g.Edges) > len(largest.Edges) {
			largest = g
		}
	}

	for b.Loop() {
		if _, err := diagram.Layout(largest); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(largest.Edges)), "edges")
}

// TestPositionsAreThoseOfThePicture: a client that draws by them draws what the SVG shows.
func TestPositionsAreThoseOfThePicture(t *testing.T) {
	graphs := []diagram.Graph{diagram.GraphOf(workflow.Order()), diagram.GraphOf(workflow.Payment())}
	for seed := range uint64(10) {
		graphs = append(graphs, randomGraph(seed))
	}

	for _, g := range graphs {
		picture, err := diagram.Layout(g)
		if err != nil {
			t.Fatal(err)
		}
		seen, p := look(t, picture.SVG(diagram.Paint{})), picture.Positions()

		if p.Width != seen.width || p.Height != seen.height || len(p.Boxes) != len(g.Nodes) || len(p.Lines) != len(seen.lines) {
			t.Errorf("%s: %g by %g with %d boxes and %d lines, drawn %g by %g with %d", g.Title, p.Width, p.Height, len(p.Boxes), len(p.Lines), seen.width, seen.height, len(seen.lines))
		}

		for _, b := range p.Boxes {
			near(t, g.Title+" "+b.ID, seen.boxes[b.ID], area{b.X, b.Y, b.X + b.Width, b.Y + b.Height})
		}

		labels := 0
		for _, l := range p.Lines {
			var ids []string
			for _, label := range l.Labels {
				e := g.Edges[slices.IndexFunc(g.Edges, func(e diagram.Edge) bool { return e.ID == label.Edge })]
				if [2]string{e.From, e.To} != [2]string{l.From, l.To} && [2]string{e.From, e.To} != [2]string{l.To, l.From} {
					t.Errorf("%s: the edge %s from %s to %s is on the line from %s to %s", g.Title, e.ID, e.From, e.To, l.From, l.To)
				}
				ids = append(ids, label.Edge)

				width := seen.labels[label.Edge].right - seen.labels[label.Edge].left
				left := map[string]float64{"start": label.X, "middle": label.X - width/2, "end": label.X - width}[l.Anchor]
				near(t, g.Title+" "+label.Edge, seen.labels[label.Edge], area{left, label.Y - 9, left + width, label.Y + 2})
			}

			if drawn, is := seen.lines[strings.Join(ids, "\n")]; !is || !slices.Equal(drawn, follow(t, l.Path)) {
				t.Errorf("%s: the line of %q is not drawn so", g.Title, ids)
			}
			labels += len(l.Labels)
		}

		if labels != len(g.Edges) {
			t.Errorf("%s: %d labels of %d edges", g.Title, labels, len(g.Edges))
		}
	}
}

// near compares two rectangles, whose coordinates are rounded to tenths.
func near(t *testing.T, what string, a, b area) {
	t.Helper()

	if off := max(math.Abs(a.left-b.left), math.Abs(a.top-b.top), math.Abs(a.right-b.right), math.Abs(a.bottom-b.bottom)); off > 0.21 {
		t.Errorf("%s: drawn at %v, said at %v", what, a, b)
	}
}
