const HEADER = /^# \/\/\/ script[ \t]*\r?\n((?:#(?: .*)?\r?\n)+?)# \/\/\/[ \t]*$/gmu;
const DEPENDENCIES = /^dependencies[ \t]*=[ \t]*\[((?:[^\]"'#]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*$)*)\]/mu;
const ITEM = /"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|#.*$/gmu;

/** The packages that a program asks for in its header (PEP 723, `# /// script`); none if it has no header. */
export function dependenciesInHeader(code: string): string[] {
  const headers = [...code.matchAll(HEADER)];
  if (headers.length !== 1) return []; // with several, the standard says that none counts
  const toml = (headers[0]?.[1] ?? '').replaceAll(/^# ?/gmu, '');
  const ownKeys = toml.split(/^\[/mu)[0] ?? ''; // tables of tools come after them
  const list = DEPENDENCIES.exec(ownKeys)?.[1] ?? '';
  return [...list.matchAll(ITEM)].flatMap(([, basic, literal]) => {
    if (basic !== undefined) return [unescapeToml(basic)];
    return literal === undefined ? [] : [literal];
  });
}

function unescapeToml(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text; // an escape that JSON does not know; the parser of requirements says what is wrong
  }
}
