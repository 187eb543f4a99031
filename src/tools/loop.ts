import type { Scope } from '../platform/database/scope.ts';
import { type CalledTool, calledTool, lostCall } from './called-tool.ts';
import { type AskedCall, mayCall as mayCallAgain } from './core/rounds.ts';
import type { ToolResult } from './core/tool-result.ts';
import {
  declarationsOf,
  messagesOfRounds,
  type Round,
  type RoundAnswer,
  type RoundMessage,
  roundAnswer,
  toExecute,
} from './rounds.ts';
import type { DeclaredTool, ToolCall } from './tool.ts';
import type { Tools } from './tools.ts';

/*
 * How a model uses tools. The model answers or calls tools. Its answer is recorded, each call is executed and its
 * result recorded, and the model is asked again. The owner of the model, a step of a run or a message, stores the
 * rounds in rows of its own.
 */

/** The rounds so far. */
export interface Rounds {
  rounds: readonly Round[];
  tools: readonly DeclaredTool[];
  /** Whether the model may still call tools. After the last round, it is asked for an answer in words. */
  mayCall: boolean;
}

/** The input of a model besides the request itself. */
interface RoundQuestion {
  messages: RoundMessage[];
  tools?: ReturnType<typeof declarationsOf>;
}

/** A recorded round: the positions of its calls that are to be executed, from 0. */
export interface RecordedRound {
  round: number;
  calls: number[];
}

/**
 * Asks a model once.
 * @param reply asks it
 * @param record keeps an answer that calls tools. It returns the answer that counts: this one, or that of another attempt,
 *   which was taken for dead and was faster; undefined when the work is over
 * @returns the answer in words, or the round; undefined when the work is over
 */
export async function askRound<Answer extends RoundAnswer>(
  { rounds, tools, mayCall }: Rounds,
  reply: (question: RoundQuestion) => Promise<Answer>,
  record: (round: number, answer: RoundAnswer, whole: Answer) => Promise<RoundAnswer | undefined>,
): Promise<{ answer: Answer } | RecordedRound | undefined> {
  const messages = messagesOfRounds(rounds, tools);
  const answer = await reply({ messages, ...(mayCall && tools.length > 0 && { tools: declarationsOf(tools) }) });
  if (answer.calls.length === 0 || !mayCall) return { answer };
  const round = rounds.length + 1;
  const counted = await record(round, roundAnswer(answer), answer);
  return counted && { round, calls: toExecute(counted, tools) };
}

/** A call that a model made, of a tool that it was offered. */
interface MadeCall extends Pick<ToolCall, 'key' | 'isTrial'> {
  asked: AskedCall;
  tool: DeclaredTool;
}

/** The row of a call. */
interface CallRow {
  /** Commits that a call begins. @returns the number of this attempt, from 1; undefined if there is nothing to call */
  begin(): Promise<number | undefined>;
  /** Commits the result of the call with its entry in the audit log. */
  record(called: CalledTool): Promise<void>;
}

/**
 * Executes a call that a model made, and records its result. The tool is called once: where an earlier attempt began and its
 * end is unknown, only a tool that may be repeated is called again.
 * @param scope whose tools they are
 * @param limit ends the call, with this result
 * @returns whether there was something to call. @throws errors of the database; the reason of `signal`
 */
export async function executeCall(
  { tools, scope }: { tools: Pick<Tools, 'call'>; scope: Scope },
  { asked, tool, ...of }: MadeCall,
  row: CallRow,
  signal: AbortSignal,
  limit?: { signal: AbortSignal; result: ToolResult },
): Promise<boolean> {
  const attempt = await row.begin();
  if (attempt === undefined) return false;
  const call = { server: tool.server, tool: tool.tool, args: asked.args, callId: asked.id, attempt, ...of };
  const execute = async (): Promise<CalledTool> => {
    if (!mayCallAgain(attempt, tool.idempotent)) return lostCall(scope, call);
    const from = performance.now();
    try {
      return await tools.call(scope, call, limit ? AbortSignal.any([signal, limit.signal]) : signal);
    } catch (error) {
      if (!limit?.signal.aborted || signal.aborted) throw error;
      return calledTool(scope, call, { result: limit.result, durationMs: performance.now() - from });
    }
  };
  await row.record(await execute());
  return true;
}
