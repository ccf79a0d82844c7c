package expression

import (
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	kEnd kind = iota
	kWord
	kName   // #reference
	kValue  // :reference
	kNumber // list index
	kOpen
	kClose
	kOpenIndex
	kCloseIndex
	kComma
	kDot
	kPlus
	kMinus
	kEqual
	kNotEqual
	kLess
	kLessEqual
	kGreater
	kGreaterEqual
	kAnd
	kOr
	kNot
	kBetween
	kIn
	kSet
	kRemove
	kAdd
	kDelete
	kBad // a character with which no token begins
)

// token is a part of the source: src[start:end].
type token struct {
	kind       kind
	start, end int
}

// lexer reads the source token by token.
type lexer struct {
	src   string
	token     // the current one
	prev  int // where the token before it begins
}

func newLexer(src string) lexer {
	l := lexer{src: src}
	l.token = l.scan(0)
	return l
}

func (l *lexer) text() string { return l.src[l.start:l.end] }

// advance moves to the next token.
func (l *lexer) advance() {
	l.prev = l.start
	l.token = l.scan(l.end)
}

// syntaxError returns the error for the current token. It quotes the source from the token
// before it to the token after it.
func (l *lexer) syntaxError() *Error {
	if l.kind == kEnd {
		return errorf(`Syntax error; token: "<EOF>", near: "%s"`, l.src[l.prev:])
	}

	next := l.scan(l.end)
	end := next.end
	if next.kind == kEnd {
		end = l.end
	}

	return errorf(`Syntax error; token: "%s", near: "%s"`, l.text(), l.src[l.prev:end])
}

// scan reads the token that begins at or after byte at.
func (l *lexer) scan(at int) token {
	src := l.src
	for at < len(src) && (src[at] == ' ' || src[at] == '\t' || src[at] == '\n' || src[at] == '\r') {
		at++
	}

	if at == len(src) {
		return token{kEnd, at, at}
	}

	switch c := src[at]; {
	case isLetter(c):
		end := wordEnd(src, at+1)
		return token{keyword(src[at:end]), at, end}
	case c == '#' || c == ':':
		end := wordEnd(src, at+1)
		switch {
		case end == at+1:
			return token{kBad, at, end}
		case c == '#':
			return token{kName, at, end}
		default:
			return token{kValue, at, end}
		}
	// An index has no leading zero: 01 is two tokens, and so a syntax error.
	case c == '0':
		return token{kNumber, at, at + 1}
	case '1' <= c && c <= '9':
		end := at + 1
		for end < len(src) && src[end]-'0' <= 9 {
			end++
		}

		return token{kNumber, at, end}
	// The whole character is one token, because the message quotes the token.
	case c >= utf8.RuneSelf:
		_, size := utf8.DecodeRuneInString(src[at:])
		return token{kBad, at, at + size}
	default:
		return scanMark(src, at)
	}
}

// scanMark reads a token of punctuation at byte at.
func scanMark(src string, at int) token {
	// 0 is no mark, so the end of the source needs no case of its own.
	next := byte(0)
	if at+1 < len(src) {
		next = src[at+1]
	}

	switch src[at] {
	case '(':
		return token{kOpen, at, at + 1}
	case ')':
		return token{kClose, at, at + 1}
	case '[':
		return token{kOpenIndex, at, at + 1}
	case ']':
		return token{kCloseIndex, at, at + 1}
	case ',':
		return token{kComma, at, at + 1}
	case '.':
		return token{kDot, at, at + 1}
	case '+':
		return token{kPlus, at, at + 1}
	case '-':
		return token{kMinus, at, at + 1}
	case '=':
		return token{kEqual, at, at + 1}
	case '<':
		switch next {
		case '=':
			return token{kLessEqual, at, at + 2}
		case '>':
			return token{kNotEqual, at, at + 2}
		}

		return token{kLess, at, at + 1}
	case '>':
		if next == '=' {
			return token{kGreaterEqual, at, at + 2}
		}
		return token{kGreater, at, at + 1}
	default:
		return token{kBad, at, at + 1}
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordEnd returns where the letters, digits and underscores that begin at byte at end.
func wordEnd(src string, at int) int {
	for at < len(src) && (isLetter(src[at]) || src[at]-'0' <= 9 || src[at] == '_') {
		at++
	}
	return at
}

func wordEndsAt(src string, at, end int) bool { return wordEnd(src, at) == end }

// keyword returns the kind of a word of the grammar, in upper or lower case, or kWord for a name.
func keyword(word string) kind {
	// Most words are names. Their length alone tells most of them from the words of the grammar.
	switch len(word) {
	case 2:
		switch {
		case strings.EqualFold(word, "OR"):
			return kOr
		case strings.EqualFold(word, "IN"):
			return kIn
		}
	case 3:
		switch {
		case strings.EqualFold(word, "AND"):
			return kAnd
		case strings.EqualFold(word, "NOT"):
			return kNot
		case strings.EqualFold(word, "SET"):
			return kSet
		case strings.EqualFold(word, "ADD"):
			return kAdd
		}
	case 6:
		switch {
		case strings.EqualFold(word, "REMOVE"):
			return kRemove
		case strings.EqualFold(word, "DELETE"):
			return kDelete
		}
	case 7:
		if strings.EqualFold(word, "BETWEEN") {
			return kBetween
		}
	}

	return kWord
}
