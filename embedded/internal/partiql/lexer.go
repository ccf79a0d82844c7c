package partiql

import (
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	kEnd    kind = iota
	kWord        // an identifier or a keyword
	kQuoted      // "an identifier"
	kText        // 'a string'
	kNumber
	kParameter // ?
	kMark      // an operator or punctuation
	kBad       // a character with which no token begins, or a token without an end
)

// token is a part of the source.
type token struct {
	kind kind
	// text is the source of a word, number or mark, and what stands between the quotes.
	text string
	// upper is the word in upper case.
	upper      string
	start, end int
}

// is reports whether the token is this mark.
func (t token) is(mark string) bool { return t.kind == kMark && t.text == mark }

// isWord reports whether the token is one of these words, which are in upper case.
func (t token) isWord(words ...string) bool {
	for _, w := range words {
		if t.kind == kWord && t.upper == w {
			return true
		}
	}

	return false
}

// marks are the operators and the punctuation, longer ones first.
var marks = []string{"<<", ">>", "<=", ">=", "<>", "!=", "||", "(", ")", "[", "]", "{", "}", ",", ".", ":", ";", "=", "<", ">", "+", "-", "*", "/", "%"}

// scan reads the token that begins at or after byte at.
func scan(src string, at int) token {
	at, ok := skipSpace(src, at)

	switch {
	case !ok:
		return token{kind: kBad, start: at, end: len(src)}
	case at == len(src):
		return token{kind: kEnd, start: at, end: at}
	}

	switch c := src[at]; {
	case isWordStart(c):
		end := at + 1
		for end < len(src) && (isWordStart(src[end]) || isDigit(src[end])) {
			end++
		}
		text := src[at:end]

		return token{kind: kWord, text: text, upper: strings.ToUpper(text), start: at, end: end}
	// A point begins a number only before a digit. Elsewhere it is a mark.
	case isDigit(c) || c == '.' && at+1 < len(src) && isDigit(src[at+1]):
		return scanNumber(src, at)
	case c == '\'':
		return scanQuoted(src, at, kText)
	case c == '"':
		return scanQuoted(src, at, kQuoted)
	case c == '?':
		return token{kind: kParameter, text: "?", start: at, end: at + 1}
	}

	for _, mark := range marks {
		if strings.HasPrefix(src[at:], mark) {
			return token{kind: kMark, text: mark, start: at, end: at + len(mark)}
		}
	}
	_, size := utf8.DecodeRuneInString(src[at:])

	return token{kind: kBad, start: at, end: at + size}
}

// skipSpace skips white space and comments. ok is false if a comment does not end.
func skipSpace(src string, at int) (next int, ok bool) {
	for at < len(src) {
		switch {
		case strings.IndexByte(" \t\r\n\f\v", src[at]) >= 0:
			at++
		case strings.HasPrefix(src[at:], "--"):
			end := strings.IndexByte(src[at:], '\n')
			if end < 0 {
				return len(src), true
			}
			at += end + 1
		case strings.HasPrefix(src[at:], "/*"):
			// The search begins after the opening mark, so that /*/ does not end the comment.
			end := strings.Index(src[at+2:], "*/")
			if end < 0 {
				return at, false
			}
			at += 2 + end + 2
		default:
			return at, true
		}
	}

	return at, true
}

// scanNumber reads digits with a point and an exponent.
func scanNumber(src string, at int) token {
	end := at
	digits := func() {
		for end < len(src) && isDigit(src[end]) {
			end++
		}
	}
	digits()

	if end < len(src) && src[end] == '.' {
		end++
		digits()
	}

	if end < len(src) && src[end]|0x20 == 'e' {
		end++
		if end < len(src) && (src[end] == '+' || src[end] == '-') {
			end++
		}

		from := end

		// An exponent needs digits: 1e is no number.
		if digits(); end == from {
			return token{kind: kBad, start: at, end: end}
		}
	}

	// 1abc is neither a number nor a name.
	if end < len(src) && isWordStart(src[end]) {
		return token{kind: kBad, start: at, end: end}
	}

	return token{kind: kNumber, text: src[at:end], start: at, end: end}
}

// scanQuoted reads a text between quotes, in which a doubled quote stands for one.
func scanQuoted(src string, at int, k kind) token {
	quote := src[at : at+1]
	var text strings.Builder

	for from := at + 1; ; {
		end := strings.Index(src[from:], quote)
		if end < 0 {
			return token{kind: kBad, start: at, end: len(src)}
		}

		text.WriteString(src[from : from+end])
		from += end + 1

		// The quote is not doubled, so it ends the text.
		if !strings.HasPrefix(src[from:], quote) {
			return token{kind: k, text: text.String(), start: at, end: from}
		}
		text.WriteString(quote)
		from++
	}
}

func isWordStart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
