package api

import (
	"bytes"
	"errors"
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
	maxBody  = 256 << 10
	maxDepth = 64
)

// readBody reads a request's body within its bounds.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	tooLarge := newProblem(http.StatusRequestEntityTooLarge, "body_too_large", "A body has at most 256 KiB.")
	if r.ContentLength > maxBody {
		return nil, tooLarge.with("Connection", "close")
	}

	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}

	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body.Bytes(), nil
	case errors.As(err, &over):
		return nil, tooLarge
	case timedOut(err):
		return nil, newProblem(http.StatusRequestTimeout, "body_timeout", "The body did not arrive in time.").with("Connection", "close")
	}

	return nil, newProblem(http.StatusBadRequest, "malformed_request", "The body could not be read.").with("Connection", "close")
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// checkType takes application/json only. A form, which a browser sends without asking
// anybody, is none.
func checkType(r *http.Request) *problem {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, given := parameters["charset"]
	if err != nil || kind != "application/json" || given && !strings.EqualFold(charset, "utf-8") {
		return newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "The body must be application/json in UTF-8, and say so.").with("Accept", "application/json")
	}

	return nil
}

// checkJSON refuses, before anything is bound, what two parsers could read in two
// ways: names that occur twice, data behind the value, bad UTF-8, depth beyond 64; and
// null, which no member of ours takes but the free one, which may be any JSON.
func checkJSON(body []byte, free string) *problem {
	malformed := func(pointer jsontext.Pointer, detail string) *problem {
		return newProblem(http.StatusBadRequest, "malformed_json", "The body must be one JSON value.").field("body", string(pointer), detail)
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()
		var syntax *jsontext.SyntacticError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, jsontext.ErrDuplicateName):
			return malformed(d.StackPointer(), "the name occurs twice")
		case errors.As(err, &syntax), err != nil:
			return malformed(d.StackPointer(), "no JSON from here on")
		case d.StackDepth() > maxDepth:
			return malformed("", "deeper than 64 levels")
		case token.Kind() == 'n' && !within(string(d.StackPointer()), free):
			return newProblem(http.StatusUnprocessableEntity, "invalid_request", "A member without a value is left out.").field("body", string(d.StackPointer()), "null is no value here")
		}

		if d.StackDepth() == 0 {
			if rest := bytes.TrimLeft(body[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return malformed("", "data behind the value")
			}
			return nil
		}
	}
}

func within(pointer, free string) bool {
	return free != "" && (pointer == free || strings.HasPrefix(pointer, free+"/"))
}

// format reads strictly: names as they are written, and none that is not known.
var format = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(integers))
		var semantic *json.SemanticError
		if errors.As(err, &semantic) { // its own text quotes the body
			return &bindError{semantic.JSONPointer}
		}

		return err
	},
}

// bindError is what the schema let through and no field can take.
type bindError struct{ at jsontext.Pointer }

const unfit = "does not fit its field: "

func (e *bindError) Error() string { return unfit + string(e.at) }

// integers reads 12, and 12.0 and 1.2e1, which are the same number in JSON; what is
// none, or not exact in 53 bits, is refused.
var integers = json.UnmarshalFromFunc(func(d *jsontext.Decoder, into *int64) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}

	token, err := d.ReadToken()
	if err != nil {
		return err
	}

	n, ok := integer(token.String())
	if !ok {
		return errors.New("no whole number")
	}
	*into = n

	return nil
})

func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}

	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > 40 || math.Abs(f) >= 1<<53 || f != math.Trunc(f) {
		return 0, false
	}

	if f == 0 { // 0.0e7 is zero, 1e-999 is not
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		return 0, strings.Trim(mantissa, "-0.") == ""
	}

	exact, ok := new(big.Rat).SetString(text) // of 40 characters and a value from 1 to 2^53: small
	if !ok || !exact.IsInt() {
		return 0, false
	}

	return exact.Num().Int64(), true
}
