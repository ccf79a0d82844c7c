package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"ratchet/actions"
)

// actionKeysFile lies in a data directory and holds the keys of its one-time actions.
const actionKeysFile = "action-keys"

// actionKeys are the keys that cfg names. A data directory has its own: what is made in
// one keeps working there. Elsewhere there are none unless configured, and one-time
// actions say so.
func actionKeys(cfg Config, embedded bool) ([]actions.Key, error) {
	if cfg.ActionKeys != "" {
		keys, err := actions.ParseKeys(cfg.ActionKeys)
		if err != nil {
			return nil, fmt.Errorf("action-keys: %w", err)
		}

		return keys, nil
	}

	if !embedded && !local(cfg.EndpointURL) {
		return nil, nil
	}

	name := filepath.Join(cfg.Data, actionKeysFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && embedded {
		if err = newActionKeys(name); err == nil {
			text, err = os.ReadFile(name)
		}
	}

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("keys of one-time actions: %w", err)
	}

	if info, err := os.Stat(name); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s holds keys and is open to others (%s): chmod 600 it", name, info.Mode().Perm())
	}

	keys, err := actions.ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	return keys, nil
}

// newActionKeys writes a new key, whole or not at all.
func newActionKeys(name string) error {
	draft, err := os.CreateTemp(filepath.Dir(name), actionKeysFile+"-*") // readable by its owner only
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // gone already when all went well

	_, err = draft.WriteString(actions.NewKey(1).Reveal() + "\n")
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}

	return os.Rename(draft.Name(), name)
}

// local reports whether the endpoint is on this machine.
func local(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())

	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
