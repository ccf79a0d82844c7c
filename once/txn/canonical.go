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

// canonicalBody makes the SDK send equal requests as equal bytes. The SDK serializes
// maps in Go's random order, so the same transaction has several bodies; some endpoints
// compare bodies literally and answer IdempotentParameterMismatch (aws-sdk-go-v2 #1900,
// #3131). The option adds a step after the serializer that sorts the members.
func canonicalBody(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Build.Add(middleware.BuildMiddlewareFunc("CanonicalBody", sortBody), middleware.Before)
	})
}

func sortBody(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	request, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: the request is a %T", in.Request)
	}

	body, err := sortMembers(request)
	if err != nil {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: %w", err)
	}

	if request, err = request.SetStream(bytes.NewReader(body)); err != nil {
		return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("canonical body: %w", err)
	}

	in.Request = request

	return next.HandleBuild(ctx, in)
}

// sortMembers returns the request's body with the members of every object sorted by
// name. DynamoDB's protocol sends numbers as strings, so decoding and encoding the JSON
// loses nothing.
func sortMembers(request *smithyhttp.Request) ([]byte, error) {
	decoder := json.NewDecoder(request.GetStream())
	decoder.UseNumber()

	var body any
	if err := decoder.Decode(&body); err != nil {
		return nil, err
	}

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body) // encoding/json sorts the keys of maps

	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
