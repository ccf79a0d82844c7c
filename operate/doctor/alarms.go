package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"ratchet/internal/plural"
)

// Alarm is an alarm of CloudWatch that the program's templates create.
type Alarm struct {
	// Is has its properties. In texts, ${AWS::Partition}, ${AWS::Region} and ${AWS::AccountId} stand for the account's.
	Is types.MetricAlarm
	// Alternative: of the alarms that have one, the templates create those with the same, and no others. Empty: always.
	Alternative string
}

func (a Alarm) name() string { return aws.ToString(a.Is.AlarmName) }

// alarmsAtOnce is how many names a call may have.
const alarmsAtOnce = 100

const writeTemplates = "deploy alarms.yaml or alarms.tf, as `ratchet deploy` of this program writes it"

// checkAlarms compares the alarms with those of the program's templates. Only AWS has them.
func (e *examination) checkAlarms(ctx context.Context) []Check {
	const subject = "alarms"

	if e.caller == nil || len(e.cfg.Alarms) == 0 {
		return nil
	}

	deployed, err := e.deployedAlarms(ctx)
	if err != nil {
		return []Check{NewUnchecked(subject, brief(err), "allow cloudwatch:DescribeAlarms")}
	}

	var checks []Check

	if missing := e.missingAlarms(deployed); len(missing) > 0 {
		checks = append(checks, NewWarning(subject, plural.Of(len(missing), "alarm")+" missing: "+strings.Join(missing, ", "), writeTemplates))
	}

	for _, wanted := range e.cfg.Alarms {
		if is, found := deployed[wanted.name()]; found {
			checks = append(checks, e.compareAlarm(is, wanted.Is)...)
		}
	}

	if len(checks) == 0 {
		checks = append(checks, NewOK(subject, fmt.Sprintf("%d, as in the templates of this program", len(deployed))))
	}

	return checks
}

// deployedAlarms returns those of the program's alarms that are there, by name.
func (e *examination) deployedAlarms(ctx context.Context) (map[string]types.MetricAlarm, error) {
	client := cloudwatch.NewFromConfig(e.cfg.AWS)
	all := map[string]types.MetricAlarm{}

	for some := range slices.Chunk(e.cfg.Alarms, alarmsAtOnce) {
		var names []string
		for _, a := range some {
			names = append(names, a.name())
		}

		pages := cloudwatch.NewDescribeAlarmsPaginator(client, &cloudwatch.DescribeAlarmsInput{AlarmNames: names, AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}

			for _, is := range page.MetricAlarms {
				all[aws.ToString(is.AlarmName)] = is
			}
		}
	}

	return all, nil
}

// missingAlarms returns the names of the alarms that are not there. Of alternatives, one is wanted: the one of which most
// alarms are there, and either of them if there is none of any.
func (e *examination) missingAlarms(deployed map[string]types.MetricAlarm) (missing []string) {
	absent, present := map[string][]string{}, map[string]int{}

	for _, wanted := range e.cfg.Alarms {
		if _, found := deployed[wanted.name()]; found {
			present[wanted.Alternative]++
		} else {
			absent[wanted.Alternative] = append(absent[wanted.Alternative], wanted.name())
		}
	}

	missing = absent[""]
	delete(absent, "")
	delete(present, "")

	if len(present) > 0 {
		most := slices.MaxFunc(slices.Sorted(maps.Keys(present)), func(x, y string) int { return cmp.Compare(present[x], present[y]) })
		return append(missing, absent[most]...)
	}

	var either []string
	for _, alternative := range slices.Sorted(maps.Keys(absent)) {
		either = append(either, strings.Join(absent[alternative], " and "))
	}

	if len(either) > 0 {
		missing = append(missing, strings.Join(either, " or "))
	}

	return missing
}

// compareAlarm returns a warning for each property in which a deployed alarm differs from the templates, and if the
// alarm notifies no one.
func (e *examination) compareAlarm(is, wanted types.MetricAlarm) (checks []Check) {
	subject := "alarm " + aws.ToString(is.AlarmName)
	account := strings.NewReplacer("${AWS::Partition}", e.caller.Partition, "${AWS::Region}", e.cfg.AWS.Region, "${AWS::AccountId}", e.caller.AccountID)

	for _, one := range []struct {
		what string
		of   func(types.MetricAlarm) string
	}{{"measures", measured}, {"fires at", firesAt}} {
		if got, want := one.of(is), account.Replace(one.of(wanted)); got != want {
			checks = append(checks, NewWarning(subject, fmt.Sprintf("%s %s; that of this program: %s", one.what, got, want), writeTemplates))
		}
	}

	if len(is.AlarmActions) == 0 || !aws.ToBool(is.ActionsEnabled) {
		checks = append(checks, NewWarning(subject, "has no action, or its actions are disabled: it is sent to no one", writeTemplates))
	}

	return checks
}

// firesAt describes when an alarm fires.
func firesAt(a types.MetricAlarm) string {
	return fmt.Sprintf("%s %g, %s, missing data %s", a.ComparisonOperator, aws.ToFloat64(a.Threshold),
		plural.Of(int(aws.ToInt32(a.EvaluationPeriods)), "period"), cmp.Or(aws.ToString(a.TreatMissingData), "missing"))
}

// measured describes what an alarm measures: a metric, or an expression of several.
func measured(a types.MetricAlarm) string {
	if len(a.Metrics) == 0 {
		return metricText(cmp.Or(string(a.Statistic), aws.ToString(a.ExtendedStatistic)), aws.ToString(a.Namespace), aws.ToString(a.MetricName), a.Dimensions, a.Period)
	}

	var all []string
	for _, m := range a.Metrics {
		text := aws.ToString(m.Expression)
		if s := m.MetricStat; s != nil && s.Metric != nil {
			text = metricText(aws.ToString(s.Stat), aws.ToString(s.Metric.Namespace), aws.ToString(s.Metric.MetricName), s.Metric.Dimensions, s.Period)
		}
		all = append(all, aws.ToString(m.Id)+" = "+text)
	}
	slices.Sort(all)

	return strings.Join(all, "; ")
}

func metricText(statistic, namespace, name string, dimensions []types.Dimension, period *int32) string {
	var of []string
	for _, d := range dimensions {
		of = append(of, aws.ToString(d.Name)+"="+aws.ToString(d.Value))
	}
	slices.Sort(of)

	return fmt.Sprintf("%s of %s %s of %s in %d s", statistic, namespace, name, strings.Join(of, ","), aws.ToInt32(period))
}
