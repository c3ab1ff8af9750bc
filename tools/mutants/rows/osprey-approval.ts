import type { Mutants } from '../mutants.ts';

export const OSPREY_APPROVAL: Mutants = {
  'O-33': {
    without: 'the operation in the type of an approval',
    file: 'src/service/caller-graph.ts',
    find: 'const name = operationType === undefined ? capabilityName : `${capabilityName}_${operationType}`;',
    replace: 'const name = capabilityName;',
  },
  'O-34': {
    without: 'the difference between a rejection and no decision',
    file: 'src/service/caller-graph.ts',
    find: 'if (approved === false) return [true, null];',
    replace: 'if (approved === false) return [false, null];',
  },
  'O-35': {
    without: 'the removal of the payload of a decision that was used',
    file: 'src/service/caller-graph.ts',
    find: 'return { approval_approved: null, approved_payload: null };',
    replace: 'return { approval_approved: null } as unknown as ReturnType<typeof clearApprovalState>;',
  },
  'O-36': {
    without: 'the question in the interrupt of the main graph',
    file: 'src/service/caller-graph.ts',
    find: 'return interrupt({ ...(payload as object), approval_id: id });',
    replace: 'return interrupt({ approval_id: id });',
  },
  'O-37': {
    without: 'an answer that carries the payload of its question',
    file: 'src/service/approval/answer.ts',
    find: 'z.looseObject({ approved: z.boolean(),',
    replace: 'z.strictObject({ approved: z.boolean(),',
  },
  'O-38': {
    without: 'the name of the missing registration',
    file: 'src/service/registry.ts',
    find: 'Python executor service not available: nothing is registered as ${JSON.stringify(name)} (${known}).',
    replace: 'Python executor service not available (${known}).',
  },
  'O-39': {
    without: 'the interrupt that a direct call throws',
    file: 'src/service/service.ts',
    find: 'throw new GraphInterrupt([{ id, value: withId(payload, id) }]);',
    replace: 'return withId(payload, id) as unknown as SpelledResult;',
  },
  'O-40': {
    without: 'the error about a request that is sent where a Command is due',
    file: 'src/service/graph/conflicts.ts',
    find: "if (isWaiting && asked?.run === null && asked.status !== 'expired') throw stillWaiting(asked);",
    replace: '',
  },
  'O-41': {
    without: 'the error about a missing checkpoint_ns',
    file: 'src/service/api/thread.ts',
    find: 'checkpoint_ns: Id(100),',
    replace: "checkpoint_ns: Id(100).default('python_executor'),",
  },
  'O-42': {
    without: 'the host and port of a server that does not answer',
    file: 'src/engine/jupyter/server/server.ts',
    find: '`No Jupyter server answers at ${this.address}: ',
    replace: '`No Jupyter server answers: ',
  },
  'O-43': {
    without: 'the reason why a record cannot be kept',
    file: 'src/service/records/folder.ts',
    find: 'cannot be kept at ${target}: ${REASONS.get(errno) ?? errno}.',
    replace: 'cannot be kept at ${target}.',
  },
};
