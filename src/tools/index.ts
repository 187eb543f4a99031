// What other parts use of tools: the catalogue of servers, and the rounds in which a model calls them.

export type { CalledTool } from './called-tool.ts';
export { failedResult, type ToolResult } from './core/tool-result.ts';
export { askRound, executeCall, type RecordedRound } from './loop.ts';
export type { ToolServices } from './part.ts';
export { type Round, type RoundAnswer, toExecute } from './rounds.ts';
export { type DeclaredTool, type ListedTool, ToolServerUnavailable } from './tool.ts';
export type { SourceCall, ToolSource } from './tool-source.ts';
export type { Tools } from './tools.ts';
