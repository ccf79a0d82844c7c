package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ratchet/api"
)

// maxAnswer bounds an answer of the API, in bytes. The largest page of a list has less.
const maxAnswer = 8 << 20

// client sends requests to the API as the person who looks.
type client struct {
	api   http.Handler
	by    api.Identity
	calls []string // the paths that were asked for
}

// get asks for a path, and decodes the answer. A refusal is a problem.
func (c *client) get(ctx context.Context, path string, into any) error {
	answer, err := c.read(ctx, path)
	if err != nil {
		return err
	}

	if err := json.Unmarshal(answer.body.Bytes(), into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}

	return nil
}

// getRaw is as get, and returns the answer as a text, too.
func (c *client) getRaw(ctx context.Context, path string, into any) (string, error) {
	answer, err := c.read(ctx, path)
	if err != nil {
		return "", err
	}

	var text bytes.Buffer
	if err := errors.Join(json.Unmarshal(answer.body.Bytes(), into), json.Indent(&text, answer.body.Bytes(), "", "  ")); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}

	return text.String(), nil
}

// getSecret is as get for a path that has a secret. The page shows another path.
func (c *client) getSecret(ctx context.Context, path, shown string, into any) error {
	err := c.get(ctx, path, into)
	c.calls[len(c.calls)-1] = shown

	return err
}

// isMissing reports whether there is nothing at the path.
func isMissing(err error) bool {
	var refused *problem
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// read asks for a path. A refusal is a problem.
func (c *client) read(ctx context.Context, path string) (*answer, error) {
	c.calls = append(c.calls, path)

	switch answer := c.ask(ctx, http.MethodGet, path, nil, nil); {
	case answer.status != http.StatusOK:
		return nil, answer.problem(path)
	case answer.err != nil:
		return nil, fmt.Errorf("%s: %w", path, answer.err)
	default:
		return answer, nil
	}
}

// ask sends a request as the person. An answer without a status says in err why there is none.
func (c *client) ask(ctx context.Context, method, path string, header http.Header, body []byte) *answer {
	answer := &answer{header: http.Header{}}

	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		answer.err = err
		return answer
	}

	if header != nil {
		r.Header = header
	}
	c.api.ServeHTTP(answer, api.As(r, c.by))

	return answer
}

// etag returns the ETag of what stands at a path.
func (c *client) etag(ctx context.Context, path string) (string, error) {
	answer, err := c.read(ctx, path)
	if err != nil {
		return "", err
	}

	return answer.header.Get("ETag"), nil
}

// problem returns the refusal that an answer is.
func (a *answer) problem(path string) error {
	p := &problem{}
	if err := json.Unmarshal(a.body.Bytes(), p); err != nil || p.Status == 0 {
		return fmt.Errorf("%s: status %d", path, a.status)
	}

	return p
}

// curl returns the requests that a page consists of, as commands.
func (c *client) curl() []string {
	commands := make([]string, len(c.calls))
	for i, path := range c.calls {
		commands[i] = "curl \"$RATCHET_API" + path + `" -H "Authorization: Bearer $RATCHET_API_KEY"`
	}

	return commands
}

// pathTo returns a path of the API with ids as its segments.
func pathTo(format string, ids ...string) string {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = url.PathEscape(id)
	}

	return fmt.Sprintf(format, args...)
}

// with returns the path with those parameters that are not empty. They are names and values in turn.
func with(path string, parameters ...string) string {
	q := url.Values{}
	for pair := range slices.Chunk(parameters, 2) {
		if name, value := pair[0], pair[len(pair)-1]; value != "" {
			q.Set(name, value)
		}
	}

	if len(q) == 0 {
		return path
	}

	return path + "?" + q.Encode()
}

// answer keeps an answer of the API.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	err    error
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)

	if a.body.Len()+len(b) > maxAnswer {
		a.err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
		return 0, a.err
	}

	return a.body.Write(b)
}

// problem is a refusal of the API.
type problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Fields []struct {
		Pointer string `json:"pointer"`
		Detail  string `json:"detail"`
	} `json:"errors"`
	Order *struct {
		State string `json:"state"`
	} `json:"order"`
}

// text is why the API refuses, with the values that it means.
func (p *problem) text() string {
	text := p.Detail
	if p.Order != nil {
		text += " The order is " + p.Order.State + " now."
	}

	for _, f := range p.Fields {
		text += fmt.Sprintf(" %s: %s.", f.Pointer, f.Detail)
	}

	return text
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail) }

func (p *problem) title() string {
	if p.Title != "" {
		return p.Title
	}

	return strings.ReplaceAll(p.Code, "_", " ")
}
