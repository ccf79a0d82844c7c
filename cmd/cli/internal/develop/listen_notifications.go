package develop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/server"
	"ratchet/workflow"
)

func listenCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "listen", Short: "Print notifications as they are sent, and forward them to a program of yours", Args: cobra.NoArgs,
		Long: "Creates an endpoint of its own, with a queue of SQS behind it, and prints what arrives until Ctrl-C. With\n" +
			"--forward-to each notification is also posted to the URL, signed with the secret that is printed first.\n" +
			"Workers send, so one has to run (`ratchet dev` has one), and begins within 10 seconds. At the end the\n" +
			"endpoint and the queue are removed; after a kill remove `listen-…` by hand.",
		Example: "  ratchet listen --forward-to http://127.0.0.1:9000/hook --states SHIPPED",
	}
	forward := c.Flags().String("forward-to", "", "URL to post to, on this machine or public")
	states := c.Flags().StringSlice("states", nil, "only when orders enter these states")
	tenant := c.Flags().String("tenant", notify.AllTenants, `only orders of this tenant; "*": of all`)
	limit := c.Flags().Int("limit", 0, "end after this many; 0: go on")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *limit < 0 {
			return exit.UsageError("limit %d: must not be negative", *limit)
		}

		settings := notify.Settings{Description: "ratchet listen", Ordered: true, Filter: notify.Filter{Tenant: *tenant}}
		for _, state := range *states {
			settings.Filter.States = append(settings.Filter.States, workflow.State(state))
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			l, err := openListener(c.Context(), b, settings, *forward)
			if err != nil {
				return err
			}
			l.out, l.errs = c.OutOrStdout(), c.ErrOrStderr()

			// The endpoint and its queue are removed also after Ctrl-C, when the command's context
			// has ended.
			return errors.Join(l.run(c.Context(), *limit), l.close(context.WithoutCancel(c.Context())))
		})
	}

	return c
}

// listener is an endpoint with a queue, and the URL to which its messages are forwarded.
type listener struct {
	b         *server.Backend
	endpoint  notify.Endpoint
	queue     string
	forward   string
	client    *webhooks.Client // nil without forward
	out, errs io.Writer
}

func openListener(ctx context.Context, b *server.Backend, settings notify.Settings, forward string) (_ *listener, err error) {
	l := &listener{b: b, forward: forward}
	// Random, so two listeners never share a queue.
	secret, name := webhooks.NewSecret(), "listen-"+strings.ToLower(rand.Text()[:12])

	if forward != "" {
		keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
		if err != nil {
			return nil, err
		}

		if l.client, err = webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback}); err != nil {
			return nil, err
		}

		if err := l.client.CheckURL(forward); err != nil {
			return nil, exit.UsageError("forward-to: %w", err)
		}
	}

	made, err := b.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(b.Config.Prefix + name)})
	if err != nil {
		return nil, fmt.Errorf("create a queue to listen on: %w", err)
	}
	l.queue = aws.ToString(made.QueueUrl)
	settings.Destination = "sqs:" + l.queue

	if l.endpoint, err = b.Endpoints.Create(ctx, name, settings, secret); err != nil {
		// A queue without its endpoint would stay behind.
		return nil, errors.Join(err, l.close(ctx))
	}

	return l, nil
}

func (l *listener) close(ctx context.Context) error {
	var err error
	// First the endpoint: workers must not send to a queue that is gone.
	if l.endpoint.ID != "" {
		err = l.b.Endpoints.Remove(ctx, l.endpoint.ID)
	}

	if l.client != nil {
		err = errors.Join(err, l.client.Close())
	}
	_, deleteErr := l.b.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &l.queue})

	return errors.Join(err, deleteErr)
}

// run prints and forwards until ctx ends, or limit messages have come.
func (l *listener) run(ctx context.Context, limit int) error {
	fmt.Fprintf(l.errs, "listening as endpoint %s; the secret is %s\n", l.endpoint.ID, l.endpoint.Secrets[0].Key.Reveal())

	for count := 0; ctx.Err() == nil; {
		got, err := l.b.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl:            &l.queue,
			MaxNumberOfMessages: 1,
			// The longest wait that SQS has: fewer calls, and a message ends the wait at once.
			WaitTimeSeconds:       20,
			MessageAttributeNames: []string{"All"},
		})
		// An end by Ctrl-C is no error of the call.
		if ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}

		for _, m := range got.Messages {
			if err := l.handle(ctx, m); err != nil {
				return err
			}

			if count++; count == limit {
				return nil
			}
		}
	}

	return nil
}

// handle prints a message, forwards it once, and deletes it from the queue.
func (l *listener) handle(ctx context.Context, m sqstypes.Message) error {
	fmt.Fprintln(l.out, aws.ToString(m.Body))

	if l.client != nil {
		attribute := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
		began := time.Now()
		answer, err := l.client.Post(ctx, webhooks.Post{
			URL:         l.forward,
			ID:          attribute("id"),
			Body:        []byte(aws.ToString(m.Body)),
			ContentType: attribute("contentType"),
			Header:      http.Header{"Idempotency-Key": {attribute("key")}},
		})

		if err != nil {
			// A receiver that fails gets no second attempt: a person watches, and the next message
			// comes.
			fmt.Fprintf(l.errs, "%s: not forwarded: %v\n", attribute("key"), err)
		} else {
			fmt.Fprintf(l.errs, "%s: answered %d in %s\n", attribute("key"), answer.Status, time.Since(began).Round(time.Millisecond))
		}
	}

	// Deleted also after a failure, or the same message would come again and again.
	_, err := l.b.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &l.queue, ReceiptHandle: m.ReceiptHandle})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("take a message off the queue: %w", err)
	}

	return nil
}
