package machines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Limits of versions and aliases; the description's length is in characters.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const (
	maxVersions    = 1000
	maxAliases     = 100
	maxDescription = 256
)

// version is a revision with a number. The number is never used again, and the version never changes.
type version struct {
	Number      uint64 `json:"number"`
	Revision    uint64 `json:"revision"`
	Description string `json:"description,omitempty"`
	Created     int64  `json:"created"`
}

// versionOf returns the newest version of a revision, nil if it has none.
func (m *Machine) versionOf(revision uint64) *version {
	for i := range slices.Backward(m.Versions) {
		if m.Versions[i].Revision == revision {
			return &m.Versions[i]
		}
	}

	return nil
}

// versionNumbered returns the version with a number as ARNs write it, nil if there is none.
func (m *Machine) versionNumbered(text string) *version {
	return m.findVersion(func(v *version) bool { return strconv.FormatUint(v.Number, 10) == text })
}

func (m *Machine) findVersion(is func(*version) bool) *version {
	for i := range m.Versions {
		if is(&m.Versions[i]) {
			return &m.Versions[i]
		}
	}

	return nil
}

// publish adds a version for the current revision to a copy of a machine, unless the revision has one.
func (m *Machine) publish(description string, now time.Time) (*version, error) {
	if v := m.versionOf(m.Revision); v != nil {
		return v, nil
	}

	if err := m.addVersion(description, now); err != nil {
		return nil, err
	}

	return &m.Versions[len(m.Versions)-1], nil
}

// addVersion adds a version for the current revision to a copy of a machine.
func (m *Machine) addVersion(description string, now time.Time) error {
	if len(m.Versions) >= maxVersions {
		return wire.Errorf("ServiceQuotaExceededException", "a state machine has at most %d versions", maxVersions)
	}

	m.LastVersion++
	v := version{Number: m.LastVersion, Revision: m.Revision, Description: description, Created: now.UnixMilli()}
	// A clone, because readers of the old record share its slice.
	m.Versions = append(slices.Clone(m.Versions), v)

	return nil
}

func checkDescription(field, text string) error {
	return requests.SecretAtMost(text, field, maxDescription)
}

// change replaces a machine by a changed copy of it and stores it.
func (c *Catalog) change(arn, name string, change func(m *Machine) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	old := c.machines[name]
	switch {
	case old == nil:
		return doesNotExist(arn)
	case old.Deleting:
		return Deleting(arn)
	}

	// A copy, because readers use the old record without a lock.
	m := *old
	if err := change(&m); err != nil {
		return err
	}

	return c.replace(&m)
}

// replace stores a changed copy of a machine in its place. The caller holds c.mu.
func (c *Catalog) replace(m *Machine) error {
	if err := keys.Store(c.db, keys.Named(keys.Machine, m.Name), m); err != nil {
		return err
	}

	c.machines[m.Name] = m

	return nil
}

// publishVersion publishes the current revision. If the revision
// has a version, that version is the answer.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_PublishStateMachineVersion.html
func (c *Catalog) publishVersion(_ context.Context, in *struct{ StateMachineArn, RevisionID, Description string }) (any, error) {
	if err := checkDescription("description", in.Description); err != nil {
		return nil, err
	}

	m, err := c.named(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	var published *version

	err = c.change(in.StateMachineArn, m.Name, func(m *Machine) (err error) {
		// The revision of the creation has no ID. Requests call it INITIAL.
		if now := cmp.Or(m.revisionID(), "INITIAL"); in.RevisionID != "" && in.RevisionID != now {
			return wire.Errorf("ConflictException", "Failed to publish the State Machine version for revision %s. "+
				"The current State Machine revision is %s.", in.RevisionID, now)
		}

		published, err = m.publish(in.Description, c.clock.Now())

		return err
	})
	if err != nil {
		return nil, err
	}

	return map[string]any{
		"stateMachineVersionArn": c.account.Version(m.Name, published.Number),
		"creationDate":           requests.Stamp(published.Created),
	}, nil
}

// qualifiedMachine returns the machine in the ARN of a version or alias, nil if there is none,
// and the qualifier.
func (c *Catalog) qualifiedMachine(arn string) (*Machine, string, error) {
	name, qualifier, ours, err := c.account.Qualified(arn)
	if err != nil || !ours {
		return nil, "", err
	}

	return c.Lookup(name), qualifier, nil
}

// deleteVersion deletes a version that no alias refers to. Its executions go on.
func (c *Catalog) deleteVersion(_ context.Context, in *struct{ StateMachineVersionArn string }) (any, error) {
	m, number, err := c.qualifiedMachine(in.StateMachineVersionArn)
	if err != nil {
		return nil, err
	}

	if m == nil || m.versionNumbered(number) == nil {
		return requests.Empty, nil
	}

	return requests.Empty, c.change(in.StateMachineVersionArn, m.Name, func(m *Machine) error {
		// The look-up above was without the lock.
		v := m.versionNumbered(number)
		if v == nil {
			return nil
		}

		if names := m.aliasesOf(v.Number); len(names) > 0 {
			return wire.Errorf("ConflictException", "Version to be deleted must not be referenced by an alias. "+
				"Current list of aliases referencing this version: [%s]", strings.Join(names, ", "))
		}

		deleted := v.Number
		m.Versions = slices.DeleteFunc(slices.Clone(m.Versions), func(v version) bool { return v.Number == deleted })

		return nil
	})
}

// listVersions lists a machine's versions, the newest first.
func (c *Catalog) listVersions(_ context.Context, in *struct {
	pages.Request
	StateMachineArn string
}) (any, error) {
	m, err := c.named(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	// pages.Of sorts ascending, so the newest version needs the smallest text.
	order := func(v version) string { return fmt.Sprintf("%020d", math.MaxUint64-v.Number) }

	page, next, err := pages.Of(slices.Clone(m.Versions), &in.Request, keys.Versions, order)
	if err != nil {
		return nil, err
	}

	list := make([]any, len(page))
	for i, v := range page {
		list[i] = map[string]any{
			"stateMachineVersionArn": c.account.Version(m.Name, v.Number),
			"creationDate":           requests.Stamp(v.Created),
		}
	}

	return struct {
		StateMachineVersions []any   `json:"stateMachineVersions"`
		NextToken            *string `json:"nextToken,omitempty"`
	}{list, next}, nil
}
