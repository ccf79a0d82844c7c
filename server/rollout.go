package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/buildinfo"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Rollout says what is left of rolling out this program: the steps in the one order in which they are
// safe while orders arrive. Each step allows the next one, and none harms what runs before it.
type Rollout struct {
	// Version is the definition's version of this program.
	Version int `json:"version"`
	// Steps are all steps in their order, also those with nothing to do.
	Steps []RolloutStep `json:"steps"`
}

// RolloutStep is a step of a rollout.
type RolloutStep struct {
	// Step is accept, resources, workers, machine, migrate or drop.
	Step string `json:"step"`
	// Differs says what is not yet as this program needs it. If it is empty, the step has nothing to do.
	Differs []string `json:"differs"`
	// Do says what to do.
	Do string `json:"do"`
}

// PlanRollout compares what runs and is deployed with this program. It reads every order and changes nothing.
func (b *Backend) PlanRollout(ctx context.Context, sweep transitions.Sweep) (Rollout, error) {
	p := rolloutPlan{backend: b, version: b.Orders.Definition().Version(), versions: map[int]bool{}}
	if err := p.look(ctx, sweep); err != nil {
		return Rollout{}, err
	}

	return Rollout{Version: p.version, Steps: []RolloutStep{
		p.accept(), p.resources(), p.workers(), p.machine(), p.migrate(), p.drop(),
	}}, nil
}

// rolloutPlan is what PlanRollout has seen.
type rolloutPlan struct {
	backend *Backend
	version int

	running []processes.Process
	counts  inspect.Counts
	// versions are the other versions that orders or processes have.
	versions map[int]bool
	// missing says what this program lacks: tables or parts of them, activities and queues. leftover are the activities of the
	// prefix that it does not use.
	missing, leftover []string
	// machineDiffers says how the deployed state machine differs, "" if it does not.
	machineDiffers string
}

func (p *rolloutPlan) look(ctx context.Context, sweep transitions.Sweep) error {
	if err := p.lookAtResources(ctx); err != nil {
		return err
	}

	if err := p.lookAtMachine(ctx); err != nil {
		return err
	}

	var missing *types.ResourceNotFoundException

	all, err := p.backend.Processes.Check(ctx)
	if err != nil && !errors.As(err, &missing) {
		return err
	}

	for _, one := range all {
		// An engine alone knows no definition.
		if one.State == processes.Live && len(one.Versions) > 0 {
			p.running = append(p.running, one)
			p.note(one.Versions[0])
		}
	}

	p.counts, err = inspect.Count(ctx, p.backend.Orders, sweep)
	if err != nil && !errors.As(err, &missing) {
		return err
	}

	for version := range p.counts {
		p.note(version)
	}

	return nil
}

// note notes a version of the definition. Version 0 stands for none.
func (p *rolloutPlan) note(version int) {
	if version != 0 && version != p.version {
		p.versions[version] = true
	}
}

// others returns the other versions, as a list for accept-versions.
func (p *rolloutPlan) others() string {
	var texts []string
	for _, version := range slices.Sorted(maps.Keys(p.versions)) {
		texts = append(texts, fmt.Sprint(version))
	}

	return strings.Join(texts, ",")
}

func (p *rolloutPlan) lookAtResources(ctx context.Context) error {
	for _, spec := range p.backend.tables() {
		differs, err := p.backend.differencesOf(ctx, spec)
		if err != nil {
			return err
		}
		p.missing = append(p.missing, differs...)
	}

	needed := map[string]bool{}
	for _, a := range p.backend.neededActivities() {
		needed[p.backend.Config.Prefix+a.Name] = true
	}

	pages := sfn.NewListActivitiesPaginator(p.backend.SFN, &sfn.ListActivitiesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list activities: %w", err)
		}

		for _, a := range page.Activities {
			name := aws.ToString(a.Name)
			if !needed[name] && strings.HasPrefix(name, p.backend.Config.Prefix) {
				p.leftover = append(p.leftover, name)
			}
			delete(needed, name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(needed)) {
		p.missing = append(p.missing, "activity "+name+" is missing")
	}

	if queue := p.backend.Config.RequestsQueue; queue != "" && !isURL(queue) {
		_, err := p.backend.queueURL(ctx, queue)
		if errors.Is(err, errNoQueue) {
			p.missing = append(p.missing, "queue "+queue+" is missing")
		} else if err != nil {
			return err
		}
	}

	return nil
}

func (p *rolloutPlan) lookAtMachine(ctx context.Context) error {
	arn, err := p.backend.findStateMachine(ctx)
	if errors.Is(err, ErrNotInitialized) {
		p.machineDiffers = "it does not exist"
		return nil
	} else if err != nil {
		return err
	}

	is, err := p.backend.SFN.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil {
		return fmt.Errorf("describe the state machine: %w", err)
	}
	p.machineDiffers = strings.ToValidUTF8(p.backend.neededMachine().Differs(arn, aws.ToString(is.Definition)), "?")

	return nil
}

// lost returns the states of orders of other versions that this program's definition does not have.
func (p *rolloutPlan) lost() (all []string) {
	for _, version := range slices.Sorted(maps.Keys(p.versions)) {
		for _, state := range slices.Sorted(maps.Keys(p.counts[version])) {
			if state != "" && !p.backend.Orders.Definition().HasState(state) {
				all = append(all, fmt.Sprintf("%s of version %d: %s, which version %d does not have", plural.Of(p.counts[version][state], "order"), version, state, p.version))
			}
		}
	}

	return all
}

// accept is the step before anything of this version runs: it may move orders as soon as it does.
func (p *rolloutPlan) accept() RolloutStep {
	s := RolloutStep{Step: "accept", Differs: []string{}, Do: fmt.Sprintf("start what runs again with --accept-versions %d, one process after the other", p.version)}
	lost := p.lost()

	for i, one := range p.running {
		if one.Versions[0] == p.version || slices.Contains(one.Versions, p.version) && len(lost) == 0 {
			continue
		}
		s.Differs = append(s.Differs, fmt.Sprintf("%s runs version %d of the definition and does not accept %d", processes.Names(p.running)[i], one.Versions[0], p.version))
	}

	// Processes of two versions would not agree on such orders.
	if len(lost) > 0 && len(s.Differs) > 0 {
		s.Differs = append(s.Differs, lost...)
		s.Do = "stop what runs; orders wait until they are migrated"
	}

	return s
}

// resources is the step before this program runs, which needs them. What runs does not see them.
func (p *rolloutPlan) resources() RolloutStep {
	s := RolloutStep{Step: "resources", Differs: []string{}, Do: "`ratchet init --keep-machine`, or deploy the templates of this program with the state machine's file that is deployed now"}
	s.Differs = append(s.Differs, p.missing...)

	return s
}

// workers is the step before the state machine: its executions begin tasks and events that only this program knows.
func (p *rolloutPlan) workers() RolloutStep {
	s := RolloutStep{Step: "workers", Differs: []string{}, Do: "start the workers of this program, then the API servers, and then stop the earlier ones"}
	if others := p.others(); others != "" {
		s.Do = "start the workers of this program with --accept-versions " + others + ", then the API servers, and then stop the earlier ones"
	}

	mine := 0
	for i, one := range p.running {
		switch name := processes.Names(p.running)[i]; {
		case p.remains(one):
			// It has a part in the next steps.
		case one.Versions[0] != p.version:
			s.Differs = append(s.Differs, fmt.Sprintf("%s runs version %d of the definition", name, one.Versions[0]))
		case one.Version != buildinfo.Version():
			s.Differs = append(s.Differs, fmt.Sprintf("%s runs %s, and this is %s", name, one.Version, buildinfo.Version()))
		default:
			mine++
		}
	}

	if mine == 0 {
		s.Differs = append(s.Differs, "no process of this program runs")
	}

	if len(p.leftover) > 0 && len(s.Differs) > 0 {
		s.Do += "; leave one earlier worker with --only activities for " + strings.Join(p.leftover, ", ") + " until the executions that use it have ended"
	}

	return s
}

// remains reports whether a process of another program is left for activities that only that program serves.
func (p *rolloutPlan) remains(one processes.Process) bool {
	others := slices.ContainsFunc(one.Parts, func(part string) bool { return part != string(PartActivities) && part != partEngine })

	return len(p.leftover) > 0 && one.Versions[0] != p.version && !others
}

func (p *rolloutPlan) machine() RolloutStep {
	s := RolloutStep{Step: "machine", Differs: []string{}, Do: "`ratchet init`, or deploy the templates of this program; executions that run keep their state machine"}
	if p.machineDiffers != "" {
		s.Differs = append(s.Differs, "the state machine "+p.backend.stateMachineName()+": "+p.machineDiffers)
	}

	return s
}

// migrate is the step after the last process of an earlier version has ended: it would refuse the orders.
func (p *rolloutPlan) migrate() RolloutStep {
	s := RolloutStep{Step: "migrate", Differs: []string{}, Do: "`ratchet workflow migrate`"}

	for i, one := range p.running {
		if p.remains(one) {
			s.Differs = append(s.Differs, fmt.Sprintf("%s runs version %d of the definition for %s", processes.Names(p.running)[i], one.Versions[0], strings.Join(p.leftover, ", ")))
			s.Do = "stop the worker that is left for activities when no execution uses them; then `ratchet workflow migrate`"
		}
	}

	for _, version := range slices.Sorted(maps.Keys(p.versions)) {
		if n := total(p.counts[version]); n > 0 {
			s.Differs = append(s.Differs, fmt.Sprintf("%s of version %d", plural.Of(n, "order"), version))
		}
	}

	if len(p.lost()) > 0 {
		s.Do += ", with --mapping for the states that are gone"
	}

	return s
}

func total(counts map[workflow.State]int) (n int) {
	for _, count := range counts {
		n += count
	}

	return n
}

func (p *rolloutPlan) drop() RolloutStep {
	s := RolloutStep{Step: "drop", Differs: []string{}, Do: "start the processes again without --accept-versions; delete activities when no execution uses them"}

	for i, one := range p.running {
		if one.Versions[0] == p.version && len(one.Versions) > 1 {
			s.Differs = append(s.Differs, fmt.Sprintf("%s still accepts %s", processes.Names(p.running)[i], strings.Trim(fmt.Sprint(one.Versions[1:]), "[]")))
		}
	}

	for _, name := range p.leftover {
		s.Differs = append(s.Differs, "activity "+name+" is not used by this program")
	}

	return s
}
