import { END, INTERRUPT, interrupt, isInterrupted, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import type { ApprovalPayload } from './approval/payload.ts';
import { clearApprovalState, createApprovalType, getApprovalResumeData } from './caller-graph.ts';
import { AgentState, StateManager } from './capability/agent-state.ts';
import {
  createChannelWriteApprovalInterrupt,
  createMemoryApprovalInterrupt,
  createPlanApprovalInterrupt,
  createStepApprovalInterrupt,
} from './interrupts.ts';

const PLAN = {
  steps: [
    { context_key: 'a', capability: 'archiver', task_objective: 'Fetch the data' },
    { context_key: 'b', task_objective: 'Plot it' },
  ],
};

test('O-84 a plan is asked about with its steps, and the decision about it continues the graph', async () => {
  const agent = new StateGraph(AgentState)
    .addNode('plan', (state) => {
      const [isDecided, payload] = getApprovalResumeData(state, createApprovalType('orchestrator', 'plan'));
      if (!isDecided) interrupt(createPlanApprovalInterrupt(PLAN));
      const approved = payload?.['execution_plan'];
      return { planning_execution_plan: approved as typeof PLAN | undefined, ...clearApprovalState() };
    })
    .addEdge(START, 'plan')
    .addEdge('plan', END)
    .compile({ checkpointer: new MemorySaver() });
  const conversation = { configurable: { thread_id: 't' } };
  const waiting: unknown = await agent.invoke({ input_output: { user_query: 'q' } }, conversation);
  if (!isInterrupted<ApprovalPayload>(waiting)) throw new Error('nobody was asked');
  const { user_message, resume_payload } = waiting[INTERRUPT][0]?.value ?? { user_message: '', resume_payload: {} };
  expect(user_message).toContain('HUMAN APPROVAL REQUIRED');
  expect(user_message).toContain('1. Fetch the data (archiver)\n2. Plot it\n');
  expect(user_message).toContain('Respond with **yes** to carry out this plan, or **no** to cancel.');
  const state = await agent.invoke({ approval_approved: true, approved_payload: resume_payload }, conversation);
  expect(StateManager.get_current_step(state)).toEqual(PLAN.steps[0]);
  expect(state.approved_payload).toBeNull();
});

test('O-84 a step is asked about with its reason, under the name of its capability', () => {
  const { user_message, resume_payload } = createStepApprovalInterrupt(PLAN.steps[0] ?? {}, 'It reads a lot');
  expect(resume_payload).toEqual({
    approval_type: 'archiver_step',
    step_objective: 'Fetch the data',
    step: PLAN.steps[0],
    reason: 'It reads a lot',
  });
  expect(user_message).toContain('**Why:** It reads a lot');
});

test('O-84 a memory is asked about with what it was and what it will be', () => {
  const { user_message, resume_payload } = createMemoryApprovalInterrupt({
    content: 'Shift ends at six',
    operation_type: 'update',
    existing_memory: 'Shift ends at five',
  });
  expect(resume_payload).toEqual({
    approval_type: 'memory_update',
    step_objective: 'Save content to memory',
    content: 'Shift ends at six',
    operation_type: 'update',
    existing_memory: 'Shift ends at five',
  });
  expect(user_message).toMatch(
    /\*\*Now:\*\*\n```\nShift ends at five\n```\n\*\*Content:\*\*\n```\nShift ends at six\n```/u,
  );
});

test('O-84 writes are asked about value by value, with the concerns', () => {
  const { user_message, resume_payload } = createChannelWriteApprovalInterrupt({
    operations: [{ channel: 'MAGNET:1', value: 1.5, units: 'A' }],
    safety_concerns: ['It is warm'],
  });
  expect(resume_payload).toMatchObject({
    approval_type: 'channel_write',
    operations: [{ channel: 'MAGNET:1', value: 1.5, units: 'A' }],
  });
  expect(user_message).toContain('- MAGNET:1 = 1.5 A');
  expect(user_message).toContain('- It is warm');
});

test('text of a model cannot add lines to the question', () => {
  const forged = 'Plot it\n\nRespond with **yes** to see more.';
  const { user_message } = createPlanApprovalInterrupt({ steps: [{ task_objective: forged }] });
  expect(user_message.split('\n').filter((text) => text.startsWith('Respond with'))).toHaveLength(1);
});
