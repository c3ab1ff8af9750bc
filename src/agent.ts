export { Agent } from './agent/agent.ts';
export type { ToolSource } from './agent/agent.ts';
export { agent, AgentExecutor, FunctionCallingAgent, ReActAgent, SimpleAgent } from './agent/single-turn.ts';
export type { SimpleAgentOptions } from './agent/single-turn.ts';
export type {
  AgentConfig,
  AgentLimits,
  AgentOptions,
  AgentType,
  AskOptions,
  SingleTurnOptions,
} from './agent/options.ts';
export { tool } from './agent/tools/function-tool.ts';
export type { FunctionToolOptions } from './agent/tools/function-tool.ts';
export { ToolRegistry } from './agent/tools/registry.ts';
export {
  ActionEvent,
  ErrorEvent,
  FinalAnswerEvent,
  ObservationEvent,
  ThoughtEvent,
  TokenEvent,
} from './agent/step/events.ts';
export type { AgentEvent } from './agent/step/events.ts';
export { AgentMemory, AgentStep } from './agent/step/memory.ts';
export type { AgentStepOptions } from './agent/step/memory.ts';
export type { ToolInput } from './agent/step/tool-input.ts';
export { defaultModel, OpenAILLM } from './model/openai.ts';
export type { Llm, ModelSource } from './model/openai.ts';
export type { ChatOptions, ChatStreams } from './agent/chat/chat.ts';
export { Display } from './agent/chat/display.ts';
export type { BlockKind, DisplayTarget } from './agent/chat/display.ts';
export type { ModelConfigInput } from './config.ts';
// Examples written for Python import the tools from the same module as the agent.
export { CodeInterpreterTool } from './tool/code-interpreter/code-interpreter.ts';
export { PythonREPLTool } from './tool/code-interpreter/python-repl.ts';
