import path from 'node:path';

/** The variables of a process with a Jupyter kernel: nothing of the user's settings, and nothing left in them. */
export function kernelEnvironment(home: string, cacheDir: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    LANG: 'C.UTF-8',
    HOME: home,
    IPYTHONDIR: home,
    JUPYTER_RUNTIME_DIR: home,
    JUPYTER_CONFIG_DIR: home,
    JUPYTER_DATA_DIR: home,
    MPLCONFIGDIR: path.join(cacheDir, 'matplotlib'),
    MPLBACKEND: 'agg',
  };
}
