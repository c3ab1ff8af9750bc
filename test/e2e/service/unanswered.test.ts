/** Questions that a session is asked after the code: an answer that does not come is an error that says so. */
import { expect, test } from 'vitest';
import { Laboratory, REQUEST, thread } from './laboratory.ts';

const laboratory = new Laboratory();
const ANY = { ...REQUEST, expected_results: {}, retries: 0 };
const ALL_CODE = { approval: { capabilities: { python_execution: { mode: 'all_code' } } } };

const failure = (message: RegExp): object => ({
  name: 'WorkflowError',
  stage: 'execution',
  message: expect.stringMatching(message) as string,
});

test('results whose types cannot be read are not accepted', async () => {
  const code = 'import builtins\nbuiltins.globals = None\nresults = {"x": 1}';
  await using lab = await laboratory.start({ code });
  await expect(lab.service.invoke(ANY, thread('t'))).rejects.toMatchObject(
    failure(/^The types of `results` could not be read from the session.*TypeError/su),
  );
});

test('an answer about types that makes no sense is not accepted', async () => {
  const code = 'import json\njson.dumps = lambda *args, **more: "nonsense"\nresults = {"x": 1}';
  await using lab = await laboratory.start({ code });
  await expect(lab.service.invoke(ANY, thread('t'))).rejects.toMatchObject(
    failure(/^The types of `results` could not be read from the session.*wrong form/su),
  );
});

test('large results that cannot be written are not taken for the part that is there', async () => {
  const code = `import sys
encoder = sys.modules['_vivarium.values.encode']
plain = encoder.encode_value
def fail(value, **bounds):
    if bounds['max_items'] > 20_000: raise OSError('no room')  # all of it
    return plain(value, **bounds)
encoder.encode_value = fail
results = {'rows': list(range(300_000))}`;
  await using lab = await laboratory.start({ code });
  await expect(lab.service.invoke(ANY, thread('t'))).rejects.toMatchObject(
    failure(/^All of `results` could not be read from the session.*no room/su),
  );
});

test('a preview whose notes are gone is not shown as one that tried nothing', async () => {
  await using lab = await laboratory.start({ config: ALL_CODE, code: 'del _vivarium_effects\nresults = {"x": 1}' });
  await expect(lab.service.invoke(ANY, thread('t'))).rejects.toMatchObject(
    failure(/^What the code tried to do in its preview could not be read from the session.*NameError/su),
  );
});
