package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// keptFor is how long an answer is shown to all who look at it before it is read again.
	keptFor = 10 * time.Second
	// keptAgain replaces it after an answer that says that there is none now.
	keptAgain = time.Second
	// keptTimeout bounds a read that no viewer waits for.
	keptTimeout = 20 * time.Second
	// keptMost is how old an answer may be that is shown while it is read again.
	keptMost = 3 * keptFor
	// mostKept is how many answers are kept.
	mostKept = 1000
)

// keeper keeps answers of the API, so that a page costs the service the same however many people look at it.
type keeper struct {
	draining <-chan struct{}

	mu      sync.Mutex
	answers map[string]*keptAnswer
}

// keptAnswer is the newest answer to a request.
type keptAnswer struct {
	body    []byte
	problem error
	at      time.Time // zero before the first one
	until   time.Time // when it is read again
	reading chan struct{}
}

func newKeeper(draining <-chan struct{}) *keeper {
	return &keeper{draining: draining, answers: map[string]*keptAnswer{}}
}

// kept is as get, but the answer may be ten seconds old. With wait it returns when there is an answer. Without, it never waits: it
// returns the newest answer of the last half minute, with its time. If there is none, the time is zero, and into stays as it is.
func (v *visit) kept(ctx context.Context, path string, into any, wait bool) (at time.Time, err error) {
	v.calls = append(v.calls, path)

	kept, a := v.keeper.take(v, path)
	if wait {
		if a, err = v.keeper.wait(ctx, kept, a); err != nil {
			return time.Time{}, err
		}
	}

	if a.problem != nil || a.at.IsZero() {
		return a.at, a.problem
	}

	// Since the last viewer has left, what needs a person may have been done.
	if !wait && time.Since(a.at) > keptMost {
		return time.Time{}, nil
	}

	if err := json.Unmarshal(a.body, into); err != nil {
		return a.at, fmt.Errorf("%s: %w", path, err)
	}

	return a.at, nil
}

// seenBy names who looks, as far as it decides what they see.
func (v *visit) seenBy() string {
	return fmt.Sprintf("%s\n%s\n%s\n%t", v.by.ID, v.by.Tenant, v.by.Scope, v.by.Personal)
}

// take returns the newest answer, and a copy of it as it is now, and lets it be read if it is old. When too many are kept, a new one
// is for this viewer alone.
func (k *keeper) take(v *visit, path string) (*keptAnswer, keptAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()

	now, key := time.Now(), v.seenBy()+"\n"+path

	a := k.answers[key]
	if a == nil {
		maps.DeleteFunc(k.answers, func(_ string, old *keptAnswer) bool { return old.reading == nil && now.Sub(old.at) > 6*keptFor })

		a = &keptAnswer{}
		if len(k.answers) < mostKept {
			k.answers[key] = a
		}
	}

	if a.reading == nil && !now.Before(a.until) {
		a.reading = make(chan struct{})
		go k.read(v.again(), path, a)
	}

	return a, *a
}

// wait returns the answer that is not old. a is as it was taken.
func (k *keeper) wait(ctx context.Context, kept *keptAnswer, a keptAnswer) (keptAnswer, error) {
	if a.reading == nil {
		return a, nil
	}

	select {
	case <-a.reading:
	case <-ctx.Done():
		return a, ctx.Err()
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	return *kept, nil
}

// read asks for the answer.
func (k *keeper) read(v *visit, path string, a *keptAnswer) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTimeout)
	defer cancel()

	ended := make(chan struct{})
	defer close(ended)

	go func() {
		select {
		case <-k.draining:
			cancel()
		case <-ended:
		}
	}()

	answer, err := v.read(ctx, path)

	k.mu.Lock()
	defer k.mu.Unlock()

	a.at = time.Now()
	a.until = a.at.Add(keptFor)
	a.problem = err

	if err == nil {
		a.body = answer.body.Bytes()
	} else if !lasting(err) {
		a.until = a.at.Add(keptAgain)
	}
	close(a.reading)
	a.reading = nil
}

// lasting reports whether the same request is refused in the same way in a moment.
func lasting(err error) bool {
	var refused *problem
	return errors.As(err, &refused) && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound)
}

// isForbidden reports whether the API refuses the viewer what it has.
func isForbidden(err error) bool {
	var refused *problem
	return errors.As(err, &refused) && refused.Status == http.StatusForbidden
}
