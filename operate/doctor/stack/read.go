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
// the calls of the resource's own service with the caller's permissions.
func Read(ctx context.Context, client *cloudcontrol.Client, r *Resource) (map[string]any, error) {
	out, err := client.GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &r.Type, Identifier: &r.Identifier})

	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, err
	case out.ResourceDescription == nil:
		return nil, fmt.Errorf("%s: an answer without a description", r)
	}

	properties := map[string]any{}
	if err := json.Unmarshal([]byte(aws.ToString(out.ResourceDescription.Properties)), &properties); err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}

	return properties, nil
}
