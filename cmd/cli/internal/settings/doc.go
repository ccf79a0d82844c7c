// Package settings has what all commands share: the flags of settings and their sources, the target, the connection
// to it, and the row of the audit table.
//
// A command is a function of its group that returns a cobra.Command:
//
//	func accountsList(s *settings.Settings) *cobra.Command {
//		c := &cobra.Command{Use: "list", Short: "List accounts", Args: cobra.NoArgs}
//		limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many")
//		c.RunE = func(c *cobra.Command, _ []string) error {
//			return s.With(c.Context(), func(b *server.Backend) error { … terminal.PrintJSON(c.OutOrStdout(), …) })
//		}
//
//		return c
//	}
//
// A command below another one is listed in the Group of that one; a command of the top is listed in Commands in the
// doc.go of its group, with the groups of flags that it Takes. One that may run for seconds is passed to Long. Its
// errors come from package exit and name the flag. It also needs
//
//   - a row of the audit table in cmd/cli/audit_acts.go if it changes something, else in audit_test.go,
//   - an Example, or a line in cmd/cli/examples.txt,
//   - a line in cmd/cli/statuses.txt if it has exit statuses besides 0, 1 and 2,
//   - the reference: go test ./cmd/cli -run Reference$ -update.
package settings
