package wire

import (
	"encoding/xml"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// querySpaces are the versions of the services whose SDKs speak the Query protocol, with the names of the services
// and the namespaces of their answers.
var querySpaces = map[string]struct{ service, space string }{
	"2012-11-05": {"SQS", "http://queue.amazonaws.com/doc/2012-11-05/"},
	"2011-06-15": {"STS", "https://sts.amazonaws.com/doc/2011-06-15/"},
	"2010-03-31": {"SNS", "http://sns.amazonaws.com/doc/2010-03-31/"},
}

// queryError is an error as the Query protocol has it.
// Source: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#operation-error-serialization
type queryError struct {
	XMLName xml.Name
	Type    string `xml:"Error>Type"`
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
	ID      string `xml:"RequestId"`
}

// refuseQuery answers a request of the Query protocol, which the engine does not speak, and reports whether it
// was one.
func refuseQuery(w http.ResponseWriter, r *http.Request, id string) bool {
	form := r.URL.Query()

	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" && r.Method == http.MethodPost {
		const most = 64 << 10 // bytes: the action and the version stand at the beginning

		// A text that was cut off has its first members nevertheless.
		body, _ := io.ReadAll(io.LimitReader(r.Body, most))
		form, _ = url.ParseQuery(string(body))
	}

	action := form.Get("Action")
	if action == "" {
		return false
	}

	called, known := querySpaces[form.Get("Version")]
	message := "The embedded engine has DynamoDB, DynamoDB Streams, Step Functions and SQS, and no service with the action " + action + "."
	switch {
	case called.service == "SQS":
		message = "The embedded engine does not speak the Query protocol of SQS, which SDKs before November 2023 speak. Use an SDK that speaks AWS JSON."
	case known:
		message = called.service + " is not a part of the embedded engine: the action " + action + " does not exist."
	}

	text, err := xml.Marshal(queryError{
		XMLName: xml.Name{Space: called.space, Local: "ErrorResponse"}, Type: "Sender", Code: "InvalidAction", Message: message, ID: id,
	})
	if err != nil {
		return false
	}

	w.Header()["Content-Type"] = []string{"text/xml"}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text) // fails only if the caller is gone

	return true
}
