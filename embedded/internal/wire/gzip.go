package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// errTooLarge is the error of a body that is larger than maxBody.
var errTooLarge = errors.New("the body is too large")

// inflate returns the body of a request with Content-Encoding: gzip. The limit is the same as for a body without
// compression, so that a small request cannot take much memory.
func inflate(r io.Reader) ([]byte, error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}

	body, err := io.ReadAll(io.LimitReader(compressed, maxBody+1))
	if err == nil && len(body) > maxBody {
		return nil, errTooLarge
	}

	return body, err
}

// leastCompressed is the size in bytes of the smallest answer that is compressed.
const leastCompressed = 1 << 10

// takesGzip reports whether the caller accepts compressed answers.
func takesGzip(r *http.Request) bool {
	for _, list := range r.Header["Accept-Encoding"] {
		for name := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(name), ";")
			if name == "gzip" && !strings.HasPrefix(strings.ReplaceAll(weight, " ", "")+".", "q=0.") {
				return true
			}
		}
	}

	return false
}

// deflaters are used again: a new one takes about a megabyte.
var deflaters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

// deflate returns an answer compressed.
func deflate(answer []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(answer) / 4)

	w, _ := deflaters.Get().(*gzip.Writer) // the pool has nothing else
	defer deflaters.Put(w)

	w.Reset(&out)
	_, _ = w.Write(answer) // a buffer takes everything
	_ = w.Close()

	return out.Bytes()
}
