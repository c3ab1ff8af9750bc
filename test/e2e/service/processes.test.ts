/** An approval outlives the process that requested it, and approved code runs once, however many processes try. */
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { describeBackends, opened } from '../../storage/backends.ts';
import { Program } from '../../storage/processes.ts';
import { Laboratory } from './laboratory.ts';

const laboratory = new Laboratory();
const REVIEWER = '../../e2e/service/programs/reviewer.ts';

interface World {
  readonly place: string;
  readonly baseDir: string;
  readonly mount: string;
}

describeBackends(({ fresh }) => {
  async function world(): Promise<World> {
    const baseDir = laboratory.fresh();
    const mount = path.join(baseDir, 'mount');
    mkdirSync(mount);
    chmodSync(baseDir, 0o755);
    chmodSync(mount, 0o777);
    return { place: await fresh(), baseDir, mount };
  }

  const begin = (phase: string, where: World, more: object = {}): Program =>
    new Program(REVIEWER, JSON.stringify({ phase, ...where, ...more }));

  const journal = ({ mount }: World): string => readFileSync(path.join(mount, 'journal'), 'utf8');

  test('U-65 OB-13 a question outlives kill -9: another process shows it, and approving it runs it once', async () => {
    const where = await world();
    const first = begin('ask', where);
    expect(await first.line()).toBe('"awaiting-approval"');
    await first.kill();
    const second = begin('decide', where);
    const shown = JSON.parse(await second.line()) as { code: string; payload: { user_message: string } };
    expect(shown.code).toContain("_w('magnet', 1)");
    expect(shown.payload).toMatchObject({
      resume_payload: { effects: { isComplete: false, attempts: [{ what: 'write /data/journal' }] } },
    });
    expect(shown.payload.user_message).toContain('- file: write /data/journal');
    second.say('go');
    expect(await second.line()).toBe('["completed"]');
    expect(journal(where)).toBe('ran\n');
  });

  test('O-05 the same inside of a user\u2019s graph', async () => {
    const where = await world();
    const first = begin('ask-nested', where);
    expect(await first.line()).toBe('"awaiting-approval"');
    await first.kill();
    expect(await begin('resume-nested', where).line()).toBe('{"answer":1}');
    expect(journal(where)).toBe('ran\n');
  });

  test('twelve approvals at once from three processes run the code once', async () => {
    const where = await world();
    const first = begin('ask', where);
    await first.line();
    await first.kill();
    const crowd = Array.from({ length: 3 }, () => begin('decide', where, { times: 4 }));
    await Promise.all(crowd.map((one) => one.line()));
    for (const one of crowd) one.say('go');
    const answers = (await Promise.all(crowd.map((one) => one.line()))).flatMap((line) => JSON.parse(line) as string[]);
    expect(answers.toSorted()).toEqual([...Array.from({ length: 11 }, () => 'APPROVAL_DECIDED'), 'completed']);
    expect(journal(where)).toBe('ran\n');
  });

  test('code whose process was killed while it ran is not run again, and the thread is told so', async () => {
    const where = await world();
    const first = begin('ask', where, { endless: true });
    await first.line();
    await first.kill();
    const second = begin('decide', where, { endless: true });
    await second.line();
    second.say('go');
    while (!journalIsThere(where)) await sleep(20);
    await second.kill();
    expect(await begin('resume', where).line()).toContain('is already running. Wait until it ends.');
    expect(journal(where)).toBe('ran\n');
    const { approvals } = await opened(where.place);
    expect(await approvals.list()).toMatchObject([{ status: 'approved', run: { status: 'running' } }]);
  });

  function journalIsThere(where: World): boolean {
    try {
      return journal(where) !== '';
    } catch {
      return false;
    }
  }
});
