package console

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"ratchet/docs"
)

// doc is a page of folder docs.
type doc struct {
	name, title string // learn/why, "Why, and when not"
	html        string
}

// library has all documents. They are read when a person asks for the first one.
type library struct {
	documents map[string]*doc // by name
	sections  []section       // of all, in the order of their files
}

var openLibrary = sync.OnceValues(func() (*library, error) { return readLibrary(docs.Files) })

// documentRoutes adds the documents, with a search, and their pictures.
func (h *handler) documentRoutes() {
	style := h.asset("docs.css", "text/css").address

	for _, p := range []page{
		{path: "/docs/{$}", load: func(_ context.Context, v *visit) (content, error) {
			if words := v.query("q"); words != "" {
				return search(words, style)
			}

			return showDocument("README", style)
		}},
		{path: "/docs/{name...}", load: func(_ context.Context, v *visit) (content, error) {
			return showDocument(v.request.PathValue("name"), style)
		}},
	} {
		p.nav = "/docs/"
		h.mux.HandleFunc("GET "+Path+p.path, func(w http.ResponseWriter, r *http.Request) { h.show(w, r, p) })
	}

	pictures, err := fs.Sub(docs.Files, "pictures")
	if err != nil {
		panic(err) // only of a malformed name
	}
	serve := http.StripPrefix(Path+"/docs/pictures/", http.FileServerFS(pictures))

	h.mux.HandleFunc("GET "+Path+"/docs/pictures/{name}", func(w http.ResponseWriter, r *http.Request) {
		// A drawing has its style within.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		serve.ServeHTTP(w, r)
	})
}

func showDocument(name, style string) (content, error) {
	l, err := openLibrary()
	if err != nil {
		return content{}, err
	}

	d := l.documents[name]
	if d == nil {
		return content{}, &problem{Status: http.StatusNotFound, Code: "page_not_found", Detail: "There is no such document."}
	}

	return content{d.title, documentPage(d, style)}, nil
}

func readLibrary(files fs.FS) (*library, error) {
	l := &library{documents: map[string]*doc{}}

	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}

		source, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}

		read, err := readDocument(files, name, source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.documents[read.name] = read
		l.sections = append(l.sections, sectionsOf(read, string(source))...)

		return nil
	})

	return l, err
}

// readDocument converts a document to HTML.
func readDocument(files fs.FS, name string, source []byte) (*doc, error) {
	d := &doc{name: strings.TrimSuffix(name, ".md"), title: title(string(source))}

	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(&linker{files: files, folder: path.Dir(name)}, 100)),
		),
		// The documents are ours and name places by elements.
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)

	var b bytes.Buffer
	err := markdown.Convert(source, &b, parser.WithContext(parser.NewContext(parser.WithIDs(headingIDs{}))))
	// The policy of the pages allows no style in an element, and no document needs one.
	d.html = scrolled.Replace(b.String())

	return d, err
}

// scrolled lets the keyboard scroll code and tables that are wider than the page.
var scrolled = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`)

// headingIDs gives headings the anchors by which the documents name them.
type headingIDs docs.Anchors

func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	return []byte(docs.Anchors(ids).Next(string(value)))
}

func (ids headingIDs) Put(value []byte) { ids[string(value)] = true }

// linker turns links between documents into links between pages. What a program does not hold, such as the
// source of an example, is shown without a link.
type linker struct {
	files  fs.FS
	folder string // of the document
}

func (l *linker) Transform(node *ast.Document, _ text.Reader, _ parser.Context) {
	var gone []*ast.Link

	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}

		switch n := n.(type) {
		case *ast.Image:
			n.Destination, _ = l.address(n.Destination)
		case *ast.Link:
			address, known := l.address(n.Destination)
			if !known {
				gone = append(gone, n)
			}
			n.Destination = address
		}

		return ast.WalkContinue, nil
	}) // fails only if the function does

	for _, n := range gone {
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, child)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// address returns where the link leads in the console, and reports false if it leads out of the documents.
func (l *linker) address(destination []byte) ([]byte, bool) {
	to, err := url.Parse(string(destination))
	if err != nil {
		return destination, false
	}

	if to.IsAbs() || to.Path == "" {
		return destination, true
	}

	name := path.Join(l.folder, to.Path)
	if info, err := fs.Stat(l.files, name); err != nil || info.IsDir() {
		return destination, false
	}
	to.Path = Path + "/docs/" + strings.TrimSuffix(name, ".md")

	return []byte(to.String()), true
}

var firstHeading = regexp.MustCompile(`(?m)^# +(.+?) *$`)

func title(source string) string {
	m := firstHeading.FindStringSubmatch(source)
	if m == nil {
		return "Document"
	}

	return plain(m[1])
}
