package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"ratchet/operate/doctor"
	"ratchet/server"
)

// account records and answers the calls of IAM, STS and CloudWatch on the wire. All others go to the engine.
type account struct {
	engine http.Handler
	// caller is the ARN that STS answers, rolePath the path of its role.
	caller, rolePath string
	// denied has the answers about permissions that are not allowed, by action or by action and ARN.
	denied map[string]string
	// refused are the operations of the engine that are denied, as "PutItem ratchet-payments".
	refused []string
	// fault answers the first faults calls of SimulatePrincipalPolicy, or all if it is negative.
	fault  string
	faults int
	// paged splits every answer into two pages; bare leaves out the results for each resource.
	paged, bare bool
	// alarms are CloudWatch's, sorted by name; noAlarms denies to look at them.
	alarms   []types.MetricAlarm
	noAlarms bool

	mu      sync.Mutex
	calls   []url.Values
	targets []string
}

const (
	implicit = "<EvalResourceDecision>implicitDeny</EvalResourceDecision>"
	explicit = "<EvalResourceDecision>explicitDeny</EvalResourceDecision>"
	boundary = implicit + "<PermissionsBoundaryDecisionDetail><AllowedByPermissionsBoundary>false</AllowedByPermissionsBoundary></PermissionsBoundaryDecisionDetail>"
	missing  = implicit + "<MissingContextValues><member>aws:SourceVpce</member></MissingContextValues>"
	outside  = implicit + "<!-- organization -->"
)

func (a *account) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	w := httptest.NewRecorder()

	switch {
	case strings.HasPrefix(r.URL.Host, "sts."):
		fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`, a.caller)
	case r.URL.Host == "iam.amazonaws.com":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		a.calls = append(a.calls, form)
		a.serveIAM(w, form)
	case strings.HasPrefix(r.URL.Host, "monitoring."):
		a.serveCloudWatch(w, body)
	case strings.HasPrefix(r.URL.Host, "cloudcontrolapi."): // no template was deployed; tests/deploy has accounts in which they were
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazon.cloudapiservice#ResourceNotFoundException","Message":"not there"}`)
	default:
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		a.targets = append(a.targets, operation)

		for _, refused := range a.refused {
			if name, table, _ := strings.Cut(refused, " "); name == operation && strings.Contains(string(body), `"`+table+`"`) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","Message":"no"}`)

				return w.Result(), nil
			}
		}

		r.Body, r.RequestURI = io.NopCloser(bytes.NewReader(body)), r.URL.RequestURI()
		a.engine.ServeHTTP(w, r)
	}

	return w.Result(), nil
}

func (a *account) serveIAM(w *httptest.ResponseRecorder, form url.Values) {
	fail := func(code string) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>not now</Message></Error></ErrorResponse>`, code)
	}

	role := "arn:aws:iam::123456789012:role" + a.rolePath + "ratchet-worker"
	source := form.Get("PolicySourceArn")

	switch action := form.Get("Action"); {
	case action == "GetRole":
		fmt.Fprintf(w, `<GetRoleResponse><GetRoleResult><Role><Arn>%s</Arn></Role></GetRoleResult></GetRoleResponse>`, role)
	case action != "SimulatePrincipalPolicy":
		fail("InvalidAction")
	case a.faults != 0:
		a.faults--
		fail(a.fault)
	case strings.Contains(source, ":role/") && source != role:
		fail("NoSuchEntity")
	default:
		a.simulate(w, form)
	}
}

// simulate answers one call for one action.
func (a *account) simulate(w io.Writer, form url.Values) {
	action := form.Get("ActionNames.member.1")

	var results []string

	for i := 1; form.Has(fmt.Sprintf("ResourceArns.member.%d", i)); i++ {
		arn := form.Get(fmt.Sprintf("ResourceArns.member.%d", i))

		text := "<EvalResourceDecision>allowed</EvalResourceDecision>"
		for _, key := range []string{action, action + " " + arn} {
			if denied, is := a.denied[key]; is {
				text = denied
			}
		}

		results = append(results, "<member><EvalResourceName>"+arn+"</EvalResourceName>"+text+"</member>")
	}

	organization, truncated := "", "<IsTruncated>false</IsTruncated>"
	if strings.Contains(strings.Join(results, ""), "organization") {
		organization = "<OrganizationsDecisionDetail><AllowedByOrganizations>false</AllowedByOrganizations></OrganizationsDecisionDetail>"
	}

	if half := (len(results) + 1) / 2; a.paged && form.Get("Marker") == "" {
		results, truncated = results[:half], "<IsTruncated>true</IsTruncated><Marker>second</Marker>"
	} else if a.paged {
		results = results[half:]
	}

	// The decision of the whole is the worst one. If the first resource stands alone, it is that resource's.
	decision := "allowed"
	if strings.Contains(strings.Join(results, ""), "Deny<") {
		decision = "implicitDeny"
	}

	specific := "<ResourceSpecificResults>" + strings.Join(results, "") + "</ResourceSpecificResults>"
	if a.bare {
		specific = ""
	}

	fmt.Fprintf(w, `<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><SimulatePrincipalPolicyResult>%s<EvaluationResults><member>
		<EvalActionName>%s</EvalActionName><EvalResourceName>%s</EvalResourceName><EvalDecision>%s</EvalDecision>%s%s</member></EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>`,
		truncated, action, form.Get("ResourceArns.member.1"), decision, organization, specific)
}

// sent counts the calls of the engine that would write.
func (a *account) sent(operations ...string) (n int) {
	for _, target := range a.targets {
		if slices.Contains(operations, target) {
			n++
		}
	}

	return n
}

const paymentsARN = "arn:aws:dynamodb:us-east-1:123456789012:table/ratchet-payments"

// TestPermissionsAreSimulatedOnAWS answers the doctor's calls of IAM and STS, and looks at the checks
// of permissions.
func TestPermissionsAreSimulatedOnAWS(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTheDoctorFindsNothingOnAHealthyInstallation has the same goroutines")
	}

	p := newPatient(t)

	for _, c := range []*struct {
		name          string
		account       account
		parts         []string
		result        doctor.Result
		subject       string
		found, action string
		probes        bool // whether writes are tried
	}{
		{name: "everything is allowed", result: doctor.OK, subject: "permissions", found: "simulated for arn:aws:iam::123456789012:role/ratchet-worker"},
		{name: "a user", account: account{caller: "arn:aws:iam::123456789012:user/ops/ann"},
			result: doctor.OK, subject: "permissions", found: "simulated for arn:aws:iam::123456789012:user/ops/ann"},
		{name: "a role with a path", account: account{rolePath: "/teams/shop/"},
			result: doctor.OK, subject: "permissions", found: "role/teams/shop/ratchet-worker"},
		{name: "answers of several pages", account: account{paged: true, denied: map[string]string{"states:GetActivityTask arn:aws:states:us-east-1:123456789012:activity:ratchet-pay": implicit}},
			result: doctor.Failure, subject: "permissions", found: "not allowed: states:GetActivityTask (no policy allows it)", action: "allow states:GetActivityTask on arn:aws:states:us-east-1:123456789012:activity:ratchet-pay"},
		{name: "IAM throttles a while", account: account{fault: "Throttling", faults: 5},
			result: doctor.OK, subject: "permissions", found: "are simulated for"},
		{name: "a denial that a call confirms", account: account{denied: map[string]string{"dynamodb:PutItem " + paymentsARN: implicit}, refused: []string{"PutItem ratchet-payments"}},
			result: doctor.Failure, subject: "table ratchet-payments", found: "not allowed: dynamodb:PutItem (no policy allows it)", action: "in a policy of this identity", probes: true},
		{name: "a denial that a policy of the table lifts", account: account{denied: map[string]string{"dynamodb:PutItem " + paymentsARN: implicit}},
			result: doctor.OK, subject: "table ratchet-payments", probes: true},
		{name: "an explicit denial", account: account{denied: map[string]string{"states:StartExecution": explicit}},
			result: doctor.Failure, subject: "permissions", found: "states:StartExecution (a policy denies it)", action: "statement with Effect Deny"},
		{name: "a boundary", account: account{denied: map[string]string{"states:StartExecution": boundary}},
			result: doctor.Failure, subject: "permissions", found: "permissions boundary", action: "allow states:StartExecution on arn:aws:states:us-east-1:123456789012:stateMachine:ratchet-order in the permissions boundary"},
		{name: "a service control policy", account: account{denied: map[string]string{"states:StartExecution": outside}},
			result: doctor.Failure, subject: "permissions", found: "service control policy", action: "service control policies of the account"},
		{name: "a condition", account: account{denied: map[string]string{"sqs:ReceiveMessage arn:aws:sqs:us-east-1:123456789012:requests": missing}},
			result: doctor.Unchecked, subject: "permissions", found: "sqs:ReceiveMessage on requests; denied, or allowed only under a condition", action: "compare the conditions"},
		{name: "a part that does not need it", account: account{denied: map[string]string{"states:StartExecution": explicit}}, parts: []string{"stream", "notifications"},
			result: doctor.OK, subject: "permissions", found: "are simulated for"},
		{name: "answers without a decision for each resource", account: account{bare: true},
			result: doctor.Unchecked, subject: "permissions", found: "not tried", probes: true},
		{name: "the simulation is not allowed", account: account{fault: "AccessDenied", faults: -1, refused: []string{"PutItem ratchet-payments"}},
			result: doctor.Failure, subject: "table ratchet-payments", found: "not allowed: dynamodb:PutItem", action: "in a policy of this identity", probes: true},
		{name: "the root user", account: account{caller: "arn:aws:iam::123456789012:root"},
			result: doctor.Unchecked, subject: "permissions", found: "arn:aws:iam::123456789012:root has no policies that IAM simulates", probes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &c.account
			a.engine = p.Engine.Handler()
			if a.caller == "" {
				a.caller = "arn:aws:sts::123456789012:assumed-role/ratchet-worker/task-1"
			}

			if a.rolePath == "" {
				a.rolePath = "/"
			}

			b, err := p.OnAWS(a)
			p.must(err)

			checks := b.Examine(t.Context(), c.parts...)
			if !slices.ContainsFunc(checks, func(got doctor.Check) bool {
				return got.Result == c.result && got.Subject == c.subject && strings.Contains(got.Found, c.found) && strings.Contains(got.Action, c.action)
			}) {
				t.Errorf("found %+v", checks)
			}

			if n := a.sent("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"); (n > 0) != c.probes {
				t.Errorf("%d writes were tried", n)
			}

			// Of the tables and permissions nothing else is wrong.
			for _, got := range checks {
				if (got.Subject == "permissions" || strings.Contains(got.Found, "not allowed")) && got.Result == doctor.Failure && got.Subject != c.subject {
					t.Errorf("found %+v, too", got)
				}
			}
		})
	}
}

// TestTheDoctorNamesWhatItCouldNotTry: without the simulation, what has no call without an effect is
// named, and nothing else.
func TestTheDoctorNamesWhatItCouldNotTry(t *testing.T) {
	p := newPatient(t)
	a := &account{engine: p.Engine.Handler(), caller: "arn:aws:sts::123456789012:assumed-role/ratchet-worker/task-1", rolePath: "/", fault: "AccessDenied", faults: -1}

	b, err := p.OnAWS(a)
	p.must(err)

	checks := b.Examine(t.Context())
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Subject == "permissions" })
	if i < 0 || checks[i].Result != doctor.Unchecked || !strings.Contains(checks[i].Action, "iam:SimulatePrincipalPolicy") {
		t.Fatalf("found %+v", checks)
	}

	text, reason, _ := strings.Cut(strings.TrimPrefix(checks[i].Found, "not tried, because a call would have an effect: "), "; ")
	want := "dynamodb:PartiQLInsert on table/ratchet-order-events, sqs:CreateQueue on ratchet-listen-*, sqs:DeleteMessage on ratchet-listen-*, sqs:DeleteQueue on ratchet-listen-*, " +
		"sqs:ReceiveMessage on 2 resources, sqs:SendMessage on 2 resources, " +
		"states:CreateActivity on 4 resources, states:GetActivityTask on 4 resources, states:StartExecution on stateMachine:ratchet-order"
	if text != want || reason != "iam:SimulatePrincipalPolicy: AccessDenied: not now" {
		t.Errorf("not tried: %s\nwant %s\nreason %s", text, want, reason)
	}
}

// TestThereIsAListOfPermissionsForEachPartOfAWorker, so that each of its parts can be named.
func TestThereIsAListOfPermissionsForEachPartOfAWorker(t *testing.T) {
	for _, part := range server.WorkerParts() {
		if !slices.Contains(server.PermissionParts(), string(part)) {
			t.Errorf("no list for %s", part)
		}
	}

	p := newPatient(t)
	if found := problems(p.Examine(t.Context(), "stream", "fly")); len(found) != 1 || !strings.Contains(found[0].Found, `"fly": must be one of activities, api,`) {
		t.Errorf("an unknown part: %+v", found)
	}
}
