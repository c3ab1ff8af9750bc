/** Runs first in each session. It disables input and the shell; `{}` is replaced by code of the user. */
export const START_CODE = `
def input(*args, **kwargs):
    raise NotImplementedError('Python input() function is disabled.')

get_ipython().system = lambda *args: print('Assume we have this package, ! is disabled!')
{}
`;

/** Sessions have notebook syntax of their own. What replaces `system` answers every command, however it is written. */
export function startCodeWith(code: string): string {
  return START_CODE.replace('{}', () => code);
}
