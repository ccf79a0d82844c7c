package orders

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/transitions"
)

const setFlag = `NAME=VALUE of an own attribute: a text, or DynamoDB's JSON such as {"N":"3"}; repeat for more`

// ownFlags adds the flags for changes of own attributes. The function returns the changes.
func ownFlags(c *cobra.Command) func() (transitions.OwnChange, error) {
	set := c.Flags().StringArray("set", nil, setFlag)
	remove := c.Flags().StringArray("remove", nil, "NAME of an own attribute to remove; repeat for more")
	equals := c.Flags().StringArray("if", nil, "NAME=VALUE that an own attribute must have before; repeat for more")
	missing := c.Flags().StringArray("if-missing", nil, "NAME of an own attribute that must not be there before; repeat for more")

	return func() (change transitions.OwnChange, err error) {
		change.Remove, change.If.Missing = *remove, *missing

		if change.Set, err = parseOwn(*set); err == nil {
			change.If.Equals, err = parseOwn(*equals)
		}

		return change, err
	}
}

// parseOwn parses NAME=VALUE. Its errors do not repeat the values, which may be personal data.
func parseOwn(pairs []string) (transitions.Attributes, error) {
	if len(pairs) == 0 {
		return nil, nil //nolint:nilnil // the flag was not given
	}

	own := transitions.Attributes{}
	for i, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found {
			return nil, exit.UsageError("own attribute number %d: must be NAME=VALUE", i+1)
		}

		// The second value would silently win.
		if own[name] != nil {
			return nil, exit.UsageError("own attribute number %d: %s was given before", i+1, name)
		}

		if own[name] = (&types.AttributeValueMemberS{Value: text}); !strings.HasPrefix(text, "{") {
			continue
		}

		var typed transitions.Attributes
		if err := typed.UnmarshalJSON([]byte(`{"value":` + text + `}`)); err != nil {
			return nil, exit.UsageError("own attribute %s: must be a text, or a value in DynamoDB's JSON such as {\"N\":\"3\"}", name)
		}
		own[name] = typed["value"]
	}

	return own, nil
}

// ordersEditOwn returns the edit that changes nothing else: its change is the edit itself.
func ordersEditOwn(s *settings.Settings) *cobra.Command {
	return editCommand(s, "set-own ORDER", "Set and remove own attributes (--set, --remove)", cobra.ExactArgs(1),
		func(c *cobra.Command, _ []string) (sendEdit, error) {
			if !c.Flags().Changed("set") && !c.Flags().Changed("remove") {
				return nil, exit.UsageError("--set or --remove must be given")
			}

			return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
				change := e.Own
				e.Own = transitions.OwnChange{}

				return o.SetOwn(c.Context(), e, change)
			}, nil
		})
}

// printOwn prints own attributes, one on each line: texts as they are, other values in DynamoDB's JSON.
func printOwn(w io.Writer, own transitions.Attributes) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if text, is := own[name].(*types.AttributeValueMemberS); is {
			fmt.Fprintf(w, "own %s\t%s\n", name, text.Value)
			continue
		}

		value, err := json.Marshal(transitions.Attributes{"": own[name]})
		if err == nil {
			// The value alone, without the object around it.
			fmt.Fprintf(w, "own %s\t%s\n", name, value[len(`{"":`):len(value)-1])
		}
	}
}
