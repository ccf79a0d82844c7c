package deploy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const composeFile = "../../deploy/compose/compose.yaml"

// composeService has what the tests know of a service. An attribute that is not here is refused.
type composeService struct {
	Image       string
	Restart     string
	ReadOnly    bool                                  `yaml:"read_only"`
	CapDrop     []string                              `yaml:"cap_drop"`
	SecurityOpt []string                              `yaml:"security_opt"`
	Grace       string                                `yaml:"stop_grace_period"`
	Network     string                                `yaml:"network_mode"`
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
	Healthcheck *struct {
		Test        []string
		Interval    string
		StartPeriod string `yaml:"start_period"`
	}
}

func readCompose(t *testing.T) map[string]composeService {
	t.Helper()

	file, err := os.Open(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	var all struct {
		Name     string
		Ratchet  any `yaml:"x-ratchet"`
		Client   any `yaml:"x-client"`
		Services map[string]composeService
		Volumes  map[string]any
	}

	d := yaml.NewDecoder(file)
	d.KnownFields(true)

	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}

	for name, s := range all.Services {
		for _, volume := range s.Volumes {
			if source, _, _ := strings.Cut(volume, ":"); !hasKey(all.Volumes, source) {
				t.Errorf("%s: volume %s is not declared", name, source)
			}
		}
	}

	return all.Services
}

func hasKey[V any](m map[string]V, key string) bool {
	_, has := m[key]
	return has
}

// TestTheComposeFileFitsTheProgram: each command, flag and setting of the file exists, each service that another one
// waits for has a health check of its own port, and what is published is listened on.
func TestTheComposeFileFitsTheProgram(t *testing.T) {
	services := readCompose(t)
	reference, settings := readText(t, "../../docs/reference/cli.md"), readText(t, "../../docs/reference/configuration.md")

	for name, s := range services {
		if s.Image != "${RATCHET_IMAGE:-ratchet:local}" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.SecurityOpt) != 1 {
			t.Errorf("%s: image %s, read only %t, without %v, %v", name, s.Image, s.ReadOnly, s.CapDrop, s.SecurityOpt)
		}

		section := regexp.MustCompile(`(?ms)^## ratchet ` + s.Command[0] + `$.*?(?:^## |\z)`).FindString(reference)
		if section == "" {
			t.Errorf("%s: there is no command %s", name, s.Command[0])
		}

		for _, flag := range s.Command[1:] {
			if strings.HasPrefix(flag, "--") && !strings.Contains(section, "`"+flag) && !strings.Contains(section, flag+" ") && !strings.Contains(settings, "`"+flag+"`") {
				t.Errorf("%s: %s has no flag %s", name, s.Command[0], flag)
			}
		}

		for variable := range s.Environment {
			if !strings.Contains(settings, "`"+variable+"`") {
				t.Errorf("%s: there is no setting %s", name, variable)
			}
		}

		if check := s.Healthcheck; check != nil && !strings.HasSuffix(check.Test[len(check.Test)-1], s.Environment["RATCHET_ADMIN_LISTEN"]) {
			t.Errorf("%s: its health is asked at %v, and it listens on %s", name, check.Test, s.Environment["RATCHET_ADMIN_LISTEN"])
		}

		for other, wait := range s.DependsOn {
			if wait.Condition != "service_healthy" || services[other].Healthcheck == nil || s.Network != "service:"+other {
				t.Errorf("%s: waits for %s until %s, in the network %s", name, other, wait.Condition, s.Network)
			}
		}
	}

	if _, port, _ := strings.Cut(services["api"].Command[2], ":"); !slices.Equal(services["engine"].Ports, []string{"127.0.0.1:" + port + ":" + port}) {
		t.Errorf("published: %v, the API listens on %s", services["engine"].Ports, port)
	}

	// The image has this one folder that its user may write.
	if len(services["engine"].Volumes) != 1 || !strings.HasSuffix(services["engine"].Volumes[0], ":/tmp") || !slices.Contains(services["engine"].Command, "/tmp/data") {
		t.Errorf("volumes %v, command %v", services["engine"].Volumes, services["engine"].Command)
	}
}

// TestTheComposeFileFitsItsSchema: testdata/compose-spec.json is the schema of the Compose specification (Apache-2.0), of
// github.com/compose-spec/compose-spec at 170098ba07d9.
func TestTheComposeFileFitsItsSchema(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(readText(t, "testdata/compose-spec.json")))
	if err != nil {
		t.Fatal(err)
	}

	c := jsonschema.NewCompiler()
	if err := c.AddResource("compose-spec.json", document); err != nil {
		t.Fatal(err)
	}

	schema, err := c.Compile("compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}

	text := readText(t, composeFile)
	if err := schema.Validate(asDocument(t, text)); err != nil {
		t.Error(err)
	}

	// The schema finds mistakes.
	for from, to := range map[string]string{"restart:": "restrat:", "condition: service_healthy": "condition: healthy", "command: [": "command: [[], "} {
		if schema.Validate(asDocument(t, strings.ReplaceAll(text, from, to))) == nil {
			t.Errorf("the schema takes %q", to)
		}
	}
}

// asDocument returns a YAML text as the schema reads it.
func asDocument(t *testing.T, text string) any {
	t.Helper()

	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}

	document, err := jsonschema.UnmarshalJSON(strings.NewReader(mustJSON(t, read)))
	if err != nil {
		t.Fatal(err)
	}

	return document
}

func readText(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// TestTheServicesOfTheComposeFileRun starts the commands of the file as processes, on ports of this test and over its own
// directory: an order is placed through the API with a key, delivered, and printed by the receiver.
func TestTheServicesOfTheComposeFileRun(t *testing.T) {
	c := &composed{t: t, services: readCompose(t), data: filepath.Join(t.TempDir(), "data"), ports: map[string]string{}}

	c.start("engine")

	for name := range c.services {
		if name != "engine" && name != "receiver" {
			c.start(name)
		}
	}
	printed := c.start("receiver")
	c.awaitLine(printed, "listen", nil)

	out, err := c.command("api", "inventory", "set", "mug", "100").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	key, err := c.command("api", "keys", "create", "--name", "me", "--scope", "act", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}

	var made struct{ Token string }
	if err := json.Unmarshal(key, &made); err != nil || made.Token == "" {
		t.Fatalf("%v: %d bytes", err, len(key))
	}

	c.logIn(made.Token)

	// Workers know a new endpoint after ten seconds at most; what they handle before is not sent to it.
	orders := 0
	c.awaitLine(printed, "DELIVERED", func() {
		orders++
		c.place(made.Token, fmt.Sprint("order-", orders))
	})
}

// composed are the running services.
type composed struct {
	t        *testing.T
	services map[string]composeService
	data     string
	ports    map[string]string // by the port of the file
}

// here returns a text of the file with the ports and the directory of this test.
func (c *composed) here(text string) string {
	text = strings.ReplaceAll(text, "/tmp/data", c.data)

	return regexp.MustCompile(`(127\.0\.0\.1|0\.0\.0\.0):87\d\d`).ReplaceAllStringFunc(text, func(address string) string {
		port := address[strings.LastIndexByte(address, ':')+1:]
		if c.ports[port] == "" {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				c.t.Fatal(err)
			}
			_, c.ports[port], _ = net.SplitHostPort(l.Addr().String())
			_ = l.Close()
		}

		return "127.0.0.1:" + c.ports[port]
	})
}

// command is a command in the container of a service.
func (c *composed) command(service string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), os.Args[0], args...)
	cmd.Env = []string{asProgram + "=" + shopParts, "HOME=" + c.t.TempDir()}

	for name, value := range c.services[service].Environment {
		cmd.Env = append(cmd.Env, name+"="+c.here(value))
	}

	return cmd
}

// start starts a service, waits until it is healthy, and returns the lines that it prints.
func (c *composed) start(name string) <-chan string {
	c.t.Helper()

	s := c.services[name]
	args := make([]string, len(s.Command))
	for i, arg := range s.Command {
		args[i] = c.here(arg)
	}

	cmd := c.command(name, args...)
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer

	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}

	lines := make(chan string, 10_000)
	go func() {
		for text := bufio.NewScanner(reader); text.Scan(); {
			lines <- text.Text()
		}
		close(lines)
	}()

	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = writer.Close()
	})

	if s.Healthcheck == nil {
		return lines
	}

	for range 300 {
		// The program's own check, as the container runs it.
		if c.command(name, strings.Fields(c.here(strings.Join(s.Healthcheck.Test[2:], " ")))...).Run() == nil {
			return lines
		}
		time.Sleep(100 * time.Millisecond)
	}

	for len(lines) > 0 {
		c.t.Log(<-lines)
	}
	c.t.Fatalf("%s is not healthy", name)

	return nil
}

// awaitLine waits for a line with the text. Again, if it is not nil, is called every three seconds.
func (c *composed) awaitLine(lines <-chan string, part string, again func()) {
	c.t.Helper()

	every := time.NewTicker(3 * time.Second)
	defer every.Stop()

	var seen []string
	for end := time.After(2 * time.Minute); ; {
		select {
		case <-every.C:
			if again != nil {
				again()
			}
		case line, ok := <-lines:
			if !ok {
				c.t.Fatalf("the service has ended: %q", seen)
			}

			if seen = append(seen, line); strings.Contains(line, part) {
				return
			}
		case <-end:
			c.t.Fatalf("no line with %q: %q", part, seen)
		}
	}
}

// logIn logs in to the console with a key and opens its first page.
func (c *composed) logIn(key string) {
	c.t.Helper()

	origin := "http://127.0.0.1:" + c.ports["8701"]
	if address := c.here(c.services["api"].Environment["RATCHET_CONSOLE_URL"]); address != origin {
		c.t.Errorf("the console is said to be at %q, and is at %s", address, origin)
	}

	// Without a jar, which, unlike a browser, does not send secure cookies to its own machine.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	form, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, origin+"/console/login", strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	form.Header.Set("Sec-Fetch-Site", "same-origin")

	answer, err := client.Do(form)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = answer.Body.Close()

	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, origin+"/console/", nil)
	if err != nil {
		c.t.Fatal(err)
	}

	for _, cookie := range answer.Cookies() {
		r.AddCookie(cookie)
	}

	page, err := client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = page.Body.Close()

	if answer.StatusCode != http.StatusSeeOther || page.StatusCode != http.StatusOK {
		c.t.Errorf("the login answers %d, the page behind it %d", answer.StatusCode, page.StatusCode)
	}
}

// place places an order through the API, under an idempotency key.
func (c *composed) place(key, request string) {
	c.t.Helper()

	body := strings.NewReader(`{"items":[{"sku":"mug","quantity":1,"price":1000}],"total":{"amount":1000,"currency":"EUR"}}`)

	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://127.0.0.1:"+c.ports["8701"]+"/v1/orders", body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", request)

	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()

	if response.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(response.Body)
		c.t.Fatalf("%s: %s", fmt.Sprint(response.StatusCode), text)
	}
}
