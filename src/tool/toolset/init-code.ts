import { changeDirectory } from '../place/host-directory.ts';

/** A directory of the host that interpreters work in. */
export interface Workdir {
  readonly path: string;
  readonly isWritable: boolean;
}

/** Names that code for this toolset counts on. The engine collects figures; a `plt.show` with none to show says so. */
export const DEFAULT_INIT_CODE = `try:
    import os
    import uuid
    import matplotlib
    import matplotlib.pyplot as plt

    GLOBAL_FIG_DIR = ".matplotlib_figs" if os.access(".", os.W_OK) else os.path.join(os.environ["TMPDIR"], "matplotlib_figs")
    os.makedirs(GLOBAL_FIG_DIR, exist_ok=True)

    def _show(*args, _collect=plt.show, _open=matplotlib._pylab_helpers.Gcf.get_all_fig_managers, **options):
        if not any(manager.canvas.figure.axes for manager in _open()):
            print("No active figure to save.")
        return _collect(*args, **options)

    plt.show = _show
    del _show
except Exception as error:
    print(f"Error in matplotlib initialization: {error}")
`;

/** Code that makes a directory of the host the current one, and says at once when what may be written there cannot be. */
export function enterDirectory({ path, isWritable }: Workdir): string {
  const enter = `${changeDirectory(path)}\n`;
  if (!isWritable) return enter;
  const refusal =
    `Sessions may not write in the workdir ${path}: where Vivarium runs as root they write as its owner, and never as root. ` +
    'Give it to another user (chown), make it writable for others (chmod o+rwx), or only read it (workdirWritable: false).';
  return `${enter}if not __import__("os").access(".", 2): raise PermissionError(${JSON.stringify(refusal)})\n`;
}
