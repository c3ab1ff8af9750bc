import { conformance } from './conformance.ts';
import { Laboratory } from './laboratory.ts';

conformance('the local engine', () => Laboratory.start(), {
  restoresState: true,
  rollsBack: true,
  level: 'namespaces',
  tracebackOf: (line) => new RegExp(`File "<cell \\d+>", line ${line}, in <module>`, 'u'),
  noticesDeathMs: 2000,
});
