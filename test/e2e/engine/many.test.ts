/** Many sessions at once. `VIVARIUM_MANY=1000` tests the full promise; the default fits into every test run. */
import { expect, test } from 'vitest';
import { Laboratory, type Subject } from './laboratory.ts';
import { descendants, openFds } from './processes.ts';

const MANY = Number(process.env['VIVARIUM_MANY'] ?? 150);
const AT_ONCE = 8;
const MS_EACH = 400;

test(
  `${MANY} idle sessions live side by side, and each answers with its own state`,
  async () => {
    await using laboratory = await Laboratory.start();
    const fdsBefore = openFds();
    const subjects: Subject[] = [];
    await forAll(Array.from({ length: MANY }).keys(), async (index) => {
      subjects[index] = await laboratory.open();
    });
    await forAll(subjects.entries(), async ([index, subject]) => {
      expect((await subject.run(`x = ${index}`)).outcome.status).toBe('succeeded');
    });
    await forAll(subjects.entries(), async ([index, subject]) => expect(await subject.evaluate('x')).toBe(`${index}`));
    expect(new Set(subjects.map(({ session }) => session.workspace.path)).size).toBe(MANY);

    await forAll(subjects.values(), (subject) => subject.session.close());
    await expect.poll(openFds).toBeLessThanOrEqual(fdsBefore); // files are removed in the background
    await laboratory.engine.close();
    expect(descendants()).toEqual([]);
  },
  30_000 + MANY * MS_EACH,
);

/** A few at a time, in order. */
async function forAll<T>(items: Iterable<T>, task: (item: T) => Promise<void>): Promise<void> {
  const queue = Iterator.from(items);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of queue) await task(item);
    }),
  );
}
