export { PythonInterpreterToolSet } from './tool/toolset/toolset.ts';
export type { ToolSetOptions } from './tool/toolset/options.ts';
export type { ManageArguments, ManageResult, RunPythonArguments, RunPythonResult } from './tool/toolset/result.ts';
export { CodeInterpreterTool } from './tool/code-interpreter/code-interpreter.ts';
export type { CodeInterpreterOptions } from './tool/code-interpreter/code-interpreter.ts';
export type { CodeInput } from './tool/code-interpreter/code-tool.ts';
export type { CodeInterpreterPayload } from './tool/code-interpreter/payload.ts';
export { PythonREPLTool, UNCONFINED } from './tool/code-interpreter/python-repl.ts';
export type { PythonREPLOptions } from './tool/code-interpreter/python-repl.ts';
export { ToolResult } from './tool/code-interpreter/result.ts';
export { IPythonInterpreter, TimeoutError } from './tool/ipython/ipython.ts';
export type { IPythonOptions } from './tool/ipython/options.ts';
export { BatchIPythonInterpreter } from './tool/ipython/batch.ts';
export {
  codeInterpreter as code_interpreter,
  getMultilineInput as get_multiline_input,
  runConsole,
} from './tool/ipython/terminal.ts';
export type { Terminal } from './tool/ipython/terminal.ts';
export { publishImageToLocal as publish_image_to_local } from './tool/ipython/output.ts';
export { START_CODE } from './tool/ipython/notebook-code.ts';
export { getTool as get_tool, getToolClass as get_tool_cls, listTools as list_tools } from './tool/ipython/registry.ts';
export { ActionReturn, ActionStatusCode, ActionValidCode } from './tool/action/contract.ts';
export type { ActionDescription, ActionItem } from './tool/action/contract.ts';
export { BaseAction, FinishAction, InvalidAction, NoAction } from './tool/action/actions.ts';
export type { ActionOptions } from './tool/action/actions.ts';
export { ActionExecutor } from './tool/action/executor.ts';
export type { ActionExecutorOptions } from './tool/action/executor.ts';
export { BaseParser, JsonParser, ParseError, TupleParser } from './tool/action/parsers.ts';
export type { AccessOptions } from './tool/access.ts';
export type { CallContext, CallOptions, Observation, Tool, ToolDefinition } from './tool/tool.ts';
export { escapeAnsi as escape_ansi } from './text/clean-text.ts';
export { extractCode as extract_code } from './text/code/extract-code.ts';
export { toAiSdkTool, toAnthropicTool, toLangChainTool, toMcpTool, toOpenAITool } from './tool/formats.ts';
export type {
  AiSdkTool,
  AnthropicTool,
  LangChainOptions,
  McpAnnotations,
  McpTool,
  OpenAITool,
  ToolTraits,
} from './tool/formats.ts';
