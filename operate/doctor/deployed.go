package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/plural"
	"ratchet/operate/doctor/stack"
)

// Templates are the templates of CloudFormation that the program writes.
type Templates struct {
	// Files are the templates by their names, and Prefix their parameter of this name.
	Files  map[string][]byte
	Prefix string
	// StateMachineRole is the name of the state machine's role in the templates, without prefix and suffix.
	StateMachineRole string
}

const (
	// readAtOnce is how many resources are asked for at the same time.
	readAtOnce = 4
	// readAttempts is how often a call is sent: the API throttles.
	readAttempts = 6
	// namedResources is how many resources a check names.
	namedResources = 5
)

const deployTemplate = "deploy %s, or its part of `ratchet deploy terraform`, as this program writes it"

// reading is a resource of the templates, and what was read of it.
type reading struct {
	*stack.Resource
	is  map[string]any // nil: it is not there
	err error
}

// checkResources compares the resources of the templates that have no check of their own. Only AWS has them.
func (e *examination) checkResources(ctx context.Context) []Check {
	const subject = "templates"

	if e.caller == nil || e.cfg.Templates == nil {
		return nil
	}

	all, err := stack.Wanted(e.cfg.Templates.Files, stack.Account{
		Partition: e.caller.Partition, Region: e.cfg.AWS.Region, ID: e.caller.AccountID,
		Parameters: map[string]string{"Prefix": e.cfg.Templates.Prefix, "NameSuffix": e.nameSuffix()},
	})
	if err != nil {
		return []Check{NewUnchecked(subject, err.Error(), "report this as a fault of Ratchet")}
	}

	read := map[string][]reading{}
	if denied := e.readResources(ctx, all, read); denied != nil {
		return []Check{NewUnchecked(subject, "roles, policies, topic, rule, queues and services could not be compared: "+brief(denied), "allow cloudformation:GetResource, as the policy doctor of access.yaml does")}
	}

	var checks []Check

	same, left := map[string]int{}, []string{}
	for _, t := range all {
		found := judge(t, read[t.Name])
		checks = append(checks, found.checks...)

		if found.same > 0 {
			same[t.Name] = found.same
		}

		if found.left {
			left = append(left, t.Name)
		}
	}

	return append(checks, sameCheck(subject, same, left)...)
}

// sameCheck says how many resources are as in the templates, and which templates are not in use.
func sameCheck(subject string, same map[string]int, left []string) []Check {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(same)) {
		texts = append(texts, fmt.Sprintf("%d of %s", same[name], name))
	}

	if len(texts) == 0 {
		return nil
	}

	text := "as this program writes them: " + strings.Join(texts, ", ")
	if len(left) > 0 {
		text += "; nothing is deployed of " + strings.Join(left, ", ")
	}

	return []Check{NewOK(subject, text)}
}

// nameSuffix returns the parameter NameSuffix of the deployment, which only names tell: the state machine's role has it.
func (e *examination) nameSuffix() string {
	_, role, _ := strings.Cut(e.machineRole, ":role/")

	suffix, _ := strings.CutPrefix(role[strings.LastIndexByte(role, '/')+1:], e.cfg.Templates.Prefix+e.cfg.Templates.StateMachineRole)
	if suffix == role {
		return "" // a role of another name
	}

	return suffix
}

// readResources reads every resource into read, by template. It returns an error if the caller may read none.
func (e *examination) readResources(ctx context.Context, all []stack.Template, read map[string][]reading) (denied error) {
	client := cloudcontrol.NewFromConfig(e.cfg.AWS, func(o *cloudcontrol.Options) { o.RetryMaxAttempts = readAttempts })

	stack.Identify(ctx, client, all)

	var group errgroup.Group
	group.SetLimit(readAtOnce)

	var mu sync.Mutex

	first := true
	for _, t := range all {
		for _, r := range t.Resources {
			one := func() error {
				is, err := stack.Read(ctx, client, r)

				mu.Lock()
				defer mu.Unlock()
				read[t.Name] = append(read[t.Name], reading{r, is, err})

				return err
			}

			// The first one alone shows whether the API may be called at all.
			if first {
				first = false

				if err := one(); isDenied(err) {
					return err
				}

				continue
			}

			group.Go(func() error {
				_ = one() // it is in the reading
				return nil
			})
		}
	}
	_ = group.Wait() // no function returns an error

	for _, one := range read {
		slices.SortFunc(one, func(x, y reading) int { return cmp.Compare(x.String(), y.String()) })
	}

	return nil
}

// judgement is what was found of a template.
type judgement struct {
	checks []Check
	// same are the resources without a difference.
	same int
	// left: nothing of it is deployed.
	left bool
}

func judge(t stack.Template, all []reading) (found judgement) {
	subject, action := "template "+t.Name, fmt.Sprintf(deployTemplate, t.Name)

	var missing, unread []string

	there := 0
	reason := ""

	for _, r := range all {
		switch {
		case r.err != nil:
			unread = append(unread, r.String())
			reason = cmp.Or(reason, brief(r.err))
		case r.is == nil && !r.Optional:
			missing = append(missing, r.String())
		case r.is == nil:
		default:
			there++

			different := r.Differences(r.is)
			if len(different) == 0 {
				found.same++
				continue
			}
			found.checks = append(found.checks, NewWarning(r.String(), "not as in "+t.Name+": "+strings.Join(different, "; "), action))
		}
	}

	switch {
	case len(all) == 0:
	case there == 0 && len(unread) == 0 && t.Chosen:
		found.left = true
	case there == 0 && len(unread) == 0 && len(missing) > 0:
		found.checks = append(found.checks, NewUnchecked(subject, "none of "+plural.Of(len(missing), "resource")+" that it creates is there: what you have in its place was not compared", action))
	case len(missing) > 0 && !(t.Chosen && there == 0):
		found.checks = append(found.checks, NewWarning(subject, "missing: "+plural.First(missing, namedResources), action))
	}

	if len(unread) > 0 {
		found.checks = append(found.checks, NewUnchecked(subject, "could not be compared: "+plural.First(unread, namedResources)+": "+reason, "allow that call, as the policy doctor of access.yaml does"))
	}

	return found
}
