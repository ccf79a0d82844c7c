package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"ratchet/api/auth"
)

const (
	// maxViewers bounds how many pages are followed at once, in all browsers.
	maxViewers = 500
	// beat is how often a stream without news has a comment, so that proxies keep it open.
	beat = 15 * time.Second
	// validFor is how often the login of a viewer is looked at: a key that has ended is seen within 5 s more.
	validFor = 2 * time.Second
	// markedFor is how long a page whose mark is the same is not read again.
	markedFor = 15 * time.Second
	// settleFor is how long after a change of the mark the page is read once more: an execution goes on a moment after its order.
	settleFor = 2 * time.Second
)

// hub looks at pages again for all who follow them: people who look at the same page share one look.
type hub struct {
	draining <-chan struct{}

	mu      sync.Mutex
	watched map[string]*watch
	viewers int
}

// watch is a page that is followed.
type watch struct {
	viewers map[chan []byte]bool
	last    []byte
	stop    context.CancelFunc
}

func newHub(draining <-chan struct{}) *hub {
	return &hub{draining: draining, watched: map[string]*watch{}}
}

// join returns a channel with the newest content of a page, of which only the newest is kept. It reports false
// if too many pages are followed. The page is looked at until the last viewer has left.
func (b *hub) join(key string, every time.Duration, look func(context.Context) []byte) (news chan []byte, leave func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.viewers == maxViewers {
		return nil, nil, false
	}
	b.viewers++

	w := b.watched[key]
	if w == nil {
		ctx, stop := context.WithCancel(context.Background())
		w = &watch{viewers: map[chan []byte]bool{}, stop: stop}
		b.watched[key] = w

		go b.run(ctx, w, every, look)
	}

	news = make(chan []byte, 1)
	if w.last != nil {
		news <- w.last
	}
	w.viewers[news] = true

	return news, func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		b.viewers--
		delete(w.viewers, news)

		if len(w.viewers) == 0 {
			w.stop()
			delete(b.watched, key)
		}
	}, true
}

// run looks at a page until ctx ends, and hands on what has changed.
func (b *hub) run(ctx context.Context, w *watch, every time.Duration, look func(context.Context) []byte) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()

	for {
		seen := look(ctx)

		b.mu.Lock()
		if seen != nil && !bytes.Equal(seen, w.last) && ctx.Err() == nil {
			w.last = seen

			for news := range w.viewers {
				select {
				case <-news: // it was not sent yet, and is old
				default:
				}
				news <- seen
			}
		}
		b.mu.Unlock()

		select {
		case <-ctx.Done():
			return
		case <-b.draining:
			return
		case <-ticks.C:
		}
	}
}

// follow sends the content of a page, and again whenever it has changed.
func (h *handler) follow(w http.ResponseWriter, r *http.Request, p page) {
	v, ok := h.begin(w, r)
	if !ok {
		return
	}

	if p.every == 0 {
		http.Error(w, "this page does not change", http.StatusNotFound)
		return
	}

	key := v.seenBy() + "\n" + r.URL.RequestURI()

	var looks looks

	news, leave, ok := h.live.join(key, p.every, func(ctx context.Context) []byte {
		look := v.again()

		if p.mark != nil {
			mark, err := p.mark(ctx, v.again())
			if err != nil || !looks.look(mark, time.Now()) {
				return nil
			}
			look.followed = !looks.settling
		}

		c, status := h.load(ctx, look, p)
		if status == http.StatusUnauthorized || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
			return nil // what was seen stays
		}

		var b bytes.Buffer
		if err := inner(c.body, look.curl()).Render(ctx, &b); err != nil {
			h.cfg.Log.ErrorContext(ctx, "a page of the console cannot be written", "path", r.URL.Path, "err", err)
			return nil
		}

		return b.Bytes()
	})
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are followed", http.StatusServiceUnavailable)

		return
	}
	defer leave()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	h.stream(w, r, v, news)
}

// looks decides whether a page is read again.
type looks struct {
	seen     string
	at       time.Time // of the newest look
	settled  bool
	settling bool // the newest look is the one after a change has settled
}

// look reports whether the page with the mark is read now.
func (m *looks) look(mark string, now time.Time) bool {
	since := now.Sub(m.at)

	switch m.settling = false; {
	case mark != m.seen:
		m.settled = false
	case !m.settled && since >= settleFor:
		m.settled, m.settling = true, true
	case since < markedFor:
		return false
	}
	m.seen, m.at = mark, now

	return true
}

func (h *handler) stream(w http.ResponseWriter, r *http.Request, v *visit, news <-chan []byte) {
	control := http.NewResponseController(w)
	beats, checks := time.NewTicker(beat), time.NewTicker(validFor)
	defer beats.Stop()
	defer checks.Stop()

	for ended := false; !ended; {
		message := []byte(": still there\n\n")

		select {
		case <-r.Context().Done():
			return
		case <-h.cfg.Draining:
			return
		case <-beats.C:
		case <-checks.C:
			message = nil
		case page := <-news:
			message = event(page)
		}

		// The login may have ended since.
		_, known := h.cfg.Identify(r)
		ended = !known || v.by.Valid != nil && errors.Is(v.by.Valid(r.Context()), auth.ErrRefused)

		switch {
		case ended:
			message = h.endedEvent(r)
		case message == nil:
			continue
		}

		// A connection that takes nothing for so long is gone.
		_ = control.SetWriteDeadline(time.Now().Add(beat)) // not every writer has deadlines

		if _, err := w.Write(message); err != nil {
			return
		}

		if err := control.Flush(); err != nil {
			return
		}
	}
}

// endedEvent says on the page that its login has ended.
func (h *handler) endedEvent(r *http.Request) []byte {
	var b bytes.Buffer
	if err := endedPage(loginAddress("")).Render(r.Context(), &b); err != nil {
		return nil
	}

	return event(b.Bytes())
}

// event returns a content as one server-sent event.
func event(content []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(content) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')

	return b.Bytes()
}
