/** What runs text or data as code, in the standard library, the preinstalled packages and others that are common. */

function words(text: string): string[] {
  return text.trim().split(/\s+/u);
}

function inside(scope: string, names: string): string[] {
  return words(names).map((name) => `${scope}.${name}`);
}

const PROFILERS = ['cProfile', 'profile'];

/** Calls that take text and run it, as `exec` does. */
export const TEXT_RUNNERS: readonly string[] = [
  ...inside('builtins', 'eval exec'),
  ...words('runpy.* bdb.* pdb.* trace.* doctest.* pydoc.* site.* rlcompleter.* idlelib.* test.support.*'),
  ...inside('code', 'InteractiveInterpreter InteractiveConsole interact'),
  ...inside('timeit', 'timeit repeat main Timer'),
  ...PROFILERS.flatMap((profiler) => inside(profiler, 'run runctx main Profile().run Profile().runctx')),
  ...inside('logging.config', 'fileConfig dictConfig listen'), // configurations name what is called, with its arguments
  ...inside('typing', 'get_type_hints ForwardRef evaluate_forward_ref'),
  ...inside('typing_extensions', 'get_type_hints evaluate_forward_ref'),
  ...words('annotationlib.* gettext.c2py inspect.get_annotations'),
  ...words('_interpreters.* _xxsubinterpreters.* concurrent.interpreters.* _testcapi.* _testinternalcapi.*'),
  ...words('pandas.eval PIL.ImageMath.* numexpr.evaluate sympy.sympify sympy.S sympy.parse_expr sympy.parsing.*'),
  ...words('patsy.EvalEnvironment patsy.eval.* formulaic.utils.* distutils.* setuptools.* pip.* IPython.*'),
  ...inside(
    '?',
    'runcode runsource runctx runeval run_cell run_cell_async run_line_magic run_cell_magic safe_execfile',
  ),
  'magic_line', // what the analyzer calls a magic of a notebook that runs something
];

/** What leads to everything that a notebook can do. It is a builtin in sessions and kernels, and nothing elsewhere. */
export const NOTEBOOK_ACCESS: readonly string[] = words('builtins.get_ipython get_ipython');

/** Calls that load a module past `import`, or change how modules are found. */
export const CODE_LOADERS: readonly string[] = [
  ...inside('importlib.machinery', 'SourceFileLoader SourcelessFileLoader ExtensionFileLoader NamespaceLoader'),
  ...inside('importlib.machinery', 'AppleFrameworkLoader FileFinder PathFinder BuiltinImporter FrozenImporter'),
  ...inside('importlib.util', 'spec_from_file_location spec_from_loader module_from_spec LazyLoader'),
  ...inside('importlib.util', 'decode_source set_loader set_package module_for_loader'),
  ...words('importlib.abc.* importlib._abc.* importlib._bootstrap.* importlib._bootstrap_external.* imp.* _imp.*'),
  ...words('_frozen_importlib.* _frozen_importlib_external.* zipimport.* modulefinder.* lib2to3.*'),
  ...inside('pkgutil', 'get_loader find_loader get_importer ImpImporter ImpLoader read_code'),
  ...inside('sys', 'meta_path meta_path.* path_hooks path_hooks.* path_importer_cache path_importer_cache.*'),
  ...inside('?', 'exec_module load_module'),
];

/** Calls that build objects from data. The data says what is called for that. */
export const UNPICKLERS: readonly string[] = [
  ...['pickle', '_pickle', 'cPickle'].flatMap((module) => inside(module, 'load loads Unpickler')),
  ...inside('pickle', '_load _loads _Unpickler'),
  ...inside('marshal', 'load loads'),
  ...words('shelve.* tracemalloc.Snapshot.load multiprocessing.connection.* multiprocessing.reduction.*'),
  ...words('multiprocessing.managers.*'),
  ...inside('joblib', 'load Memory numpy_pickle.* numpy_pickle_compat.* memory.* externals.*'),
  ...['cloudpickle', 'cloudpickle.cloudpickle'].flatMap((module) => inside(module, 'load loads')),
  ...inside('pandas', 'read_pickle read_hdf HDFStore io.pickle.* compat.pickle_compat.*'),
  ...words('pandas.io.pytables.* statsmodels.iolib.smpickle.* statsmodels.iolib.api.load_pickle'),
  ...inside('statsmodels.api', 'load load_pickle'),
  ...inside('sklearn.datasets', 'fetch_20newsgroups fetch_20newsgroups_vectorized fetch_california_housing'),
  ...inside('sklearn.datasets', 'fetch_covtype fetch_kddcup99 fetch_lfw_pairs fetch_lfw_people'),
  ...inside('sklearn.datasets', 'fetch_olivetti_faces fetch_rcv1 fetch_species_distributions'),
  ...words('scipy.datasets.ascent dill.* jsonpickle.* hickle.* klepto.* skops.*'),
  ...inside('torch', 'load jit.load package.PackageImporter'),
  ...inside('yaml', 'load load_all full_load full_load_all unsafe_load unsafe_load_all'),
  ...words('keras.models.load_model keras.saving.load_model tensorflow.keras.models.load_model'),
  ...inside('?', 'load_pickle unsafe_load'),
];

/** Calls that unpickle only if this argument allows it. */
export const UNPICKLES_IF_ALLOWED: readonly string[] = [
  ...inside('numpy', 'load lib.format.read_array lib.npyio.load lib.npyio.NpzFile'),
  ...inside('numpy.lib', '_format_impl.read_array _npyio_impl.load _npyio_impl.NpzFile'),
];

/** Calls that make code which other code then runs. */
export const CODE_MAKERS: readonly string[] = [
  ...words('builtins.compile codeop.*'),
  ...inside('types', 'CodeType FunctionType LambdaType'),
];

/** Calls that take an attribute by a path in text. */
export const TEXT_LOOKUPS: readonly string[] = [
  ...words('string.Formatter().get_field pkgutil.resolve_name xmlrpc.server.resolve_dotted_attribute'),
  ...inside('unittest.mock', 'patch _importer'),
];

/** Methods and functions of pandas whose text is an expression: `frame.query("a > 1")`. */
export const EXPRESSION_METHODS: ReadonlySet<string> = new Set(words('eval query'));
/** Functions whose text is a formula: `ols("y ~ x", data)`. */
export const FORMULA_PLACES: readonly string[] = words('statsmodels.formula. patsy. formulaic.');
