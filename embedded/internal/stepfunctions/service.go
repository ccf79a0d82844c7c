package stepfunctions

import (
	"context"
	"log/slog"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Config says under which names the service answers.
type Config struct {
	// Region and AccountID stand in every ARN. Both must be set.
	Region, AccountID string
	// Log gets the engine's own faults. Nil means slog.Default().
	Log *slog.Logger
}

// Service is Step Functions over a store. Its methods may be called from many
// goroutines.
type Service struct {
	db  *store.DB
	cfg Config
	log *slog.Logger
}

// New recovers the service's indexes from the store.
func New(db *store.DB, cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Service{db: db, cfg: cfg, log: cfg.Log}, nil
}

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target: "AWSStepFunctions", MessageKey: "message", InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{},
	}
}

// Run fires timers until ctx ends; then it returns nil.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
