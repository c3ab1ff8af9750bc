/** A program for any user: installs packages in two sessions, and prints what became of that. */
import { createHost, type Level } from '../../../src/index.ts';
import { said } from '../../support/said.ts';

const [python = '', dataDir = '', isolation = '', index = ''] = process.argv.slice(2);
const options = { dataDir, python, isolation: isolation as Level, preload: [], poolSize: 1 };
await using host = await createHost({ ...options, packages: 'any', packageIndexes: [index] });
await using session = await host.createSession();
await session.runCode('kept = 42');
const cell = await session.runCode(
  '%pip install alpha compiled-demo\nimport alpha, compiled_demo\nprint(alpha.value, compiled_demo.native.__file__.endswith(".so"), kept)',
);
await using other = await host.createSession();
const child = await other.runCode(`import subprocess
subprocess.run(["pip", "install", "alpha"], check=True, stdout=subprocess.DEVNULL)
!python3 -c "import alpha; print(alpha.value)"`);
const second = await other.runCode('import alpha; print(alpha.value)');
const written = await other.runCode('open(alpha.__file__, "r+")');
process.stdout.write(
  JSON.stringify({
    level: session.isolation.level,
    cell: said(cell),
    child: said(child),
    second: said(second),
    written: written.outcome.status === 'raised' ? 'refused' : 'possible',
  }),
);
