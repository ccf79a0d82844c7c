package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// errTooLarge is the error of a body that is larger than maxBody.
var errTooLarge = errors.New("the body is too large")

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
