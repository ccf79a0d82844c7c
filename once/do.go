package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/attribute"
)

// settle bounds the write that ends a claim after the caller's context has ended.
const settle = 10 * time.Second

// Do runs fn once in effect for the key and returns what it returned, now or in an
// earlier call (then replayed is true). The context given to fn ends with the
// lease. When fn fails, the claim is released and the error returned: a later call
// runs fn again. When fn panics, the claim is released and the panic goes on.
func (c *Claims) Do(ctx context.Context, key string, payload []byte, fn func(context.Context, *Claim) ([]byte, error)) (result []byte, replayed bool, err error) {
	started := c.cfg.Now()
	claim, err := c.Claim(ctx, key, payload)
	if err != nil {
		return nil, false, err
	}
	if claim.Completed {
		return claim.Result, true, nil
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Lease+settle)
	defer cancel()
	finished := false
	defer func() {
		if !finished { // a panic or runtime.Goexit
			err = errors.Join(err, claim.Release(detached))
		}
	}()
	work, stop := context.WithTimeout(ctx, c.cfg.Lease-c.cfg.Now().Sub(started))
	result, err = fn(work, claim)
	stop()
	finished = true
	if err != nil {
		if released := claim.Release(detached); released != nil {
			err = fmt.Errorf("%w (and the claim was not released: %w)", err, released)
		}
		return nil, false, err
	}
	if err := claim.Complete(detached, result); err != nil {
		return nil, false, err
	}
	return result, false, nil
}

// TableInput describes the table of claims: key idempotencyKey. Expiry is switched
// on apart from it, on the attribute [ExpiryAttribute].
func TableInput(name string) *dynamodb.CreateTableInput {
	return attribute.Table(name, attribute.TextKey("idempotencyKey"))
}

// ExpiryAttribute holds the epoch second after which TTL may delete a claim.
const ExpiryAttribute = "expiresAt"
