package engine

import (
	"context"
	"errors"
	"io"
	"net/http"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/embedded"
	"ratchet/server"
)

// requestEngine makes a request that only the engine knows and AWS does not: to the engine of this
// process, or to the engine at the endpoint. The caller closes the answer's body.
func requestEngine(ctx context.Context, b *server.Backend, target string, body io.Reader) (*http.Response, error) {
	endpoint, client := b.Config.EndpointURL, http.DefaultClient
	if b.Engine != nil {
		// The engine of this process has no port; its client calls it directly, and the host is
		// only a name.
		endpoint, client = "http://embedded.ratchet.internal", b.Engine.HTTPClient()
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Amz-Target", target)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")

	if b.Engine == nil {
		if err := prove(request, b.Config); err != nil {
			return nil, err
		}
	}

	return client.Do(request)
}

// prove adds what an engine in another process asks for: the token of the data directory, and the identity of the
// directory that the command expects there.
func prove(request *http.Request, cfg server.Config) error {
	token, err := embedded.Token(cfg.Data)
	if err != nil {
		return err
	}

	// Without it, the engine's answer says what is missing.
	if token != "" {
		request.Header.Set(embedded.TokenHeader, token)
	}

	if cfg.Identity != "" {
		request.Header.Set(embedded.IdentityHeader, cfg.Identity)
	}

	return nil
}

// readAnswer reads an answer of the engine that is not a stream.
func readAnswer(response *http.Response) ([]byte, error) {
	defer response.Body.Close()

	// An error of another server may be of any length.
	return io.ReadAll(io.LimitReader(response.Body, 1<<20))
}

// withFiles runs fn, which is an act, with the target, and closes it. The target must be a data
// directory or the process that serves one. For AWS it returns an error that begins with the
// text what and ends with the text instead.
func withFiles(ctx context.Context, s *settings.Settings, what, instead string, fn func(b *server.Backend) error) error {
	b, err := s.Open(ctx, server.Events{})
	if err != nil {
		return err
	}

	if b.Engine == nil && b.Config.EndpointURL == "" {
		return errors.Join(exit.UsageError("%s: the target is AWS in %s%s", what, server.ConfiguredRegion(ctx), instead), b.Close())
	}

	return errors.Join(s.Audited(ctx, b, fn), b.Close())
}
