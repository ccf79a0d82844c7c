package console

import (
	"bytes"
	"context"
	"io"

	"github.com/a-h/templ"
)

// masked stands in the API's answers for what the caller may not see.
const masked = "[masked]"

// explained is the content of a page. If something in it is masked, it ends with the reason.
func explained(body templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var b bytes.Buffer
		if err := body.Render(ctx, &b); err != nil {
			return err
		}
		hidden := bytes.Contains(b.Bytes(), []byte(masked))

		if _, err := w.Write(b.Bytes()); err != nil || !hidden {
			return err
		}

		return maskedLegend().Render(ctx, w)
	})
}
