import path from 'node:path';

/** `$VIVARIUM_HOME`, else `vivarium` in the data directory of the XDG base directory specification. */
export function defaultDataDir(environment: NodeJS.ProcessEnv): string {
  const { VIVARIUM_HOME, XDG_DATA_HOME, HOME } = environment;
  return path.resolve(
    VIVARIUM_HOME ?? path.join(XDG_DATA_HOME ?? path.join(HOME ?? '/tmp', '.local', 'share'), 'vivarium'),
  );
}
