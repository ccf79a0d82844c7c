package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// insideHub is set for the process of the test that is in the namespace of the forwarder.
const insideHub = "FLEET_HUB"

// enterHub runs the test again in a namespace of its own, whose nodes nothing else can reach, and reports
// whether this process is in it already. It skips the test, loudly, where namespaces are not allowed.
func enterHub(t *testing.T) bool {
	t.Helper()

	if os.Getenv(insideHub) != "" {
		run(t, "ip link set lo up", "ip addr add "+hubIP+"/32 dev lo")
		return true
	}

	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: the fleet needs the command ip: ", err)
	}

	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m",
		"-fleet", fmt.Sprintf("-rounds=%d", *flagRounds), fmt.Sprintf("-orders=%d", *flagOrders))
	again.Env = append(os.Environ(), insideHub+"=1")
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}

	err := again.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("SKIPPED: the fleet needs the right to make namespaces: ", err)
	}

	if err == nil {
		err = again.Wait()
	}

	if status, ended := errors.AsType[*exec.ExitError](err); ended && status.ExitCode() == exitNoLinks {
		t.Skip("SKIPPED: the fleet needs the right to make links between namespaces")
	}

	if err != nil {
		t.Fatal(err)
	}

	return false
}

// exitNoLinks is the exit status of a process in the hub that may not make links.
const exitNoLinks = 77

func run(t *testing.T, commands ...string) {
	t.Helper()

	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v: %s\n", c, err, out)
			os.Exit(exitNoLinks)
		}
	}
}

// enterNode moves this process into a namespace of its own, with a link to the hub, and runs the program
// there, under the same process id: node NUMBER PROGRAM ARGS...
func enterNode() {
	// A namespace belongs to a thread; exec keeps that of the thread that calls it.
	runtime.LockOSThread()

	if err := node(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func node(number string, program []string) error {
	hub, own := "h"+number, "n"+number
	// The link of a process that was killed goes with its namespace, some time later.
	_ = ip("link del " + hub)

	// In the hub: addr.1 is the hub's side.
	mover := exec.Command("sh", "-c", "read go && exec ip link set "+own+" netns "+strconv.Itoa(os.Getpid()))

	goOn, err := mover.StdinPipe()
	if err != nil {
		return err
	}

	if err := errors.Join(
		ip("link add "+hub+" type veth peer name "+own),
		ip("addr add 10.9."+number+".1/24 dev "+hub),
		ip("link set "+hub+" up"),
		mover.Start(),
		syscall.Unshare(syscall.CLONE_NEWNET),
	); err != nil {
		return err
	}

	fmt.Fprintln(goOn)

	if err := errors.Join(
		mover.Wait(),
		ip("link set lo up"),
		ip("addr add 10.9."+number+".2/24 dev "+own),
		ip("link set "+own+" up"),
		ip("route add default via 10.9."+number+".1"),
	); err != nil {
		return err
	}

	return syscall.Exec(program[0], program, os.Environ())
}

func ip(arguments string) error {
	out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", arguments, err, out)
	}

	return nil
}
