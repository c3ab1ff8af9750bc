/** What reviewers see and decide, from a real service on real sessions. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApprovalPayloadSchema, ApprovalSchema, DecisionSchema } from '../../src/wire/approval.ts';
import type { Approval } from '../../src/storage/approvals/approval.ts';
import { EPICS, Laboratory, question, REQUEST, thread, WRITES } from '../e2e/service/laboratory.ts';
import { expectValid } from './json-schema.ts';

const laboratory = new Laboratory();
const CODE = `${EPICS}_w('magnet', 1)\nresults = {'answer': 1}`;

/** It fits the schemas, and comes back from JSON as it was, with its dates. */
function expectRoundTrip(approval: Approval): void {
  const json: unknown = JSON.parse(JSON.stringify(approval));
  expect(z.encode(ApprovalSchema, approval as never)).toEqual(json);
  expect(z.decode(ApprovalSchema, json as never)).toEqual(approval);
  expectValid('Approval', json);
}

test.for([
  [{ type: 'approve' }, 'approved'],
  [{ type: 'edit', code: 'results = {"answer": 5}', reason: 'no need to write' }, 'edited'],
  [{ type: 'reject', reason: 'not today' }, 'rejected'],
] as const)('an approval, and the decision %j', async ([decision, status]) => {
  await using lab = await laboratory.start({ config: WRITES, code: CODE });
  const asked = question(await lab.service.run(REQUEST, thread('t')));
  expectRoundTrip(asked);
  expect(ApprovalPayloadSchema.parse(asked.payload)).toEqual(asked.payload);
  expectValid('ApprovalPayload', asked.payload);
  expectValid('Decision', decision);
  await lab.service.decide(asked.id, DecisionSchema.parse(decision), { by: 'Ada' }).catch(() => undefined);
  const decided = await lab.service.approvals.get(asked.id);
  expect(decided.status).toBe(status);
  expectRoundTrip(decided);
});
