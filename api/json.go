package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxBody         = 256 << 10 // bytes
	maxUnsignedBody = 64 << 10  // bytes of a body whose signature is not checked yet
	maxDepth        = 64        // levels of JSON

	// maxExact bounds the numbers that every JSON parser reads exactly (RFC 8259, 6).
	maxExact = 1 << 53
	// maxNumber is the longest number that is converted exactly, in characters.
	maxNumber = 40
)

// readBody reads the body of a request, at most the number of bytes. It returns a problem if
// the body is larger, or does not arrive completely.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *problem) {
	tooLarge := newProblem(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The body must not exceed %d KiB.", most>>10))
	if r.ContentLength > most {
		return nil, tooLarge.withHeader("Connection", "close")
	}

	// Memory is taken as the body arrives, not as its length is announced.
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 4<<10)) + bytes.MinRead)

	var exceeded *http.MaxBytesError

	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, most))
	switch {
	case err == nil:
		return body.Bytes(), nil
	case errors.As(err, &exceeded):
		return nil, tooLarge
	case isTimeout(err):
		return nil, newProblem(http.StatusRequestTimeout, "body_timeout", "The body did not arrive in time.").withHeader("Connection", "close")
	}

	return nil, newProblem(http.StatusBadRequest, "malformed_request", "The body could not be read.").withHeader("Connection", "close")
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// checkEncoding refuses compressed bodies, whose size is not known before they are read.
func checkEncoding(r *http.Request) *problem {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			p := newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "The body must not be compressed.")
			return p.withHeader("Accept-Encoding", "identity")
		}
	}

	return nil
}

// checkContentType accepts application/json in UTF-8 only. In particular it refuses HTML
// forms, which browsers send to other origins without a preflight request.
func checkContentType(r *http.Request) *problem {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]

	if err != nil || kind != "application/json" || given && !strings.EqualFold(charset, "utf-8") {
		p := newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "The Content-Type must be application/json, in UTF-8.")
		return p.withHeader("Accept", "application/json")
	}

	return nil
}

// checkJSON refuses bodies that two parsers could read differently: duplicate names, data
// after the value, invalid UTF-8, and more than 64 levels. It also refuses null, except in
// the member at the pointer anyJSON, which may be any JSON value.
func checkJSON(body []byte, anyJSON string) *problem {
	malformed := func(pointer jsontext.Pointer, detail string) *problem {
		p := newProblem(http.StatusBadRequest, "malformed_json", "The body must be one JSON value.")
		return p.withField("body", string(pointer), detail)
	}

	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()

		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			return malformed(d.StackPointer(), "the name occurs twice")
		case err != nil:
			return malformed(d.StackPointer(), "invalid JSON from here on")
		case d.StackDepth() > maxDepth:
			return malformed("", "more than 64 levels")
		// null for an absent member would give one request two spellings.
		case token.Kind() == 'n' && !isWithin(string(d.StackPointer()), anyJSON):
			p := newProblem(http.StatusUnprocessableEntity, "invalid_request", "Omit a member that has no value.")
			return p.withField("body", string(d.StackPointer()), "must not be null")
		}

		// The value is complete. The decoder would accept another value after it.
		if d.StackDepth() == 0 {
			if rest := bytes.TrimLeft(body[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return malformed("", "data after the value")
			}

			return nil
		}
	}
}

// isWithin reports whether the pointer is at or below another one, which may be "" for none.
func isWithin(pointer, above string) bool {
	return above != "" && (pointer == above || strings.HasPrefix(pointer, above+"/"))
}

// strictJSON compares member names exactly and refuses unknown ones.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(integers))

		// The text of this error quotes the body.
		var semantic *json.SemanticError
		if errors.As(err, &semantic) {
			unfit := &unfitError{pointer: semantic.JSONPointer}
			if f := ownFault(nil); errors.As(err, &f) {
				unfit.pointer += jsontext.Pointer(f.Pointer())
			}

			return unfit
		}

		return err
	},
}

// unfitError says that a value satisfies the schema but not the Go type of its field.
type unfitError struct{ pointer jsontext.Pointer }

// unfitPrefix precedes the pointer in the text of an unfitError. humaProblem cuts it off,
// because huma passes on only the text of errors.
const unfitPrefix = "does not fit its field: "

func (e *unfitError) Error() string { return unfitPrefix + string(e.pointer) }

// integers reads whole numbers in every notation: 12, 12.0 and 1.2e1 are the same number in
// JSON. It refuses fractions, and numbers with a point or an exponent beyond 53 bits.
var integers = json.UnmarshalFromFunc(func(d *jsontext.Decoder, into *int64) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}

	token, err := d.ReadToken()
	if err != nil {
		return err
	}

	n, ok := parseInteger(token.String())
	if !ok {
		return errors.New("not a whole number")
	}
	*into = n

	return nil
})

// parseInteger reads a JSON number. It reports false if the number is not exactly an integer.
func parseInteger(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}

	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxNumber || math.Abs(f) >= maxExact || f != math.Trunc(f) {
		return 0, false
	}

	// 0.0e7 is zero. 1e-999 is not, although it is rounded to zero.
	if f == 0 {
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		return 0, strings.Trim(mantissa, "-0.") == ""
	}

	// ParseFloat rounds, so 5.00000000000000000001 gets here. The exact value is small: at
	// most 40 characters, and between 1 and 2^53.
	exact, ok := new(big.Rat).SetString(text)
	if !ok || !exact.IsInt() {
		return 0, false
	}

	return exact.Num().Int64(), true
}
