import { fileURLToPath } from 'node:url';

/** The Python side lies beside `src` as well as beside `dist`: the same depth from both. */
export const ZYGOTE_FILE = fileURLToPath(new URL('../../python/zygote.py', import.meta.url));
