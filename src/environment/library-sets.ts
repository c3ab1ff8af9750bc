/** The sets of libraries that set-up can install, and the modules by which programs know them. */

const CORE = [
  'numpy',
  'pandas',
  'scipy',
  'matplotlib',
  'seaborn',
  'plotly',
  'scikit-learn',
  'statsmodels',
  'pyarrow',
] as const;

/** `core` is for small machines; `full` is what programs of models usually import. */
export const LIBRARY_SETS = {
  core: CORE,
  full: [
    ...CORE,
    'openpyxl',
    'xlsxwriter',
    'xlrd',
    'python-docx',
    'python-pptx',
    'pypdf',
    'pdfplumber',
    'reportlab',
    'beautifulsoup4',
    'lxml',
    'html5lib',
    'requests',
    'httpx',
    'sympy',
    'networkx',
    'polars',
    'duckdb',
    'sqlalchemy',
    'tabulate',
    'pyyaml',
    'jinja2',
    'tqdm',
    'rich',
    'pillow',
    'scikit-image',
    'opencv-python-headless',
    'imageio',
    'wordcloud',
    'altair',
    'vl-convert-python',
    'nltk',
    'rapidfuzz',
    'python-dateutil',
    'pytz',
    'faker',
    'numba',
    'xgboost-cpu',
    'cloudpickle',
    'ipython',
  ],
} as const;

export type LibrarySet = keyof typeof LIBRARY_SETS;

export const SET_NAMES = Object.keys(LIBRARY_SETS) as readonly LibrarySet[];
export const DEFAULT_SET: LibrarySet = 'full';

/** Every library of any set. */
export const PROMISED_LIBRARIES: readonly string[] = LIBRARY_SETS.full;

/** Packages of the full set that only carry fonts: nothing imports them. */
export const FONT_PACKAGES = [
  'justmytype-intl-rtl',
  'justmytype-intl-sea',
  'justmytype-intl-south-asia',
  'koreanize-matplotlib',
  'zhplot',
] as const;

/** Carries the font for emoji: the smallest package that has it. No wheel of it is for both processors and Python 3.10. */
export const EMOJI_PACKAGE = 'imgui-bundle';

const MODULES: Readonly<Record<string, string>> = {
  'scikit-learn': 'sklearn',
  'python-docx': 'docx',
  'python-pptx': 'pptx',
  beautifulsoup4: 'bs4',
  pyyaml: 'yaml',
  pillow: 'PIL',
  'scikit-image': 'skimage',
  'opencv-python-headless': 'cv2',
  'vl-convert-python': 'vl_convert',
  'python-dateutil': 'dateutil',
  'xgboost-cpu': 'xgboost',
  ipython: 'IPython',
};

/** The name under which a promised library is imported. */
export function moduleOf(library: string): string {
  return MODULES[library] ?? library;
}

export function isLibrarySet(value: unknown): value is LibrarySet {
  return SET_NAMES.some((name) => name === value);
}

/** The libraries of a set that are not among those that a Python has. */
export function missingFrom(set: LibrarySet, libraries: Readonly<Record<string, string>>): string[] {
  return LIBRARY_SETS[set].filter((name) => libraries[name] === undefined);
}
