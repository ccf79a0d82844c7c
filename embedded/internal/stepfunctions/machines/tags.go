package machines

import "ratchet/embedded/internal/stepfunctions/settings"

// Tags returns the tags of a machine. found is false if there is no machine with the name.
func (c *Catalog) Tags(name string) (t settings.Tags, found bool) {
	m := c.Lookup(name)
	if m == nil {
		return nil, false
	}

	return m.Tags, true
}

// ChangeTags stores the changed tags of a machine. found is false if there is no machine with the name.
func (c *Catalog) ChangeTags(name string, change func(settings.Tags) settings.Tags) (found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	old := c.machines[name]
	if old == nil {
		return false, nil
	}

	m := *old
	m.Tags = change(old.Tags)

	if err := m.Tags.CheckCount(); err != nil {
		return true, err
	}

	return true, c.replace(&m)
}
