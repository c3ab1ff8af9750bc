import type { Json } from '../execution/execution.ts';
import { fenced, inlineText } from '../notebook/text.ts';
import { inLine } from '../text/in-line.ts';
import { makeVisible } from '../text/visible.ts';
import type { ApprovalPayload } from './approval/payload.ts';
import { createApprovalType } from './caller-graph.ts';
import type { ExecutionPlan, PlannedStep } from './capability/agent-state.ts';

/** Asks whether a plan may be carried out: `interrupt(create_plan_approval_interrupt(plan))`. */
export function createPlanApprovalInterrupt(execution_plan: ExecutionPlan): ApprovalPayload {
  const steps = execution_plan.steps.map((step, index) => `${index + 1}. ${describeStep(step)}`);
  return ask({
    approval_type: createApprovalType('orchestrator', 'plan'),
    step_objective: 'Carry out the plan',
    shown: ['**Planned steps:**', ...steps],
    yes: 'carry out this plan',
    facts: { execution_plan: execution_plan as unknown as Json },
  });
}

/** Asks whether one step may be carried out. */
export function createStepApprovalInterrupt(step: PlannedStep, reason = 'This step needs approval'): ApprovalPayload {
  return ask({
    approval_type: createApprovalType(step.capability ?? 'capability', 'step'),
    step_objective: step.task_objective ?? '',
    shown: [`**Why:** ${line(reason)}`, `**Step:** ${describeStep(step)}`],
    yes: 'carry out this step',
    facts: { step: step as Json, reason },
  });
}

export interface MemoryChange {
  readonly content: string;
  readonly operation_type: 'create' | 'update' | 'delete';
  readonly existing_memory?: string | null;
  readonly step_objective?: string;
}

/** Asks whether something may be remembered, changed or forgotten. */
export function createMemoryApprovalInterrupt(change: MemoryChange): ApprovalPayload {
  const { content, operation_type, existing_memory = null, step_objective = 'Save content to memory' } = change;
  return ask({
    approval_type: createApprovalType('memory', operation_type),
    step_objective,
    shown: [
      `**Operation:** ${operation_type}`,
      ...(existing_memory === null ? [] : ['**Now:**', fenced(makeVisible(existing_memory))]),
      '**Content:**',
      fenced(makeVisible(content)),
    ],
    yes: `${operation_type} this memory`,
    facts: { content, operation_type, existing_memory },
  });
}

export interface ChannelWrites {
  readonly operations: readonly { readonly channel: string; readonly value: Json; readonly units?: string }[];
  readonly safety_concerns?: readonly string[];
  readonly step_objective?: string;
}

/** Asks whether values may be written to channels of a control system. */
export function createChannelWriteApprovalInterrupt(writes: ChannelWrites): ApprovalPayload {
  const { operations, safety_concerns = [], step_objective = 'Write to the control system' } = writes;
  const rows = operations.map(
    ({ channel, value, units }) =>
      `- ${line(channel)} = ${line(JSON.stringify(value))}${units ? ` ${line(units)}` : ''}`,
  );
  return ask({
    approval_type: createApprovalType('channel_write'),
    step_objective,
    shown: [
      '**Writes:**',
      ...rows,
      ...(safety_concerns.length > 0 ? ['', '**Concerns:**', ...safety_concerns.map((one) => `- ${line(one)}`)] : []),
    ],
    yes: 'write exactly these values',
    facts: { operations, safety_concerns },
  });
}

interface Question {
  readonly approval_type: string;
  readonly step_objective: string;
  readonly shown: readonly string[];
  /** What approving does, after "Respond with yes to". */
  readonly yes: string;
  readonly facts: Readonly<Record<string, Json>>;
}

/** The value of an interrupt. Text of models is one line each or stands in a fence, so it cannot forge the question. */
function ask({ approval_type, step_objective, shown, yes, facts }: Question): ApprovalPayload {
  const user_message = [
    '⚠️ **HUMAN APPROVAL REQUIRED** ⚠️',
    '',
    `**Task:** ${line(step_objective)}`,
    ...shown,
    '',
    `Respond with **yes** to ${yes}, or **no** to cancel.`,
  ].join('\n');
  return { user_message, resume_payload: { approval_type, step_objective, ...facts } };
}

function describeStep({ task_objective = '', capability }: PlannedStep): string {
  return capability === undefined ? line(task_objective) : `${line(task_objective)} (${line(capability)})`;
}

function line(text: string): string {
  return inlineText(inLine(text, 1000));
}
