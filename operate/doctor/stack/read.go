package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
)

// Read returns the properties of a resource as it is, nil if it is not there. It asks the Cloud Control API, which makes
// the calls of the resource's own service with the caller's permissions. Of some resources it also asks for the one that a
// property names, as the task definition of a service, and returns its properties in the place of the name.
func Read(ctx context.Context, client *cloudcontrol.Client, r *Resource) (map[string]any, error) {
	if kinds[r.Type].listed && r.Identifier == "" {
		return nil, r.unlisted
	}

	properties, err := get(ctx, client, r.Type, r.Identifier)
	if err != nil || properties == nil {
		return nil, err
	}

	for property, kindName := range kinds[r.Type].inner {
		identifier, _ := properties[property].(string)

		inner, err := get(ctx, client, kindName, identifier)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", property, err)
		}
		properties[property] = inner
	}

	return properties, nil
}

// get returns the properties of a resource, nil if it is not there.
func get(ctx context.Context, client *cloudcontrol.Client, kindName, identifier string) (map[string]any, error) {
	out, err := client.GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &kindName, Identifier: &identifier})

	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, err
	case out.ResourceDescription == nil:
		return nil, fmt.Errorf("%s %s: an answer without a description", kindName, identifier)
	}

	properties := map[string]any{}
	if err := json.Unmarshal([]byte(aws.ToString(out.ResourceDescription.Properties)), &properties); err != nil {
		return nil, fmt.Errorf("%s %s: %w", kindName, identifier, err)
	}

	return properties, nil
}
