/** What runs first in each session: no input, no shell. The braces stand for code of the user's own. */
export const START_CODE = `
def input(*args, **kwargs):
    raise NotImplementedError('Python input() function is disabled.')

get_ipython().system = lambda *args: print('Assume we have this package, ! is disabled!')
{}
`;

/** The little of an IPython shell that start code and generated code ask for. */
const SHELL = `
class _Shell:
    def getoutput(self, *args):
        self.system(*args)
        return []

    def run_line_magic(self, name, *args):
        print(f'The magic %{name} is not available here; write it in plain Python.')

    run_cell_magic = run_line_magic

def get_ipython(shell=_Shell()):
    return shell

del _Shell
`;

export function startCodeWith(code: string): string {
  return SHELL + START_CODE.replace('{}', () => code);
}
