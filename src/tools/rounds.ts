import { type AskedCall, executedCalls, refusalOf } from './core/rounds.ts';
import type { ToolResult } from './core/tool-result.ts';
import type { DeclaredTool } from './tool.ts';

/** An answer of a model that asks for tools: the part that is kept until the model has answered in words. */
export interface RoundAnswer {
  /** The text beside the calls. */
  text: string;
  calls: AskedCall[];
  /** The answer in the form of its provider, to be sent back unchanged. */
  content: unknown;
}

/** A round whose answer is recorded. */
export interface Round extends RoundAnswer {
  /** From 1. */
  round: number;
  /** By the positions of the executed calls, from 0. */
  results: Map<number, ToolResult>;
}

/** A part of a conversation, in the form in which models are given it. */
export type RoundMessage =
  | { role: 'model'; content: unknown }
  | { role: 'tools'; results: (ToolResult & { callId: string; name: string })[] };

/** The stored part of an answer. */
export const roundAnswer = ({ text, calls, content }: RoundAnswer): RoundAnswer => ({ text, calls, content });

const namesOf = (tools: readonly DeclaredTool[]) => new Set(tools.map(({ name }) => name));

/** The positions of the calls of an answer that are executed, from 0. */
export const toExecute = ({ calls }: RoundAnswer, tools: readonly DeclaredTool[]): number[] =>
  executedCalls(calls, namesOf(tools));

/** The result of each call of a round, as the model gets it. */
function resultsOf({ calls, results }: Round, tools: readonly DeclaredTool[]): ToolResult[] {
  const offered = namesOf(tools);
  return calls.map((call, position) => {
    const result = refusalOf(call, position, offered) ?? results.get(position);
    if (!result) throw new Error('A call of an earlier round has no result.');
    return result;
  });
}

/** The messages of these rounds, as the next request gives them to their model. */
export const messagesOfRounds = (rounds: readonly Round[], tools: readonly DeclaredTool[]): RoundMessage[] =>
  rounds.flatMap((round): RoundMessage[] => [
    { role: 'model', content: round.content },
    {
      role: 'tools',
      results: resultsOf(round, tools).map((result, position) => {
        const { id: callId, name } = round.calls[position]!;
        return { callId, name, ...result };
      }),
    },
  ]);

/** Tools as a model is offered them. */
export const declarationsOf = (tools: readonly DeclaredTool[]) =>
  tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
