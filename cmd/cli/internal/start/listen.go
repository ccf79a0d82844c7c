package start

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"ratchet/api"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// listenFlags puts --listen and --api-listen into the settings. It fails if other machines
// could reach the engine's address.
func listenFlags(c *cobra.Command, cfg *server.Config) error {
	for name, field := range map[string]*string{"listen": &cfg.Listen, "api-listen": &cfg.API.Listen} {
		value, err := c.Flags().GetString(name)
		if err != nil {
			return err
		}

		// The default of a flag fills only a setting that no source has.
		if c.Flags().Changed(name) || *field == "" {
			*field = value
		}
	}

	if err := checkEngineListen(cfg); err != nil {
		return exit.With(exit.Usage, err)
	}

	return nil
}

// checkEngineListen fails if the engine may not listen on its address.
func checkEngineListen(cfg *server.Config) error {
	if !cfg.Network.ListenRemote {
		return loopback(cfg.Listen)
	}

	if _, _, err := net.SplitHostPort(cfg.Listen); err != nil {
		return fmt.Errorf("listen %q: must be HOST:PORT", cfg.Listen)
	}

	return nil
}

// checkAPIListen fails if the API may not listen on its address. Open means without authentication.
func checkAPIListen(cfg *server.Config, open bool) error {
	if err := api.CheckListen(cfg.API.Listen, open && !cfg.Network.ListenRemote); err != nil {
		return fmt.Errorf("api-%w", err)
	}

	return nil
}

// listen opens a listener. The flag chooses the address.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		err = fmt.Errorf("listen on %s: %w", address, err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: another process has the port, perhaps another `ratchet dev`; choose another one with %s, or a free one with port 0", err, flag)
		}

		return nil, err
	}

	return l, nil
}

func apiURL(b *server.Backend, l net.Listener) string {
	if b.Config.API.TLSCert != "" {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// loopback fails if other machines could reach the address. The engine authenticates no
// callers and checks no signatures.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: must be HOST:PORT", address)
	}

	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen %q: only loopback addresses (127.0.0.1, [::1], localhost) without the setting listen-remote: the engine does not authenticate callers", address)
	}

	return nil
}
