package settings

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/embedded"
	"ratchet/server"
)

// EndpointFile is a file in a data directory while `ratchet dev` serves the directory. It
// holds the URL of the engine.
const EndpointFile = "endpoint"

// Open connects to the backend that the settings name. Only one process can have a data
// directory open, so if `ratchet dev` serves it, open connects to that process.
func (s *Settings) Open(ctx context.Context, events server.Events) (*server.Backend, error) {
	return s.OpenWith(ctx, events, func(*server.Config) {})
}

// OpenWith is open, with changes to the settings that come from flags of one command.
func (s *Settings) OpenWith(ctx context.Context, events server.Events, change func(*server.Config)) (*server.Backend, error) {
	cfg, log, err := s.Load()
	if err != nil {
		return nil, err
	}
	change(&cfg)

	b, err := s.ConnectWithWait(ctx, cfg, log, events)
	if err != nil {
		return nil, err
	}

	// Only for an embedded engine: tables in AWS are created by `ratchet init`, with the
	// permissions that it needs.
	if b.Engine != nil {
		if err := s.createResources(ctx, b); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}

	return b, nil
}

// createResources creates the resources that the engine lacks. The directory may be new, so no
// command that writes needs `ratchet init` before it. Commands that need the state machine have
// checked it; the others need only the tables.
func (s *Settings) createResources(ctx context.Context, b *server.Backend) error {
	if s.Creates {
		err := b.Init(ctx)
		// A state machine that does not fit does not stop a command that needs only the
		// tables.
		if !errors.Is(err, server.ErrStateMachine) {
			return err
		}
	}

	return b.CreateTables(ctx)
}

// lockWait is how long a command waits while another one has the data directory open. Most commands
// end in a moment.
const lockWait = 2 * time.Second

// ConnectWithWait is connect, tried again while another process has the directory open.
func (s *Settings) ConnectWithWait(ctx context.Context, cfg server.Config, log *slog.Logger, events server.Events) (*server.Backend, error) {
	return UntilUnlocked(ctx, func() (*server.Backend, error) { return s.connect(ctx, cfg, log, events) })
}

// UntilUnlocked calls open again while another process has the data directory open.
func UntilUnlocked[T any](ctx context.Context, open func() (T, error)) (opened T, err error) {
	retry := time.NewTicker(lockWait / 40)
	defer retry.Stop()

	for deadline := time.Now().Add(lockWait); ; {
		opened, err = open()
		// A lock that lasts longer belongs to a process that stays.
		if !errors.Is(err, embedded.ErrLocked) || time.Now().After(deadline) {
			return opened, err
		}

		select {
		case <-ctx.Done():
			return opened, ctx.Err()
		case <-retry.C:
		}
	}
}

// connect connects to the target of the command. A command that only reads fails if there is no
// data.
func (s *Settings) connect(ctx context.Context, cfg server.Config, log *slog.Logger, events server.Events) (*server.Backend, error) {
	at := ResolveTarget(ctx, cfg)
	s.note(at)

	switch at.Kind {
	case targetEmbedded:
		// A command that reads must not create an empty directory: it would report that there are
		// no orders.
		if !s.Creates {
			if err := dataExists(at.where); err != nil {
				return nil, err
			}
		}

		// After a failed write the engine cannot go on, and the command must not report success.
		events.Failed = exit.EndProcess

		return server.Embed(cfg, log, events)
	case targetServed:
		// The process that has the directory open is an endpoint like any other, as long as it has this
		// directory open: another one may have got its port.
		cfg.EndpointURL, cfg.Identity = at.where, at.identity
	case targetEndpoint, targetAWS:
	}

	return server.Connect(ctx, cfg, log, events)
}

// servedBy returns the URL of the process that serves the directory, and the identity of the directory. It reports
// false if no process answers there, or if it serves another directory: a killed process leaves the file behind, and
// another process may have got its port.
func servedBy(ctx context.Context, data string) (served, identity string, ok bool) {
	text, err := os.ReadFile(filepath.Join(data, EndpointFile))
	if err != nil {
		return "", "", false
	}

	served = strings.TrimSpace(string(text))

	identity, err = embedded.Identity(data)
	if err != nil || identity == "" {
		return "", "", false
	}

	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, served, http.NoBody)
	if err != nil {
		return "", "", false
	}
	request.Header.Set(embedded.IdentityHeader, identity)

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", "", false
	}

	// The engine repeats the identity. Another server knows nothing of it.
	return served, identity, answer.Body.Close() == nil && answer.StatusCode == http.StatusOK && answer.Header.Get(embedded.IdentityHeader) == identity
}

// servedTimeout bounds the question whether a process serves a directory.
const servedTimeout = 2 * time.Second

// With runs fn on the backend and closes it afterwards.
func (s *Settings) With(ctx context.Context, fn func(*server.Backend) error) error {
	return s.WithEvents(ctx, server.Events{}, fn)
}

// CheckWorkflow fails unless the definition of orders, the state machine and the steps fit each
// other. A command that creates the state machine or starts executions calls it first, so that
// nothing is opened or written if it fails.
func (s *Settings) CheckWorkflow() error {
	cfg, _, err := s.Load()
	if err != nil {
		return err
	}
	_, err = cfg.CheckWorkflow()

	return err
}

// WithWorkflow is with, after CheckWorkflow.
func (s *Settings) WithWorkflow(ctx context.Context, fn func(*server.Backend) error) error {
	if err := s.CheckWorkflow(); err != nil {
		return err
	}

	return s.With(ctx, fn)
}

// WithEvents is with, with events. If the command is an act, its row in the audit table is written
// before fn is called.
func (s *Settings) WithEvents(ctx context.Context, events server.Events, fn func(*server.Backend) error) error {
	b, err := s.Open(ctx, events)
	if err != nil {
		return err
	}

	// Closed after the result is written: the audit table is in the same backend.
	return errors.Join(s.Audited(ctx, b, fn), b.Close())
}
