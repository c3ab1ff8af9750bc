import { changeDirectory } from '../host-directory.ts';

/** Names that code for this toolset counts on. Figures are collected by the engine, which needs no `plt.show` of ours. */
export const DEFAULT_INIT_CODE = `try:
    import os
    import uuid
    import matplotlib
    import matplotlib.pyplot as plt

    GLOBAL_FIG_DIR = ".matplotlib_figs"
except Exception as error:
    print(f"Error in matplotlib initialization: {error}")
`;

/** Code that makes a directory of the host the current one, and says at once when nothing can be written there. */
export function enterDirectory(directory: string): string {
  const refusal =
    `Sessions may not write in the workdir ${directory}: where Vivarium runs as root each has a user id of its own. ` +
    'Make it writable for others (chmod o+rwx), or run Vivarium as the user who owns it.';
  return [
    changeDirectory(directory),
    `if not __import__("os").access(".", 2): raise PermissionError(${JSON.stringify(refusal)})`,
    '',
  ].join('\n');
}
