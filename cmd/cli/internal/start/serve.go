package start

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/api"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/cmd/cli/internal/views"
	"ratchet/console"
	"ratchet/notify/webhooks"
	"ratchet/server"
)

func serveCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API to authenticated callers",
		Long: "Serves the HTTP API on --api-listen until interrupted. Callers need an API key (`ratchet keys\n" +
			"create`) or a token of the issuer that the settings auth-issuer and auth-audience name. On an\n" +
			"endpoint or AWS it does nothing else: run `ratchet worker` as well. On a data directory that no\n" +
			"other process serves, it also runs the engine and a worker, as `ratchet dev` does.\n\n" +
			"With --dev callers are not authenticated, and the address must be a loopback address. --openapi\n" +
			"prints the OpenAPI document and exits.",
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.String("listen", server.DefaultListen, "HOST:PORT of the embedded engine, on loopback")
	f.String("api-listen", server.DefaultAPIListen, "HOST:PORT of the HTTP API")
	f.String("tls-cert", "", "PEM file of the certificate; without it the API speaks HTTP, for a proxy that terminates TLS")
	f.String("tls-key", "", "PEM file of the certificate's key")
	open := f.Bool("dev", false, "give every process on this machine the scope admin, without authentication")
	document := f.Bool("openapi", false, "print the OpenAPI document and exit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *document {
			return printDocument(c.OutOrStdout())
		}
		return serve(c, s, *open)
	}

	return c
}

func printDocument(out io.Writer) error {
	document, err := api.OpenAPI()
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", document)
	}

	return err
}

func serve(c *cobra.Command, s *settings.Settings, open bool) error {
	cfg, _, err := s.Load()
	if err != nil {
		return err
	}

	if err := listenFlags(c, &cfg); err != nil {
		return err
	}

	// A flag that was not given must not hide a setting of the file.
	for name, field := range map[string]*string{"tls-cert": &cfg.API.TLSCert, "tls-key": &cfg.API.TLSKey} {
		if c.Flags().Changed(name) {
			*field, _ = c.Flags().GetString(name)
		}
	}

	// Checked before the data is opened, so that a bad address leaves nothing behind.
	if err := errors.Join(cfg.Validate(), checkAPIListen(&cfg, open)); err != nil {
		return exit.With(exit.Usage, err)
	}

	if err := s.CheckWorkflow(); err != nil {
		return err
	}

	// The backend reads the settings again; the checked addresses replace its own.
	b, err := s.OpenWith(c.Context(), server.Events{}, func(into *server.Config) {
		into.Listen, into.API = cfg.Listen, cfg.API

		// Tenants choose the destinations of their endpoints, also where the data is on this machine.
		if !open && into.WebhookReach == "" {
			into.WebhookReach = string(webhooks.ReachPublic)
		}
	})
	if err != nil {
		return err
	}

	// No other process serves the directory, so this one runs everything.
	if b.Engine != nil {
		name := "serve"
		if open {
			name = "dev"
		}

		return errors.Join(runEmbedded(c.Context(), c.OutOrStdout(), b, name, s.JSON), b.Close())
	}

	return errors.Join(serveRemote(c, s, b, open), b.Close())
}

// serveRemote serves the API of an endpoint or AWS.
func serveRemote(c *cobra.Command, s *settings.Settings, b *server.Backend, open bool) (err error) {
	listener, err := listen(c.Context(), b.Config.API.Listen, "--api-listen")
	if err != nil {
		return err
	}

	admin, err := b.StartAdmin(c.Context())
	// The port is free again for the next try.
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, admin.Close()) }()

	url := apiURL(b, listener)
	if s.JSON {
		err = terminal.PrintJSON(c.OutOrStdout(), map[string]string{"api": url, "admin": admin.URL()})
	} else if open {
		_, err = fmt.Fprintf(c.OutOrStdout(), "The HTTP API is at %s (loopback; callers are not authenticated).\n", url)
	} else {
		apiBanner(c.OutOrStdout(), url, strings.TrimSpace(programName()+" "+backendFlags(b)), b.Config.Console.Console != "off")
	}

	if err == nil && !s.JSON {
		err = views.PrintAdmin(c.OutOrStdout(), false, admin)
	}

	if err != nil {
		return errors.Join(err, listener.Close())
	}

	return b.ServeAPI(c.Context(), listener, open)
}

// backendFlags returns the flags with which another command reaches the same backend.
func backendFlags(b *server.Backend) string {
	if b.Config.EndpointURL == "" {
		return ""
	}
	return "--endpoint-url " + b.Config.EndpointURL
}

// apiBanner prints how to call the API with a key.
func apiBanner(out io.Writer, url, ratchet string, withConsole bool) {
	fmt.Fprintf(out, `The HTTP API is at %s (docs/guides/api.md). Callers need a key:
  %s keys create --name me --scope admin
  curl -H 'Authorization: Bearer rk_...' %[1]s/v1/orders

`, url, ratchet)

	if withConsole {
		fmt.Fprintf(out, "See the orders in a browser, after a login with a key or at the issuer (docs/operate/console.md):\n  %s%s/\n\n", url, console.Path)
	}
}
