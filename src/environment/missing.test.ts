import { expect, test } from 'vitest';
import { explainMissingImport } from './missing.ts';

const FOUND = {
  python: '/usr/bin/python3',
  libraries: { numpy: '2.0' },
  missing: ['pandas', 'scikit-learn'],
  source: 'found',
} as const;
const failure = (name: string): { name: string; value: string } => ({
  name: 'ModuleNotFoundError',
  value: `No module named '${name}'`,
});

test('an import of a library that set-up would install says that there is no environment, and how to get one', () => {
  const text = explainMissingImport(failure('pandas'), FOUND);
  expect(text).toContain('pandas is not installed: there is no environment yet');
  expect(text).toContain('/usr/bin/python3 as it is. `vivarium setup` creates one with pandas, scikit-learn.');
});

test('a library is found by the name of its module, and by that of a part of it', () => {
  expect(explainMissingImport(failure('sklearn'), FOUND)).toContain('scikit-learn is not installed');
  expect(explainMissingImport(failure('sklearn.svm'), FOUND)).toContain('scikit-learn is not installed');
});

test('a library of another set is told with the set that has it', () => {
  const text = explainMissingImport(failure('docx'), { ...FOUND, source: 'managed', set: 'core', missing: [] });
  expect(text).toContain('python-docx is not in the set "core"');
  expect(text).toContain('`vivarium setup --set full`');
  expect(explainMissingImport(failure('docx'), FOUND)).toContain('creates one with python-docx, pandas, scikit-learn.');
});

test('a Python that was chosen by the user is named, with both ways out', () => {
  const text = explainMissingImport(failure('pandas'), { ...FOUND, source: 'given' });
  expect(text).toContain('pandas is not installed in /usr/bin/python3. Install it there, or choose no Python');
});

test.for([
  ['a library that set-up does not install', failure('torch'), FOUND],
  ['another error', { name: 'ValueError', value: "No module named 'pandas'" }, FOUND],
  ['no error', undefined, FOUND],
  ['a library that is there', failure('numpy'), FOUND],
  ['a Jupyter server', failure('pandas'), { ...FOUND, source: 'remote' }],
] as const)('nothing is said about %s', ([, error, environment]) => {
  expect(explainMissingImport(error, environment)).toBeUndefined();
});
