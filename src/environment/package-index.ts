/** Finds out which package index pip is configured for on this machine, without asking pip: there may be none. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** That of pip itself. */
const USUAL_INDEX = 'https://pypi.org/simple';

/** What packages are fetched from. */
export interface ConfiguredIndex {
  readonly urls: readonly string[];
  readonly directories: readonly string[];
  readonly certificates: Uint8Array | null;
  /** What is configured for pip and not used, in words. */
  readonly unused: string | null;
}

/** `urls` replaces what pip is configured for; certificates and directories of pip's settings count all the same. */
export async function readPackageIndex(
  urls: readonly string[] | undefined,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ConfiguredIndex> {
  const settings = { ...(await readConfigFiles(env)), ...readVariables(env) };
  const certificate = settings['cert'] ?? env['SSL_CERT_FILE'] ?? env['REQUESTS_CA_BUNDLE'];
  const certificates = certificate ? await readFile(certificate).catch(() => null) : null;
  if (urls !== undefined) return { urls, directories: [], certificates, unused: null };
  const links = words(settings['find-links']).map((link) => link.replace(/^file:\/\//u, ''));
  const isOffline = /^(?:1|y|yes|t|true|on)$/iu.test(settings['no-index'] ?? '');
  if (isOffline)
    return { urls: [], directories: links.filter((link) => path.isAbsolute(link)), certificates, unused: null };
  const extra = words(settings['extra-index-url']);
  const unused =
    extra.length === 0
      ? null
      : "The extra indexes of pip's settings are not used, since anybody could offer a package of the same name on one of them; name all indexes in their order with the option `packageIndexes`.";
  return { urls: [settings['index-url'] ?? USUAL_INDEX], directories: [], certificates, unused };
}

type Settings = Readonly<Record<string, string>>;

function words(text = ''): string[] {
  return text.split(/\s+/u).filter((word) => word !== '');
}

/** `PIP_INDEX_URL` is `index-url`. */
function readVariables(env: NodeJS.ProcessEnv): Settings {
  const pairs = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('PIP_') && value ? [[name.slice(4).toLowerCase().replaceAll('_', '-'), value] as const] : [],
  );
  return Object.fromEntries(pairs);
}

/** The files that pip reads, each of which wins over those before it. */
async function readConfigFiles(env: NodeJS.ProcessEnv): Promise<Settings> {
  const {
    HOME = '/',
    XDG_CONFIG_DIRS = '/etc/xdg',
    XDG_CONFIG_HOME = path.join(HOME, '.config'),
    PIP_CONFIG_FILE,
  } = env;
  if (PIP_CONFIG_FILE === '/dev/null') return {};
  const files = [
    ...XDG_CONFIG_DIRS.split(':').map((directory) => path.join(directory, 'pip/pip.conf')),
    '/etc/pip.conf',
    path.join(HOME, '.pip/pip.conf'),
    path.join(XDG_CONFIG_HOME, 'pip/pip.conf'),
    ...(PIP_CONFIG_FILE ? [PIP_CONFIG_FILE] : []),
  ];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return Object.assign({}, ...texts.map(parseIni)) as Settings;
}

/** The settings for installing: those of `[global]`, and of `[install]`, which win. Values may go on in indented lines. */
function parseIni(text: string): Settings {
  const sections: Record<string, Record<string, string>> = {};
  let section = '';
  let key = '';
  for (const line of text.split(/\r?\n/u)) {
    const [, name] = /^\[([^\]]+)\]/u.exec(line) ?? [];
    const [, setting, value = ''] = /^([\w-]+)\s*[=:]\s*(.*)$/u.exec(line) ?? [];
    if (/^\s*[#;]/u.test(line)) continue;
    if (name !== undefined) section = name.trim();
    else if (setting !== undefined)
      (sections[section] ??= {})[(key = setting.toLowerCase().replaceAll('_', '-'))] = value;
    else if (/^\s+\S/u.test(line) && key !== '') (sections[section] ??= {})[key] += ` ${line.trim()}`;
  }
  return { ...sections['global'], ...sections['install'] };
}
