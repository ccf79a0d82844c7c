package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/encoding/cbor"

	"ratchet/operate/doctor"
	"ratchet/operate/processes"
)

// serveCloudWatch answers DescribeAlarms with those alarms of the account whose names are asked for, one a page.
func (a *account) serveCloudWatch(w *httptest.ResponseRecorder, body []byte) {
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")

	if a.noAlarms {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(cbor.Encode(cbor.Map{"__type": cbor.String("com.amazonaws.cloudwatch#AccessDenied"), "message": cbor.String("no")}))

		return
	}

	decoded, err := cbor.Decode(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	asked := decoded.(cbor.Map)
	names := asked["AlarmNames"].(cbor.List)
	after, _ := asked["NextToken"].(cbor.String)

	answer := cbor.Map{"MetricAlarms": cbor.List{}}

	for _, alarm := range a.alarms {
		name := cbor.String(aws.ToString(alarm.AlarmName))
		if !slices.Contains(names, cbor.Value(name)) || name <= after {
			continue
		}

		answer["MetricAlarms"], answer["NextToken"] = cbor.List{alarmOnTheWire(alarm)}, name

		break
	}
	_, _ = w.Write(cbor.Encode(answer))
}

// alarmOnTheWire encodes what the doctor reads of an alarm.
func alarmOnTheWire(a types.MetricAlarm) cbor.Map {
	m := cbor.Map{
		"AlarmName": cbor.String(aws.ToString(a.AlarmName)), "ActionsEnabled": cbor.Bool(aws.ToBool(a.ActionsEnabled)), "AlarmActions": cbor.List{},
		"Threshold": cbor.Float64(aws.ToFloat64(a.Threshold)), "EvaluationPeriods": cbor.Uint(aws.ToInt32(a.EvaluationPeriods)),
		"ComparisonOperator": cbor.String(a.ComparisonOperator), "TreatMissingData": cbor.String(aws.ToString(a.TreatMissingData)),
	}

	for _, action := range a.AlarmActions {
		m["AlarmActions"] = append(m["AlarmActions"].(cbor.List), cbor.String(action))
	}

	if len(a.Metrics) == 0 {
		m["Namespace"], m["MetricName"] = cbor.String(aws.ToString(a.Namespace)), cbor.String(aws.ToString(a.MetricName))
		m["Period"], m["Dimensions"] = cbor.Uint(aws.ToInt32(a.Period)), dimensionsOnTheWire(a.Dimensions)
		// One of the two is set.
		if a.Statistic != "" {
			m["Statistic"] = cbor.String(a.Statistic)
		} else {
			m["ExtendedStatistic"] = cbor.String(aws.ToString(a.ExtendedStatistic))
		}

		return m
	}

	queries := cbor.List{}
	for _, q := range a.Metrics {
		one := cbor.Map{"Id": cbor.String(aws.ToString(q.Id))}
		if s := q.MetricStat; s == nil {
			one["Expression"] = cbor.String(aws.ToString(q.Expression))
		} else {
			one["MetricStat"] = cbor.Map{"Stat": cbor.String(aws.ToString(s.Stat)), "Period": cbor.Uint(aws.ToInt32(s.Period)), "Metric": cbor.Map{
				"Namespace": cbor.String(aws.ToString(s.Metric.Namespace)), "MetricName": cbor.String(aws.ToString(s.Metric.MetricName)),
				"Dimensions": dimensionsOnTheWire(s.Metric.Dimensions),
			}}
		}
		queries = append(queries, one)
	}
	m["Metrics"] = queries

	return m
}

func dimensionsOnTheWire(all []types.Dimension) cbor.List {
	list := cbor.List{}
	for _, d := range all {
		list = append(list, cbor.Map{"Name": cbor.String(aws.ToString(d.Name)), "Value": cbor.String(aws.ToString(d.Value))})
	}

	return list
}

// inTheAccount returns the alarms as CloudFormation creates them of the templates, sorted by name: with the names of
// this account, and with a topic.
func inTheAccount(wanted []doctor.Alarm) (all []types.MetricAlarm) {
	for _, w := range wanted {
		is := w.Is
		is.ActionsEnabled, is.AlarmActions = aws.Bool(true), []string{"arn:aws:sns:us-east-1:123456789012:ratchet-alarms"}
		is.Dimensions = inUSEast(is.Dimensions)

		is.Metrics = slices.Clone(is.Metrics)
		for i, q := range is.Metrics {
			if q.MetricStat != nil {
				stat, metric := *q.MetricStat, *q.MetricStat.Metric
				metric.Dimensions = inUSEast(metric.Dimensions)
				stat.Metric, is.Metrics[i].MetricStat = &metric, &stat
			}
		}
		all = append(all, is)
	}
	slices.SortFunc(all, func(x, y types.MetricAlarm) int { return strings.Compare(*x.AlarmName, *y.AlarmName) })

	return all
}

func inUSEast(all []types.Dimension) (resolved []types.Dimension) {
	r := strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "us-east-1", "${AWS::AccountId}", "123456789012")
	for _, d := range all {
		resolved = append(resolved, types.Dimension{Name: d.Name, Value: aws.String(r.Replace(*d.Value))})
	}

	return resolved
}

// TestAlarmsAreComparedWithTheTemplates: the doctor names an alarm that is missing, that was changed, or that no one
// gets, and nothing else.
func TestAlarmsAreComparedWithTheTemplates(t *testing.T) {
	p := newPatient(t)

	change := func(name string, do func(*types.MetricAlarm)) func([]types.MetricAlarm) []types.MetricAlarm {
		return func(all []types.MetricAlarm) []types.MetricAlarm {
			i := slices.IndexFunc(all, func(a types.MetricAlarm) bool { return *a.AlarmName == name })
			if i < 0 {
				t.Fatalf("no alarm %s", name)
			}
			do(&all[i])

			return all
		}
	}
	// What reads the stream decides which of these there are.
	ofWorkers := []string{"ratchet-no-stream-reader", "ratchet-stream-lag", "ratchet-stream-gaps"}
	ofFunctions := []string{"ratchet-stream-on-lambda", "ratchet-stream-function-idle", "ratchet-stream-batches-discarded"}

	without := func(names ...string) func([]types.MetricAlarm) []types.MetricAlarm {
		return func(all []types.MetricAlarm) []types.MetricAlarm {
			return slices.DeleteFunc(all, func(a types.MetricAlarm) bool { return slices.Contains(names, *a.AlarmName) })
		}
	}

	for _, c := range []struct {
		name           string
		as             func([]types.MetricAlarm) []types.MetricAlarm
		refused        bool
		result         doctor.Result
		subject, found string
	}{
		{"as the templates", without(ofFunctions...), false, doctor.OK, "alarms", "as in the templates"},
		{"a function reads the stream", without(ofWorkers...), false, doctor.OK, "alarms", "as in the templates"},
		{"nothing watches the stream", without(slices.Concat(ofWorkers, ofFunctions)...), false, doctor.Warning, "alarms",
			"1 alarm missing: ratchet-stream-batches-discarded and ratchet-stream-function-idle and ratchet-stream-on-lambda" +
				" or ratchet-no-stream-reader and ratchet-stream-gaps and ratchet-stream-lag"},
		{"the lag is not watched", without(append(ofFunctions, "ratchet-stream-lag")...), false, doctor.Warning, "alarms", "1 alarm missing: ratchet-stream-lag"},
		{"one is missing", without("ratchet-orders-throttled"), false, doctor.Warning, "alarms", "1 alarm missing: ratchet-orders-throttled"},
		{"none is there", func([]types.MetricAlarm) []types.MetricAlarm { return nil }, false, doctor.Warning, "alarms", "alarms missing: ratchet-activities-not-started-accept, "},
		{"a threshold", change("ratchet-no-stream-reader", func(a *types.MetricAlarm) { a.Threshold = aws.Float64(0.5) }), false,
			doctor.Warning, "alarm ratchet-no-stream-reader", "fires at LessThanThreshold 0.5, 5 periods, missing data breaching; that of this program: LessThanThreshold 1, 5 periods, missing data breaching"},
		{"the metric", change("ratchet-handlers-failing", func(a *types.MetricAlarm) { a.MetricName = aws.String("ConsumedReadCapacityUnits") }), false,
			doctor.Warning, "alarm ratchet-handlers-failing", "measures Sum of AWS/DynamoDB ConsumedReadCapacityUnits of TableName=ratchet-dead-letters in 300 s; that of this program: Sum of AWS/DynamoDB ConsumedWriteCapacityUnits of TableName=ratchet-dead-letters in 300 s"},
		{"missing data", change("ratchet-stream-lag", func(a *types.MetricAlarm) { a.TreatMissingData = aws.String("notBreaching") }), false,
			doctor.Warning, "alarm ratchet-stream-lag", "2 periods, missing data notBreaching; that of this program: GreaterThanThreshold 300, 2 periods, missing data breaching"},
		{"a metric of an expression", change("ratchet-activities-not-started-pay", func(a *types.MetricAlarm) {
			for _, q := range a.Metrics {
				if *q.Id == "started" {
					q.MetricStat.Metric.Dimensions[0].Value = aws.String("arn:aws:states:us-east-1:123456789012:activity:other-pay")
				}
			}
		}), false, doctor.Warning, "alarm ratchet-activities-not-started-pay", "ActivityArn=arn:aws:states:us-east-1:123456789012:activity:other-pay in 900 s"},
		{"no action", change("ratchet-orders-throttled", func(a *types.MetricAlarm) { a.AlarmActions = nil }), false, doctor.Warning, "alarm ratchet-orders-throttled", "has no action"},
		{"disabled actions", change("ratchet-orders-throttled", func(a *types.MetricAlarm) { a.ActionsEnabled = aws.Bool(false) }), false,
			doctor.Warning, "alarm ratchet-orders-throttled", "its actions are disabled"},
		{"it may not look", without(), true, doctor.Unchecked, "alarms", "AccessDenied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &account{engine: p.Engine.Handler(), caller: "arn:aws:sts::123456789012:assumed-role/ratchet-worker/task-1", rolePath: "/", noAlarms: c.refused}

			b, err := p.OnAWS(a)
			p.must(err)

			wanted, err := b.NeededAlarms()
			p.must(err)
			a.alarms = c.as(inTheAccount(wanted))

			var found []doctor.Check
			for _, check := range b.Examine(t.Context()) {
				if strings.HasPrefix(check.Subject, "alarm") {
					found = append(found, check)
				}
			}

			if len(found) != 1 || found[0].Result != c.result || found[0].Subject != c.subject || !strings.Contains(found[0].Found, c.found) || (found[0].Result == doctor.OK) != (found[0].Action == "") {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// TestTheDoctorNamesProcessesWithoutFigures: alarms cannot see what a process without the setting measures, so the doctor
// names it, with what to do. Processes that write figures are in order.
func TestTheDoctorNamesProcessesWithoutFigures(t *testing.T) {
	p := newPatient(t)

	b, err := p.OnAWS(&account{engine: p.Engine.Handler(), caller: "arn:aws:sts::123456789012:assumed-role/ratchet-worker/task-1", rolePath: "/"})
	p.must(err)

	runs := func(name string, figures bool) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		begun, ended := make(chan struct{}), make(chan struct{})

		go func() {
			defer close(ended)

			begin := sync.OnceFunc(func() { close(begun) })
			p.Backend.Processes.Run(ctx, processes.Self{
				Report: func(context.Context) processes.Report {
					return processes.Report{Name: name, Parts: []string{"api"}, Ready: true, Figures: figures}
				},
				Beaten: func(context.Context, int64) { begin() },
			})
		}()
		<-begun

		return func() { cancel(); <-ended }
	}

	found := func() doctor.Check {
		all := b.Examine(t.Context())
		return all[slices.IndexFunc(all, func(c doctor.Check) bool { return c.Subject == "figures of alarms" })]
	}

	defer runs("with", true)()

	if c := found(); c.Result != doctor.OK {
		t.Errorf("each process writes figures: %+v", c)
	}

	stop := runs("without", false)

	if c := found(); c.Result != doctor.Warning || !strings.HasPrefix(c.Found, "none from without: ") || !strings.Contains(c.Action, "RATCHET_CLOUDWATCH_FIGURES=true") {
		t.Errorf("a process writes none: %+v", c)
	}

	stop()

	if c := found(); c.Result != doctor.OK {
		t.Errorf("the process has ended: %+v", c)
	}
}
