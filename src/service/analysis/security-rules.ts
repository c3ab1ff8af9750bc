import {
  CODE_LOADERS,
  CODE_MAKERS,
  NOTEBOOK_ACCESS,
  TEXT_LOOKUPS,
  TEXT_RUNNERS,
  UNPICKLERS,
  UNPICKLES_IF_ALLOWED,
} from './code-runners.ts';
import type { FindingKind, Severity } from './finding.ts';

/** A rule about names, and its message. */
export interface NameRule {
  readonly rule: string;
  readonly kind: FindingKind;
  readonly severity: Severity;
  readonly says: string;
  /** Full names. `module.*` means everything in a module, `?.name` a member of any object. */
  readonly names: readonly string[];
  /** Exempts calls without arguments: `to_csv()` returns text. */
  readonly unlessBare?: boolean;
  /** Only calls that give this argument, or may give it. */
  readonly onlyWith?: string;
  /** Exempts calls: they are looked at with their arguments. */
  readonly onlyMentioned?: boolean;
}

function words(text: string): string[] {
  return text.split(' ');
}

function inModule(module: string, names: string): string[] {
  return words(names).map((name) => `${module}.${name}`);
}

const OS_STARTS =
  'system popen fork forkpty posix_spawn posix_spawnp execl execle execlp execlpe execv execve execvp execvpe ' +
  'spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe';

export const NAME_RULES: readonly NameRule[] = [
  {
    rule: 'runs-text',
    kind: 'code-execution',
    severity: 'error',
    says: 'runs text as code',
    names: TEXT_RUNNERS,
  },
  {
    rule: 'reaches-notebook',
    kind: 'code-execution',
    severity: 'error',
    says: 'gives access to magics and to the shell',
    names: NOTEBOOK_ACCESS,
  },
  {
    rule: 'loads-code',
    kind: 'code-execution',
    severity: 'error',
    says: 'loads code past the import statement',
    names: CODE_LOADERS,
  },
  {
    rule: 'unpickles',
    kind: 'code-execution',
    severity: 'error',
    says: 'can run code that is hidden in data',
    names: UNPICKLERS,
  },
  {
    rule: 'may-unpickle',
    kind: 'code-execution',
    severity: 'error',
    says: 'can run code that is hidden in data',
    onlyWith: 'allow_pickle',
    names: UNPICKLES_IF_ALLOWED,
  },
  {
    rule: 'looks-up-text',
    kind: 'dynamic',
    severity: 'error',
    says: 'takes an attribute by a path in text',
    names: TEXT_LOOKUPS,
  },
  {
    rule: 'passes-lookup',
    kind: 'dynamic',
    severity: 'error',
    says: 'is handed on, so that the names it takes are not known',
    onlyMentioned: true,
    names: inModule('builtins', 'getattr vars globals locals'),
  },
  {
    rule: 'starts-process',
    kind: 'process',
    severity: 'error',
    says: 'starts a process',
    names: [
      ...inModule('os', OS_STARTS),
      ...inModule('posix', OS_STARTS),
      ...words('subprocess.* _posixsubprocess.* pty.*'),
      ...inModule('asyncio', 'create_subprocess_exec create_subprocess_shell'),
      'shell_line', // what the analyzer calls a line or cell of a notebook that runs a command
    ],
  },
  {
    rule: 'loads-native-code',
    kind: 'native-code',
    severity: 'error',
    says: 'reaches native code past Python',
    names: ['ctypes.*', '_ctypes.*', 'cffi.*'],
  },
  {
    rule: 'reaches-interpreter',
    kind: 'introspection',
    severity: 'error',
    says: 'reaches into the interpreter',
    names: [
      ...inModule('?', '__subclasses__ __globals__ __builtins__ __code__ __closure__'),
      ...inModule('?', 'f_globals f_locals f_builtins f_code gi_code cr_code ag_code'),
    ],
  },
  {
    rule: 'starts-workers',
    kind: 'process',
    severity: 'warning',
    says: 'starts worker processes',
    names: [
      ...inModule('multiprocessing', 'Process Pool Manager'),
      ...inModule('concurrent.futures', 'ProcessPoolExecutor process.ProcessPoolExecutor'),
    ],
  },
  {
    rule: 'imports-by-name',
    kind: 'code-execution',
    severity: 'warning',
    says: 'imports a module by a name in text',
    names: ['builtins.__import__', 'importlib.__import__'],
  },
  {
    rule: 'makes-code',
    kind: 'code-execution',
    severity: 'error',
    says: 'makes code that can be run',
    names: CODE_MAKERS,
  },
  {
    rule: 'inspects-interpreter',
    kind: 'introspection',
    severity: 'warning',
    says: 'inspects the interpreter',
    names: ['sys._getframe', 'sys.settrace', 'sys.setprofile', 'gc.get_objects', 'gc.get_referrers'],
  },
  {
    rule: 'uses-network',
    kind: 'network',
    severity: 'warning',
    says: 'uses the network',
    names: [
      ...inModule('socket', 'socket create_connection create_server'),
      ...words('urllib.request.* http.client.* http.server.* requests.* httpx.* aiohttp.* urllib3.*'),
      ...words('ftplib.* smtplib.* telnetlib.* paramiko.* websocket.* websockets.* xmlrpc.client.*'),
      ...inModule('asyncio', 'open_connection start_server'),
    ],
  },
  {
    rule: 'removes-files',
    kind: 'file-removal',
    severity: 'warning',
    says: 'removes, moves or changes files',
    names: [
      ...inModule('os', 'remove unlink rmdir removedirs rename renames replace truncate chmod chown link symlink'),
      ...inModule('shutil', 'rmtree move chown'),
      ...inModule('pathlib.Path()', 'unlink rmdir rename replace chmod symlink_to hardlink_to'),
      ...inModule('?', 'unlink rmdir rmtree'),
    ],
  },
  {
    rule: 'writes-files',
    kind: 'file-write',
    severity: 'info',
    says: 'writes files',
    names: [
      ...inModule('os', 'mkdir makedirs mkfifo O_WRONLY O_RDWR O_CREAT O_APPEND'),
      ...inModule('shutil', 'copy copy2 copyfile copytree make_archive unpack_archive'),
      ...inModule('numpy', 'save savez savez_compressed savetxt'),
      ...inModule('matplotlib.pyplot', 'savefig imsave'),
      ...inModule('?', 'write_text write_bytes touch mkdir savefig tofile write_image write_html extractall'),
      ...words('torch.save joblib.dump urllib.request.urlretrieve sqlite3.connect'),
    ],
  },
  {
    rule: 'writes-table',
    kind: 'file-write',
    severity: 'info',
    says: 'writes a file',
    unlessBare: true,
    names: inModule(
      '?',
      'to_csv to_excel to_json to_parquet to_pickle to_hdf to_feather to_html to_latex to_markdown to_netcdf',
    ),
  },
];

/** Calling such a member on an unknown object probably starts a process if the code imports one of `PROCESS_MODULES`. */
export const PROCESS_STARTERS: ReadonlySet<string> = new Set(words(`${OS_STARTS} Popen check_call check_output`));
export const PROCESS_MODULES: ReadonlySet<string> = new Set(words('os posix subprocess'));

/** Calls that open a file. The mode decides whether they write. */
export const OPENERS: ReadonlySet<string> = new Set([
  ...words('builtins.open io.open io.FileIO codecs.open gzip.open bz2.open lzma.open os.fdopen'),
  ...words('tarfile.open zipfile.ZipFile h5py.File pathlib.Path().open ?.open'),
]);

/** Imports that are findings by themselves. */
export const PROHIBITED_IMPORTS: readonly string[] = [
  ...words('subprocess _posixsubprocess pty ctypes _ctypes cffi'),
  ...words('builtins.eval builtins.exec'),
  ...inModule('os', OS_STARTS),
  ...inModule('posix', OS_STARTS),
];
