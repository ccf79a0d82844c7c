//go:build image

package image

import (
	"os/exec"
	"syscall"
)

// inside has a command see a directory as its root, as the user of the image.
func inside(cmd *exec.Cmd, dir string) {
	cmd.Dir = "/tmp"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
}
