export { Agent } from './agent/agent.ts';
export type { ToolSource } from './agent/agent.ts';
export { FunctionCallingAgent } from './agent/function-calling-agent.ts';
export type { AgentLimits, AgentOptions, AskOptions, FunctionCallingAgentOptions } from './agent/options.ts';
export {
  ActionEvent,
  ErrorEvent,
  FinalAnswerEvent,
  ObservationEvent,
  ThoughtEvent,
  TokenEvent,
} from './agent/step/events.ts';
export type { AgentEvent } from './agent/step/events.ts';
export type { AgentMemory, AgentStep } from './agent/step/memory.ts';
export type { ToolInput } from './agent/step/tool-input.ts';
export { defaultModel, OpenAILLM } from './model/openai.ts';
export type { Llm, ModelSource } from './model/openai.ts';
export type { ChatOptions, ChatStreams } from './agent/chat/chat.ts';
export { Display } from './agent/chat/display.ts';
export type { Kind, Look } from './agent/chat/display.ts';
export type { ModelConfigInput } from './config.ts';
