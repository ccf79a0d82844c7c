package console

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"ratchet/docs"
)

const (
	// mostFound is how many sections a search shows.
	mostFound = 30
	// around is how much of a section is shown before and after a word, in bytes.
	around = 90
)

// section is what stands below one heading of a document.
type section struct {
	doc             *doc
	heading, anchor string
	text, lower     string
}

// hit is a section that has all words.
type hit struct {
	section
	before, match, after string
	score                int
}

// address is where the section stands in the console.
func (h hit) address() string { return Path + "/docs/" + h.doc.name + "#" + h.anchor }

func search(words, style string) (content, error) {
	l, err := openLibrary()
	if err != nil {
		return content{}, err
	}

	return content{"Documents", searchPage(words, l.find(words), style)}, nil
}

var (
	headingLine = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	marks       = strings.NewReplacer("`", "", "**", "", "[", "", "|", " ", "<!--", "", "-->", "")
	spaces      = regexp.MustCompile(`[\s-]*-{3,}[\s-]*|\s+`)
)

// plain returns the text of Markdown without its marks.
func plain(markdown string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(marks.Replace(linkTarget.ReplaceAllString(markdown, "")), " "))
}

// sectionsOf cuts a document at its headings.
func sectionsOf(d *doc, source string) []section {
	var (
		all    []section
		body   strings.Builder
		names  = docs.Anchors{}
		fenced bool
	)

	end := func() {
		if len(all) > 0 {
			s := &all[len(all)-1]
			s.text = plain(body.String())
			s.lower = strings.ToLower(s.heading + " " + s.text)
		}
		body.Reset()
	}

	for line := range strings.Lines(source) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}

		if m := headingLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && !fenced {
			end()
			all = append(all, section{doc: d, heading: plain(m[1]), anchor: names.Next(m[1])})

			continue
		}
		body.WriteString(line)
	}
	end()

	return all
}

// find returns the sections that have all words, the best first.
func (l *library) find(words string) []hit {
	wanted := strings.Fields(strings.ToLower(words))

	var found []hit
	for _, s := range l.sections {
		if h, ok := s.judge(wanted); ok {
			found = append(found, h)
		}
	}

	slices.SortStableFunc(found, func(a, b hit) int { return cmp.Compare(b.score, a.score) })

	return found[:min(len(found), mostFound)]
}

// judge reports whether the section has all words, each also as a part of a longer one. Words in titles and headings, and
// words that stand together, count more; pages for maintainers and lists of everything count less.
func (s section) judge(words []string) (hit, bool) {
	h := hit{section: s}
	title, heading := strings.ToLower(s.doc.title), strings.ToLower(s.heading)

	for _, word := range words {
		n := strings.Count(s.lower, word)
		if n == 0 && !strings.Contains(title, word) {
			return hit{}, false
		}

		h.score += 2 * min(n, 5)
		if strings.Contains(heading, word) {
			h.score += 20
		}

		if strings.Contains(title, word) {
			h.score += 15
		}
	}

	if strings.Contains(s.lower, strings.Join(words, " ")) {
		h.score += 15
	}

	if folder, _, _ := strings.Cut(s.doc.name, "/"); folder == "internals" || folder == "reference" {
		h.score /= 3
	}
	h.before, h.match, h.after = s.excerpt(words)

	return h, len(words) > 0
}

// excerpt returns the text around the first of the words that it has.
func (s section) excerpt(words []string) (before, match, after string) {
	lower := strings.ToLower(s.text)
	if len(lower) != len(s.text) { // a letter whose other case has another length: places would not agree
		lower = s.text
	}

	// All words together, if they stand so.
	for _, word := range append([]string{strings.Join(words, " ")}, words...) {
		if at := strings.Index(lower, word); at >= 0 {
			before, match, after = s.text[:at], s.text[at:at+len(word)], s.text[at+len(word):]
			break
		}
	}

	if match == "" {
		after = s.text
	}

	return tail(before), match, head(after)
}

// head returns the beginning of a text, up to a space.
func head(text string) string {
	if len(text) <= around {
		return text
	}
	cut := strings.LastIndexByte(text[:around], ' ')

	return text[:max(cut, 0)] + " …"
}

// tail returns the end of a text, from a space on.
func tail(text string) string {
	if len(text) <= around {
		return text
	}
	rest := text[len(text)-around:]
	_, rest, _ = strings.Cut(rest, " ")

	return "… " + rest
}
