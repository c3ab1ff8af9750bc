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
export { BatchIPythonInterpreter } from './tool/ipython/variants/batch.ts';
export { AsyncIPythonInterpreter } from './tool/ipython/variants/async.ts';
export type { AsyncIPythonOptions } from './tool/ipython/variants/async.ts';
export { IPythonInteractive, IPythonInteractiveManager } from './tool/ipython/variants/interactive.ts';
export type {
  IPythonInteractiveManagerOptions,
  IPythonInteractiveOptions,
} from './tool/ipython/variants/interactive.ts';
export { PythonInterpreter } from './tool/ipython/variants/answer.ts';
export type { PythonInterpreterOptions } from './tool/ipython/variants/answer.ts';
export {
  codeInterpreter as code_interpreter,
  getMultilineInput as get_multiline_input,
  runConsole,
} from './tool/ipython/terminal.ts';
export type { Terminal } from './tool/ipython/terminal.ts';
export { publishImageToLocal as publish_image_to_local } from './tool/ipython/output.ts';
export { START_CODE } from './tool/ipython/start-code.ts';
export {
  getTool as get_tool,
  getToolClass as get_tool_cls,
  listTools as list_tools,
} from './tool/ipython/variants/registry.ts';
export { ActionReturn, ActionStatusCode, ActionValidCode } from './tool/action/contract.ts';
export type { ActionDescription, ActionItem } from './tool/action/contract.ts';
export { BaseAction, FinishAction, InvalidAction, NoAction } from './tool/action/actions.ts';
export type { ActionOptions } from './tool/action/actions.ts';
export { ActionExecutor } from './tool/action/executor.ts';
export type { ActionExecutorOptions, HookHandle } from './tool/action/executor.ts';
export { InternLMActionProcessor } from './tool/action/hooks.ts';
export type { ActionCall, ActionHook } from './tool/action/hooks.ts';
export { BaseParser, JsonParser, ParseError, TupleParser } from './tool/action/parsers.ts';
export { withApproval } from './tool/approval.ts';
export type { ToolApprovalOptions, ToolApprovalRequest, ToolDecision } from './tool/approval.ts';
export type { AccessOptions } from './tool/access.ts';
export type {
  CallContext,
  CallOptions,
  Observation,
  ParameterProperty,
  ParameterSchema,
  Tool,
  ToolDefinition,
  ToolImage,
} from './tool/tool.ts';
export { escapeAnsi as escape_ansi } from './text/clean-text.ts';
export { extractCode as extract_code } from './text/code/extract-code.ts';
export { toAiSdkTool } from './tool/formats/ai-sdk.ts';
export type { AiSdkModelOutput, AiSdkOutput, AiSdkTool } from './tool/formats/ai-sdk.ts';
export { toAnthropicResult, toAnthropicTool } from './tool/formats/anthropic.ts';
export type { AnthropicTool, AnthropicToolResult } from './tool/formats/anthropic.ts';
export { toLangChainTool } from './tool/formats/langchain.ts';
export type { LangChainOptions } from './tool/formats/langchain.ts';
export { toMcpResult, toMcpTool } from './tool/formats/mcp.ts';
export type { McpAnnotations, McpTool, McpToolResult, ToolTraits } from './tool/formats/mcp.ts';
export {
  toOpenAIMessage,
  toOpenAIResponsesOutput,
  toOpenAIResponsesTool,
  toOpenAITool,
} from './tool/formats/openai.ts';
export type {
  OpenAIResponsesOutput,
  OpenAIResponsesTool,
  OpenAITool,
  OpenAIToolMessage,
} from './tool/formats/openai.ts';
