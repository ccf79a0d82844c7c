package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
)

// Identify finds the resources whose identifiers have a part that no template decides, such as the cluster of a service:
// it lists all of their type. One that is in no list is not there. A name that is there several times is a resource for
// each. If the list cannot be read, [Read] returns the reason.
func Identify(ctx context.Context, client *cloudcontrol.Client, all []Template) {
	lists := map[string]listing{}

	for i := range all {
		var resources []*Resource
		for _, r := range all[i].Resources {
			if !kinds[r.Type].listed {
				resources = append(resources, r)
				continue
			}

			list, has := lists[r.Type]
			if !has {
				list = listed(ctx, client, r.Type)
				lists[r.Type] = list
			}

			resources = append(resources, list.identify(r)...)
		}

		all[i].Resources = resources
	}
}

// listing is what AWS has of a type: identifiers by the names of the resources.
type listing struct {
	identifiers map[string][]string
	err         error
}

func listed(ctx context.Context, client *cloudcontrol.Client, kindName string) listing {
	found := listing{identifiers: map[string][]string{}}
	pages := cloudcontrol.NewListResourcesPaginator(client, &cloudcontrol.ListResourcesInput{TypeName: &kindName})

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return listing{err: fmt.Errorf("list %s: %w", kindName, err)}
		}

		for _, one := range page.ResourceDescriptions {
			// An ARN, and what else the identifier has, as in arn:aws:ecs:REGION:ACCOUNT:service/CLUSTER/NAME|CLUSTER.
			identifier := aws.ToString(one.Identifier)
			arn, _, _ := strings.Cut(identifier, "|")
			name := arn[strings.LastIndexByte(arn, '/')+1:]
			found.identifiers[name] = append(found.identifiers[name], identifier)
		}
	}

	return found
}

// identify returns the resource once for each of its identifiers, or once without any.
func (l listing) identify(r *Resource) []*Resource {
	one := *r
	one.Identifier, one.unlisted = "", l.err

	if len(l.identifiers[r.Name]) == 0 {
		return []*Resource{&one}
	}

	var all []*Resource
	for _, identifier := range l.identifiers[r.Name] {
		there := one
		there.Identifier = identifier
		all = append(all, &there)
	}

	return all
}
