package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ratchet/internal/dynamodblocal"
)

//go:embed setup.sh
var setup string

//go:embed localstack.py
var localStack string

// local is a running LocalStack over DynamoDB Local.
type local struct {
	cloud       cloud
	environment map[string]string // how the CLI and the program find it
	cmd         *exec.Cmd
	log         string
	started     string // the file with the process of each DynamoDB Local
}

// startTime bounds the start, which imports much Python.
const startTime = 3 * time.Minute

// startLocal installs LocalStack, the AWS CLI and DynamoDB Local below the folder home, unless they are there, and
// starts LocalStack on a free loopback port, with its data below dir.
func startLocal(ctx context.Context, home, dir string) (*local, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, err
	}

	// The script is embedded, so it needs no path to this repository.
	script := exec.CommandContext(ctx, "bash", "-s", home)
	script.Stdin, script.Stderr = strings.NewReader(setup), os.Stderr
	dynamodblocal.EndTogether(script)

	if err := script.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("install LocalStack and the AWS CLI: %w", err), context.Cause(ctx))
	}

	lib, err := dynamodblocal.Fetch(ctx, filepath.Join(home, "dynamodb-local"))
	if err != nil {
		return nil, err
	}

	address, err := freeAddress()
	if err != nil {
		return nil, err
	}

	l := &local{log: filepath.Join(dir, "localstack.out"), started: filepath.Join(dir, "started")}

	volume, err := l.volume(lib, dir)
	if err != nil {
		return nil, err
	}

	url := "http://" + address
	l.cloud = cloud{
		name: "LocalStack with DynamoDB Local",
		cli:  filepath.Join(home, "aws-cli-1", "bin", "aws"),
	}
	l.environment = map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	}

	return l, l.start(ctx, home, volume, address)
}

// volume makes the folder in which LocalStack finds DynamoDB Local, in the place of what it would download: its Java
// is a script that starts the one of Maven, with the arguments that follow the jar. LocalStack gives it a session of its
// own, so the script notes its process, for stop.
func (l *local) volume(lib, dir string) (string, error) {
	volume := filepath.Join(dir, "localstack")
	files := map[string]string{
		"var/lib/localstack/lib/dynamodb-local/2/DynamoDBLocal.jar": "",
		"var/lib/localstack/lib/java/21/bin/java": `#!/bin/sh
echo $$ >>'` + l.started + `'
while [ "$#" -gt 0 ] && [ "$1" != -jar ]; do shift; done
shift 2
PATH=${PATH#*:} exec java -Xmx512m -Djava.library.path='` + lib + `' -Dsqlite4java.library.path='` + lib + `' \
  -cp '` + lib + `/*' software.amazon.dynamodb.services.local.main.ServerRunner -disableTelemetry "$@"
`,
	}

	for name, text := range files {
		name = filepath.Join(volume, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			return "", err
		}
	}

	return volume, nil
}

// start starts LocalStack and waits until it answers.
func (l *local) start(ctx context.Context, home, volume, address string) error {
	log, err := os.Create(l.log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has the file open by itself

	l.cmd = exec.Command(filepath.Join(home, "localstack-1", "bin", "python"), "-c", localStack) //nolint:noctx // stop ends it
	l.cmd.Env = append(os.Environ(), "OVERRIDE_IN_DOCKER=0", "FILESYSTEM_ROOT="+volume, "GATEWAY_LISTEN="+address,
		"HOME="+volume, "TMPDIR="+volume,
		"SKIP_SSL_CERT_DOWNLOAD=1", "DISABLE_EVENTS=1", "DYNAMODB_IN_MEMORY=1", "PROVIDER_OVERRIDE_DYNAMODB=v2", "PROVIDER_OVERRIDE_DYNAMODBSTREAMS=v2", "SQS_ENDPOINT_STRATEGY=path")
	l.cmd.Stdout, l.cmd.Stderr = log, log
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this check first

	if err := l.cmd.Start(); err != nil {
		return err
	}

	if err := l.ready(ctx, address); err != nil {
		text, _ := os.ReadFile(l.log)
		return errors.Join(fmt.Errorf("%w: %s", err, lastLines(string(text), 10)), l.stop())
	}

	return nil
}

// ready waits until LocalStack answers.
func (l *local) ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("LocalStack did not start"))
	defer cancel()

	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()

	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/_localstack/health", nil)
		if err != nil {
			return err
		}

		if answer, err := http.DefaultClient.Do(request); err == nil {
			return answer.Body.Close()
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// stop ends LocalStack with the processes that it started. All data is in memory or goes with the folder.
func (l *local) stop() error {
	_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	_ = l.cmd.Wait() // "signal: killed"

	processes, err := os.ReadFile(l.started)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	for _, text := range strings.Fields(string(processes)) {
		if id, failed := strconv.Atoi(text); failed == nil && l.isDynamoDB(id) {
			err = errors.Join(err, syscall.Kill(id, syscall.SIGKILL))
		}
	}

	return err
}

// isDynamoDB reports whether a process is still the DynamoDB Local that had the number.
func (l *local) isDynamoDB(id int) bool {
	command, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(id)).Output() //nolint:noctx // it takes milliseconds

	return err == nil && strings.Contains(string(command), "dynamodb.services.local")
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return "", err
	}

	return l.Addr().String(), l.Close()
}
