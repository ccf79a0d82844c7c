package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow/internal/document"
)

func TestReadRemembersTheLineOfEveryPart(t *testing.T) {
	rows := []struct {
		name, text string
	}{
		{name: "JSON", text: "{\n\"a\": [\n1,\n\"x\"],\n\"b\": {\"c\": null,\n\"d\": true}}"},
		{name: "YAML", text: "\na:\n- 1\n- x\nb: {c: null,\n  d: True}\n"},
		{name: "JSON after a byte order mark", text: "\xef\xbb\xbf{\n\"a\": [\n1,\n\"x\"],\n\"b\": {\"c\": null,\n\"d\": true}}"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			root, err := document.Read("f", []byte(row.text))
			if err != nil {
				t.Fatal(err)
			}

			lines := map[string][2]int{
				"number": {root.Get("a").Items[0].Line, 3},
				"string": {root.Get("a").Items[1].Line, 4},
				"null":   {root.Get("b").Get("c").Line, 5},
				"bool":   {root.Get("b").Get("d").Line, 6},
			}
			for part, line := range lines {
				if line[0] != line[1] {
					t.Errorf("the %s is in line %d, want %d", part, line[0], line[1])
				}
			}

			want := map[string]any{
				"a": []any{1.0, "x"},
				"b": map[string]any{"c": nil, "d": true},
			}
			if diff := cmp.Diff(any(want), root.Value()); diff != "" {
				t.Errorf("Value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefusesWhatIsNoDocument(t *testing.T) {
	rows := []struct {
		name, text string
		want       string
	}{
		{name: "an empty file", text: "", want: "f:1: the file is empty"},
		{name: "only a comment", text: "# nothing\n", want: "f:1: the file is empty"},
		{name: "a scalar at the top", text: "\nx\n", want: "f:2: want a map, got a string"},
		{name: "half a JSON object", text: "{\n\"a\": [1", want: "f:2: unexpected EOF"},
		{name: "half a JSON key", text: "{\"a\"", want: "f:1: unexpected EOF"},
		{name: "text after the JSON object", text: "{}\n{}", want: "f:2: text after the document's end"},
		{name: "a JSON name twice", text: "{\"a\": 1,\n\"a\": 2}", want: "f:2: duplicate object member name"},
		{name: "a YAML key twice", text: "a: 1\na: 2\n", want: `f:2: "a" is there twice`},
		{name: "a YAML key that is a list", text: "? [a]\n: 1\n", want: "f:1: keys are plain names"},
		{name: "a YAML merge", text: "a: &x {b: 1}\nc:\n  <<: *x\n", want: "f:3: keys are plain names"},
		{name: "a YAML alias", text: "a: &x 1\nb: *x\n", want: "f:2: aliases are not read"},
		{name: "two YAML documents", text: "a: 1\n---\nb: 1\n", want: "f:2: a second document"},
		{name: "broken YAML", text: "a: [1\nb: 2\n", want: "f:"},
		{name: "broken YAML in the second document", text: "a: 1\n---\n{", want: "f:"},
		{name: "JSON nested too deeply", text: strings.Repeat(`{"a":`, 102), want: "f:1: nested more than 100 levels deep"},
		{name: "YAML nested too deeply", text: "a: " + strings.Repeat("[", 102) + strings.Repeat("]", 102), want: "f:1: nested more than 100 levels deep"},
		{name: "more than 4 MiB", text: strings.Repeat(" ", 4<<20+1), want: "f: 4194305 bytes; at most 4194304 are read"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := document.Read("f", []byte(row.text))
			if err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Fatalf("got error %v, want one that begins with %q", err, row.want)
			}
		})
	}
}

func TestADecoderKeepsTheFirstError(t *testing.T) {
	const text = "number: 7\nfraction: 1.5\nword: x\nlist: [a, b]\nyes: true\nnothing: null\n"

	rows := []struct {
		name string
		read func(d *document.Decoder, root *document.Node)
		want string // "" for no error
	}{
		{name: "values of the right kinds", read: func(d *document.Decoder, root *document.Node) {
			if n := d.Int(root.Get("number"), "n"); n != 7 {
				t.Errorf("Int: got %d, want 7", n)
			}

			if s := d.String(root.Get("word"), "w"); s != "x" {
				t.Errorf("String: got %q, want x", s)
			}

			if b := d.Bool(root.Get("yes"), "y"); !b {
				t.Error("Bool: got false, want true")
			}

			if diff := cmp.Diff([]string{"a", "b"}, d.Strings(root.Get("list"), "l")); diff != "" {
				t.Errorf("Strings (-want +got):\n%s", diff)
			}

			if s := d.Name(root.Get("yes"), "y"); s != "true" {
				t.Errorf("Name takes a truth value as text: got %q, want true", s)
			}
		}},
		{name: "the second error is dropped", read: func(d *document.Decoder, root *document.Node) {
			d.Int(root.Get("word"), "n")
			d.String(root.Get("number"), "w")
		}, want: "f:3: n: want a number, got a string"},
		{name: "a fraction is no whole number", read: func(d *document.Decoder, root *document.Node) {
			d.Int(root.Get("fraction"), "n")
		}, want: "f:2: n: 1.5 is not a whole number"},
		{name: "a number is no string", read: func(d *document.Decoder, root *document.Node) {
			d.String(root.Get("number"), "w")
		}, want: "f:1: w: want a string, got a number"},
		{name: "a string is no list", read: func(d *document.Decoder, root *document.Node) {
			d.Strings(root.Get("word"), "l")
		}, want: "f:3: l: want a list, got a string"},
		{name: "null is no name", read: func(d *document.Decoder, root *document.Node) {
			d.Name(root.Get("nothing"), "n")
		}, want: "f:6: n: want a name, got null"},
		{name: "an unknown field", read: func(d *document.Decoder, root *document.Node) {
			d.Fields(root, "the file", nil, func(m document.Member) bool { return m.Name != "list" })
		}, want: `f:4: the file has no field "list"`},
		{name: "a required field", read: func(d *document.Decoder, root *document.Node) {
			d.Fields(root, "the file", []string{"other"}, func(document.Member) bool { return true })
		}, want: "f:1: the file lacks other"},
		{name: "fields of a list", read: func(d *document.Decoder, root *document.Node) {
			d.Fields(root.Get("list"), "the list", nil, func(document.Member) bool { return true })
		}, want: "f:4: the list: want a map, got a list"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			root, err := document.Read("f", []byte(text))
			if err != nil {
				t.Fatal(err)
			}

			d := document.Decoder{File: "f"}
			row.read(&d, root)

			got := ""
			if err := d.Err(); err != nil {
				got = err.Error()
			}

			if got != row.want {
				t.Errorf("got error %q, want %q", got, row.want)
			}
		})
	}
}

// FuzzRead: every error names the file, and what is read can be encoded.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"a\": [1, \"x\", null, true]}"))
	f.Add([]byte("a: [1, 0x1F, !Sub 'x', {b: ~}]\n"))
	f.Add([]byte("a: &x 1\nb: *x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := document.Read("f", data)
		if err != nil {
			var at *document.Error
			if !errors.As(err, &at) && len(data) <= 4<<20 {
				t.Fatalf("the error has no line: %v", err)
			}

			return
		}

		if _, err := json.Marshal(root.Value()); err != nil && !strings.Contains(err.Error(), "unsupported value") {
			t.Fatal(err)
		}
	})
}
