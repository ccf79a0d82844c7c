package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// example is one command of the page, with the answer that the page shows.
type example struct {
	line    int
	command string
	want    string // "" if the page does not show it
}

// examples reads the fenced sh blocks of the page: commands, each followed by a comment with
// status and answer. A command may go on in the next line after a backslash.
func examples(page string) []example {
	var all []example
	inside, command, begun := false, "", 0
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case !inside || line == "":
		case strings.HasPrefix(line, "# "):
			all[len(all)-1].want = line[2:]
		default:
			if command == "" {
				begun = i + 1
			}

			if rest, more := strings.CutSuffix(line, `\`); more {
				command += rest
				continue
			}
			all = append(all, example{line: begun, command: command + line})
			command = ""
		}
	}

	return all
}

// shell runs the three forms of commands that the page uses: curl, NAME=value, and
// NAME=$(curl ... | sed ...), which takes a member of the JSON answer.
type shell struct {
	vars   map[string]string
	header string // an additional header of every request
	curl   string // the path of curl; "" to send the requests with Go's client
}

var (
	assignment = regexp.MustCompile(`^([A-Z]+)=(\S+)$`)
	capture    = regexp.MustCompile(`^([A-Z]+)=\$\((curl .*) \| sed 's/\.\*"(\w+)":"\\\(\[\^"\]\*\\\)"\.\*/\\1/'\)$`)
)

// run runs a command and returns status and body of its answer.
func (s *shell) run(ctx context.Context, command string) (status int, body string, err error) {
	if m := capture.FindStringSubmatch(command); m != nil {
		status, body, err = s.run(ctx, m[2])
		member := regexp.MustCompile(`"` + m[3] + `":"([^"]*)"`).FindStringSubmatch(body)
		if err == nil && member == nil {
			err = fmt.Errorf("no member %s in %s", m[3], body)
		}

		if err == nil {
			s.vars[m[1]] = member[1]
		}

		return status, body, err
	}

	if m := assignment.FindStringSubmatch(command); m != nil {
		if _, given := s.vars[m[1]]; !given {
			s.vars[m[1]] = m[2]
		}
		return 0, "", nil
	}

	words, err := s.words(command)
	if err != nil || len(words) == 0 || words[0] != "curl" {
		return 0, "", errors.Join(err, fmt.Errorf("the page may not use this command: %s", command))
	}

	if s.curl != "" {
		return s.program(ctx, words[1:])
	}

	return s.request(ctx, words[1:])
}

// words splits a command as sh does. It knows single quotes, double quotes with escapes and
// variables, and variables outside of quotes.
func (s *shell) words(command string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case quote == '\'' && c == '\'', quote == '"' && c == '"':
			quote = 0
		case quote == '\'':
			word.WriteByte(c)
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == '"' && c == '\\':
			i++
			word.WriteByte(command[i])
		case c == '$':
			name := regexp.MustCompile(`^[A-Z]+`).FindString(command[i+1:])
			value, given := s.vars[name]
			if !given {
				return nil, fmt.Errorf("$%s has no value", name)
			}
			word.WriteString(value)
			begun, i = true, i+len(name)
		case quote == 0 && c == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}

	if begun {
		words = append(words, word.String())
	}

	if quote != 0 {
		err = errors.New("a quote is not closed")
	}

	return words, err
}

// program runs the real curl.
func (s *shell) program(ctx context.Context, args []string) (status int, body string, err error) {
	args = append([]string{"--silent", "--write-out", "\n%{http_code}"}, args...)
	if s.header != "" {
		args = append(args, "-H", s.header)
	}

	out, err := exec.CommandContext(ctx, s.curl, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 28 { // 28: -m ended a stream
		err = nil
	}

	text := string(out)
	i := strings.LastIndexByte(text, '\n')
	if err != nil || i < 0 {
		return 0, text, errors.Join(err, errors.New("curl"))
	}
	_, err = fmt.Sscan(text[i+1:], &status)

	return status, text[:i], err
}

// request does what curl does with these arguments: -N, -X, -H, -d, -m and a URL.
func (s *shell) request(ctx context.Context, args []string) (status int, body string, err error) {
	method, url, data := "", "", ""
	header := http.Header{}

	headers := []string{s.header}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-N":
		case "-X", "-H", "-d", "-m":
			value := args[i+1]
			switch args[i] {
			case "-X":
				method = value
			case "-H":
				headers = append(headers, value)
			case "-d":
				data = value
			case "-m":
				limit, err := time.ParseDuration(value + "s")
				if err != nil {
					return 0, "", err
				}
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			i++
		default:
			if url != "" || strings.HasPrefix(args[i], "-") {
				return 0, "", fmt.Errorf("curl %s: the page may not use this argument", args[i])
			}
			url = args[i]
		}
	}

	if method == "" {
		method = http.MethodGet
	}

	if data != "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	}

	for _, h := range headers {
		if name, value, ok := strings.Cut(h, ": "); ok {
			header.Set(name, value)
		}
	}

	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(data))
	if err != nil {
		return 0, "", err
	}
	r.Header = header

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // -m ended a stream
	}

	return answer.StatusCode, string(text), err
}
