export { Agent } from './agent/agent.ts';
export type { ToolSource } from './agent/agent.ts';
export { AgentExecutor } from './agent/question/executor.ts';
export { FunctionCallingAgent } from './agent/question/function-calling-agent.ts';
export { ReActAgent } from './agent/question/react-agent.ts';
export { agent, SimpleAgent } from './agent/question/simple-agent.ts';
export type { SimpleAgentOptions } from './agent/question/simple-agent.ts';
export type {
  AgentConfig,
  AgentLimits,
  AgentOptions,
  AgentType,
  AskOptions,
  QuestionAgentOptions,
} from './agent/options.ts';
export { tool } from './agent/toolbox/function-tool.ts';
export type { FunctionToolOptions } from './agent/toolbox/function-tool.ts';
export { ToolRegistry } from './agent/toolbox/registry.ts';
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
export type { Kind, Look } from './agent/chat/display.ts';
export type { ModelConfigInput } from './config.ts';
// Examples written for Python take the tools of an agent from the same module as the agent.
export { CodeInterpreterTool } from './tool/code-interpreter/code-interpreter.ts';
export { PythonREPLTool } from './tool/code-interpreter/python-repl.ts';
