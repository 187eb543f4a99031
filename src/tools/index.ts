// What other parts use of tools: the catalogue of servers, and the rounds in which a model calls them.

export { type CalledTool, calledTool, lostCall } from './called-tool.ts';
export type { ToolServices } from './part.ts';
export { declarationsOf, messagesOfRounds, type Round, type RoundAnswer, roundAnswer, toExecute } from './rounds.ts';
export { type DeclaredTool, ToolServerUnavailable } from './tool.ts';
export type { Tools } from './tools.ts';
