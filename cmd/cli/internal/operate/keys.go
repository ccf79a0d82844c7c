package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
)

func keysCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("keys", "Create, list, rotate and revoke keys of the HTTP API",
		append(s.PrintsJSON(keysCreate(s), keysList(s), keysRotate(s)), keysRevoke(s))...)
}

func printKey(out io.Writer, asJSON bool, key auth.Key, token auth.Token) error {
	if asJSON {
		return terminal.PrintJSON(out, struct {
			auth.Key
			Token string `json:"token"`
		}{key, string(token)})
	}
	// The token is stored nowhere, only its hash.
	sees := ""
	if key.Personal {
		sees = " and sight of personal data"
	}
	_, err := fmt.Fprintf(out, "%s\n\nkey %s for %s, tenant %s, scope %s%s. This is the only time that it is shown.\n", string(token), key.ID, key.Name, key.Tenant, key.Scope, sees)

	return err
}
