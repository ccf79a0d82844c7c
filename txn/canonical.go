package txn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// canonical makes the SDK send equal requests as equal bytes. It writes maps in the
// order of Go's maps, so that 200 sendings of one transaction have several bodies;
// some endpoints compare bodies literally and answer IdempotentParameterMismatch
// (aws-sdk-go-v2 #1900, #3131). The step after the serializer sorts the members.
func canonical(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Build.Add(middleware.BuildMiddlewareFunc("CanonicalBody", sortBody), middleware.Before)
	})
}

func sortBody(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	r, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: the request is a %T", in.Request)
	}

	body, err := sorted(r)
	if err != nil {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: %w", err)
	}

	if r, err = r.SetStream(bytes.NewReader(body)); err != nil {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: %w", err)
	}
	in.Request = r

	return next.HandleBuild(ctx, in)
}

// sorted is the request's body with the members of every object in order. DynamoDB
// sends numbers as strings, so reading and writing JSON loses nothing.
func sorted(r *smithyhttp.Request) ([]byte, error) {
	decoder := json.NewDecoder(r.GetStream())
	decoder.UseNumber()

	var body any
	if err := decoder.Decode(&body); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body) // maps are written in the order of their keys

	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
