package embedded

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Headers of requests to an engine on a socket. AWS has none of them.
const (
	// IdentityHeader has the identity of the data directory that the caller expects. An engine over another
	// directory refuses the request with status 421. Without the header nothing is compared.
	IdentityHeader = "X-Ratchet-Identity"
	// TokenHeader has the token of the data directory. Requests for operations that AWS does not have
	// need it.
	TokenHeader = "X-Ratchet-Token"
)

// Files of a data directory.
const (
	identityFile = "identity"
	tokenFile    = "token"
)

// keys are what an engine on a socket is recognized by, and what it recognizes its owner by.
type keys struct {
	identity string // public
	token    string // a secret of those who can read the directory
}

// Identity returns the identity of the data directory, "" if no engine was opened in it. It tells directories
// apart and is no secret. [Restore] makes a directory with a new one.
func Identity(dir string) (string, error) { return readKey(store.Disk, dir, identityFile) }

// Token returns the secret that the engine which has the directory open asks for before operations that AWS does not
// have (see [TokenHeader]). Every opening makes a new one. It is "" if no engine was opened in dir.
func Token(dir string) (string, error) { return readKey(store.Disk, dir, tokenFile) }

// openKeys reads the identity of the directory, or makes it, and makes a token. On a disk without room it makes them
// for this opening only.
func openKeys(disk vfs.FS, dir string, log *slog.Logger) (keys, error) {
	k := keys{token: rand.Text()}

	var err error
	if k.identity, err = readKey(disk, dir, identityFile); err != nil {
		return keys{}, err
	}

	if k.identity == "" {
		k.identity = rand.Text()
		err = writeKey(disk, dir, identityFile, k.identity)
	}

	if err = errors.Join(err, writeKey(disk, dir, tokenFile, k.token)); err != nil {
		log.Warn("the engine cannot write its keys: other commands cannot reach it through the directory", "directory", dir, "error", err)
	}

	return k, nil
}

// maxKey is the size in bytes of the largest file that is read as a key.
const maxKey = 256

// readKey returns the text of a file, "" if it does not exist.
func readKey(disk vfs.FS, dir, name string) (string, error) {
	file, err := disk.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	if err != nil {
		return "", fmt.Errorf("read the %s of %s: %w", name, dir, err)
	}
	defer file.Close()

	text, err := io.ReadAll(io.LimitReader(file, maxKey))
	if err != nil {
		return "", fmt.Errorf("read the %s of %s: %w", name, dir, err)
	}

	return strings.TrimSpace(string(text)), nil
}

// writeKey writes a file that appears complete or not at all.
func writeKey(disk vfs.FS, dir, name, text string) error {
	draft := filepath.Join(dir, name+".new")

	file, err := disk.Create(draft, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}

	_, err = io.WriteString(file, text+"\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, disk.Remove(draft))
	}

	return disk.Rename(draft, filepath.Join(dir, name))
}

// errWrongDirectory answers a request that expects another data directory.
var errWrongDirectory = &wire.Error{
	Type:    "WrongDataDirectory",
	Status:  http.StatusMisdirectedRequest,
	Message: "this engine serves another data directory than the one that the caller expects",
}

// errNoToken answers a request for an operation of the engine's own.
var errNoToken = &wire.Error{
	Type:   "AccessDeniedException",
	Status: http.StatusForbidden,
	Message: "this operation is the engine's own: it needs the header " + TokenHeader +
		" with the text of the file " + tokenFile + " in the data directory (commands read it from --data)",
}

// check returns the error of a request that is not for this engine, or may not have what it asks for. Callers in the
// process are the owner.
func (k keys) check(r *http.Request) *wire.Error {
	if expected := r.Header[IdentityHeader]; len(expected) > 0 && (len(expected) > 1 || expected[0] != k.identity) {
		return errWrongDirectory
	}

	if !isOwn(r) || r.Context().Value(http.LocalAddrContextKey) == nil {
		return nil
	}

	given := r.Header[TokenHeader]
	if len(given) != 1 || subtle.ConstantTimeCompare([]byte(given[0]), []byte(k.token)) != 1 {
		return errNoToken
	}

	return nil
}

// isOwn reports whether a request asks for an operation that no AWS service has.
func isOwn(r *http.Request) bool {
	for _, target := range r.Header["X-Amz-Target"] {
		if strings.HasPrefix(target, adminService+".") {
			return true
		}
	}

	return false
}
