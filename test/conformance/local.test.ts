import { conformance } from './suite.ts';
import { hostTestbed } from './testbed.ts';

conformance('the local engine', (caps) => hostTestbed({ ...caps }), {
  restoresState: true,
  rollsBack: true,
  level: 'namespaces',
  tracebackOf: (line) => new RegExp(`File "<cell \\d+>", line ${line}, in <module>`, 'u'),
  noticesDeathMs: 2000,
  runsCommands: true,
  ownsSessions: true,
});
