package operate

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/server/deploy"
)

func deployCommand(s *settings.Settings) *cobra.Command {
	var commands []*cobra.Command
	for _, kind := range deploy.Kinds() {
		commands = append(commands, s.Takes(deployTemplates(s, kind), settings.OutputFlags, settings.SettingsFlags, settings.StoreFlags, settings.OrdersFlags, settings.QueueFlags))
	}

	commands = append(commands, s.Takes(deployPlan(s), settings.OutputFlags, settings.TargetFlags, settings.OrdersFlags, settings.QueueFlags))

	return settings.Group("deploy", "Write the templates that deploy this program, and plan a rollout", commands...)
}

const deployHelp = `Writes the templates of %s that deploy this program to AWS: its tables, queue, activities, state machine,
alarms, services, and a policy for each part with what that part calls. They are made of the lists with which
the program runs, so a program with a workflow of its own writes its own. Nothing is connected to, and no secret is
written: the templates have parameters for them.

The prefix of all names is a parameter of the templates, and not the setting prefix. Other settings that change what
there is go into the templates: orders-table and its companions, order-lists, requests-queue. A table that orders-table
names is neither created nor changed.

The folder must be new, empty or of an earlier call; --force replaces files of the same names in any folder.
docs/operate/deploy.md has the commands that deploy them.`

func deployTemplates(s *settings.Settings, kind deploy.Kind) *cobra.Command {
	name := map[deploy.Kind]string{deploy.CloudFormation: "CloudFormation", deploy.Terraform: "Terraform"}[kind]

	c := &cobra.Command{
		Use: string(kind) + " --out DIR", Short: "Write templates of " + name + " for this program", Args: cobra.NoArgs,
		Long: fmt.Sprintf(deployHelp, name),
	}
	dir := c.Flags().String("out", "", "the folder for the templates")
	force := c.Flags().Bool("force", false, "also write into a folder with other files")

	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := arguments.Given(c.Flags(), "out"); err != nil || *dir == "" {
			return errors.Join(err, exit.UsageError("out: name the folder for the templates"))
		}

		cfg, _, err := s.Load()
		if err != nil {
			return err
		}

		program, err := server.Deployment(c.Context(), cfg)
		if err != nil {
			return exit.With(exit.Usage, err)
		}

		files, err := kind.Files(program)
		if err != nil {
			return err
		}

		names, err := deploy.Write(*dir, files, *force)
		if errors.Is(err, deploy.ErrOtherContent) {
			return exit.UsageError("out: %w; name another folder, or --force", err)
		} else if err != nil {
			return err
		}

		if s.JSON {
			return terminal.PrintJSON(c.OutOrStdout(), map[string]any{"dir": *dir, "files": names, "undeclared": program.UndeclaredParts()})
		}

		_, err = fmt.Fprintf(c.OutOrStdout(), "%s in %s: %s, %s\n", plural.Of(len(names), "file"), *dir,
			plural.Of(len(program.Tables), "table"), plural.Of(len(program.Activities), "activity"))
		for _, u := range program.Undeclared {
			fmt.Fprintf(c.OutOrStdout(), "not declared: what %s calls on AWS; list it in %s, []string{} if it calls only Ratchet\n", u.Part, u.Field)
		}

		return err
	}

	return c
}
