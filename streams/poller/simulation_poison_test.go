package poller

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/lanes"
)

// vanish ends the worker in the middle of a call, as os.Exit does in a handler.
func (s *simulation) vanish(ctx context.Context, w *simWorker, r streams.Record) error {
	rng := s.chance("vanish", r.Owner)
	worker.Wait(ctx, time.Duration(rng.Int64N(int64(400*time.Millisecond))))
	w.die()
	<-ctx.Done()

	return ctx.Err()
}

func (s *simulation) isPoison(id string, version int) bool {
	return s.poison == id+"/"+strconv.Itoa(version)
}

// missing reports whether the handler may miss a version.
func (s *simulation) missing(id string, version int) bool {
	return s.isPoison(id, version) || s.lost(id, version)
}

// checkDeadLetters checks that the record that ends workers was given up, and no other one.
func (s *simulation) checkDeadLetters() {
	letters := s.deadLetters("h")
	for _, letter := range letters {
		if id, version := keyAndVersion(*letter.Record); !s.isPoison(id, version) || letter.Error != lanes.ErrProcessEnded.Error() {
			s.Errorf("seed %d: dead letter %+v", s.seed, letter)
		}
	}

	id, digits, _ := strings.Cut(s.poison, "/")
	if version, _ := strconv.Atoi(digits); s.poison != "" && len(letters) != 1 && !s.lost(id, version) {
		s.Errorf("seed %d: %d dead letters of %s", s.seed, len(letters), s.poison)
	}
}

// quiet reports whether all that can be handled is, and what ends workers was given up.
func (s *simulation) handledAll() bool {
	if !s.complete(s.got, s.missing) || (s.beside != nil && !s.complete(s.beside, s.lost)) {
		return false
	}

	id, digits, _ := strings.Cut(s.poison, "/")
	version, _ := strconv.Atoi(digits)

	return s.poison == "" || len(s.deadLetters("h")) > 0 || s.lost(id, version)
}
