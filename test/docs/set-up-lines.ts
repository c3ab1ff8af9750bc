import { SERVE } from './pages.ts';

/** The only lines of shell snippets that are not run, each with the reason. Everything else runs as it is written. */
const SET_UP_LINES: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /^npm install /u,
    reason: 'changes the installation; the snippets find the sources of this clone instead',
  },
  { pattern: /^npm (start|test|run \w+)\b/u, reason: 'scripts of the clone; `npm test` itself runs these snippets' },
  { pattern: /^pip install /u, reason: 'the tests have installed it, with versions that are pinned' },
  { pattern: /^npx vivarium setup$/u, reason: 'installs Python packages; `npm test` has done it before it gets here' },
  { pattern: /^docker compose /u, reason: 'needs Docker; the tests start the same server without it' },
  {
    pattern: /^(?:useradd|runuser|systemctl|cp contrib\/\S+) /u,
    reason: 'changes the machine; `npm run image` does the same in a container',
  },
  { pattern: SERVE, reason: 'runs until it is stopped; the tests start one and give its address' },
  { pattern: /^export VIVARIUM_URL=/u, reason: 'the server of the tests has another port' },
  { pattern: /^jupyter server /u, reason: 'runs until it is stopped; the tests start one and give its address' },
];

export function withoutSetUpLines(script: string): string {
  return script
    .split('\n')
    .filter((line) => !SET_UP_LINES.some(({ pattern }) => pattern.test(line)))
    .join('\n');
}
