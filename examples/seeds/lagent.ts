/**
 * Everything that lagent's page `lagent.actions.ipython_interpreter` documents, in its order, with its names, arguments
 * and defaults. Nothing is closed.
 */
import {
  ActionReturn,
  ActionStatusCode,
  BaseAction,
  code_interpreter,
  escape_ansi,
  extract_code,
  get_multiline_input,
  IPythonInterpreter,
  JsonParser,
  publish_image_to_local,
  START_CODE,
  TimeoutError,
} from '../../src/tools.ts';

function show(title: string, ...values: readonly unknown[]): void {
  console.log(`── ${title}`, ...values);
}

// START_CODE
show('START_CODE', START_CODE);

// exception TimeoutError
show('TimeoutError', new TimeoutError('too long') instanceof Error);

// class IPythonInterpreter(timeout=20, user_data_dir='ENV', work_dir='./work_dir/tmp_dir', description=None, …)
const interpreter = new IPythonInterpreter({
  timeout: 20,
  user_data_dir: 'ENV',
  work_dir: './work_dir/tmp_dir',
  description: null,
  parser: JsonParser,
  enable: true,
});
show('bases', interpreter instanceof BaseAction, new IPythonInterpreter().name);
show('description', interpreter.description.description);

// static start_kernel()
const [kernel_manager, kernel_client] = await IPythonInterpreter.start_kernel();
show(
  'start_kernel',
  (await kernel_manager.listSessions()).length,
  (await kernel_client.runCode('1 + 1')).results[0]?.data,
);

// initialize()
await interpreter.initialize();

// run(command, timeout=None)
let returned = await interpreter.run('import math;math.sqrt(100)');
show('run', returned instanceof ActionReturn, returned.state === ActionStatusCode.SUCCESS, returned.result);
returned = await interpreter.run('while True: pass', 1);
show('run with a timeout', returned.state === ActionStatusCode.API_ERROR, returned.errmsg);
returned = await interpreter.run('input("name")');
show('input', returned.errmsg?.trim().split('\n').at(-1));
returned = await interpreter.run('!pip install pandas');
show('shell', returned.result);
returned = await interpreter.run(
  "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('saved.png')\nplt.show()",
);
show('image', returned.result);
returned = await interpreter.run("open('/mnt/data/notes.txt', 'w').write('kept')\nopen('/mnt/data/notes.txt').read()");
show('/mnt/data', returned.result);
returned = await interpreter.run('import urllib.request\nurllib.request.urlopen("http://192.0.2.1", timeout=5)');
show('internet', returned.errmsg?.trim().split('\n').at(-1));

// The parser: what a model writes
returned = await interpreter.call('{"command": "import math;math.sqrt(100)"}');
show('parser', returned.result);

// reset()
await interpreter.run('x = 1');
await interpreter.reset();
returned = await interpreter.run('"x" in globals()');
show('reset', returned.result);

// extract_code(text)
show('extract_code', extract_code('Sure:\n```python\nprint("hello")\n```'));

// escape_ansi(line)
show('escape_ansi', escape_ansi('\u001B[31mred\u001B[0m'));

// publish_image_to_local(image_base64, work_dir='./work_dir/tmp_dir')
const image_base64 = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
show('publish_image_to_local', await publish_image_to_local(image_base64));

// get_multiline_input(hint) and code_interpreter: the console loop of the module
const command = await get_multiline_input('Enter python code:');
returned = await code_interpreter.run(command);
show('code_interpreter', returned.result);
