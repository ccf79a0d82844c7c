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

	"ratchet/once/actions"
)

// actionKeysFile is the name of the file with the keys of one-time actions in a data directory.
const actionKeysFile = "action-keys"

// actionKeys returns the keys that sign the ids of one-time actions. They come from cfg.ActionKeys, or
// else from the file in the data directory. The process with the embedded engine creates the file with
// one key if it is missing; other processes on the same machine only read it. Without cfg.ActionKeys,
// AWS and endpoints on other machines have no keys, and package actions refuses to create an action.
func actionKeys(cfg Config, isEmbedded bool) ([]actions.Key, error) {
	if cfg.ActionKeys != "" {
		keys, err := actions.ParseKeys(cfg.ActionKeys.Reveal())
		if err != nil {
			return nil, fmt.Errorf("action-keys: %w", err)
		}

		return keys, nil
	}

	if !isEmbedded && !isLocal(cfg.EndpointURL) {
		return nil, nil
	}

	name := filepath.Join(cfg.Data, actionKeysFile)

	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && isEmbedded {
		if err = createActionKeys(name); err == nil {
			text, err = os.ReadFile(name)
		}
	}

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("keys of one-time actions: %w", err)
	}

	// ssh refuses private keys in the same case. Windows has no such mode bits.
	if info, err := os.Stat(name); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s holds keys and other users can read it (%s): chmod 600 it", name, info.Mode().Perm())
	}

	keys, err := actions.ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	return keys, nil
}

// createActionKeys writes a file with one new key. The file is written under another name, synced and
// renamed, so that it is complete or missing even after a crash.
func createActionKeys(name string) error {
	// CreateTemp makes a file that only its owner can read.
	draft, err := os.CreateTemp(filepath.Dir(name), actionKeysFile+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // after the rename there is nothing to remove

	_, err = draft.WriteString(actions.NewKey(1).Reveal() + "\n")
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}

	return os.Rename(draft.Name(), name)
}

// isLocal reports whether the endpoint is on this machine.
func isLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}

	ip := net.ParseIP(u.Hostname())

	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
