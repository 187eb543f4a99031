import { maxDepth, readJson } from '../../platform/core/bounded-json.ts';
import { CleanedStream } from '../../platform/core/clean-text.ts';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import type { ChatCall, ToolCall } from './chat-ports.ts';

/** Gets a part of a text as it arrives. */
export type Listener = (text: string) => void;

/** The stored part of a conversation between two calls of a model is limited, whatever a provider sends. */
const maxContentBytes = 4 * 1024 * 1024;

const isDeeper = (value: unknown, depth: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((part) => isDeeper(part, depth - 1)));

/** @throws Error for a content that is too large or too deep to be kept */
export function checkContent(content: unknown): void {
  if (isDeeper(content, maxDepth)) throw new Error('The answer is nested too deeply.');
  const bytes = Buffer.byteLength(JSON.stringify(content) ?? '');
  if (bytes > maxContentBytes) throw new Error(`The answer is larger than ${maxContentBytes} bytes.`);
}

/** More than any model calls at once. Each of them is stored, and sent back with its result in every later round. */
const maxCalls = 100;

/** @throws Error for an answer with more calls of tools than are kept */
export function checkCalls(calls: readonly unknown[]): void {
  if (calls.length > maxCalls) throw new Error(`The answer has more than ${maxCalls} calls of tools.`);
}

/** Texts that arrive within this time are passed on as one: a provider may send a character at a time. */
const coalesceMs = 20;

/** Gathers the texts of a stream. The first one is passed on at once. */
class CoalescedText {
  readonly #pass: Listener;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(pass: Listener) {
    this.#pass = pass;
  }

  add(text: string): void {
    this.#waiting += text;
    if (this.#timer || text === '') return;
    this.flush();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, coalesceMs);
  }

  flush(): void {
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') this.#pass(text);
  }

  /** Drops the waiting text. */
  close(): void {
    clearTimeout(this.#timer);
    this.#waiting = '';
  }
}

/**
 * Passes on the text of a stream. While the model may call tools, the text is kept until the answer has ended: a call
 * makes it a thought, and not part of the reply.
 * @returns the listener of the stream, undefined when none is needed; what is to be called once it has ended well; and
 *   what is to be called in any case
 */
export function heldBack(
  { onDelta, onThought }: Pick<ChatCall, 'onDelta' | 'onThought'>,
  mayCall: boolean,
): { onText: Listener | undefined; end(hasCalls: boolean): void; close(): void } {
  if (!onDelta) return { onText: undefined, end: () => undefined, close: () => undefined };
  const coalesced = new CoalescedText(onDelta);
  const clean = new CleanedStream();
  const pass = (text: string, mayBeThought: boolean) => {
    if (mayBeThought) kept += text;
    else coalesced.add(text);
  };
  let kept = '';
  let length = 0;
  return {
    onText(text) {
      length += text.length;
      if (length > maxContentBytes) throw new Error(`The answer is larger than ${maxContentBytes} characters.`);
      pass(clean.add(text), mayCall);
    },
    end(hasCalls) {
      pass(clean.end(), mayCall);
      coalesced.flush();
      if (kept === '') return;
      if (hasCalls) onThought?.(kept);
      else onDelta(kept);
    },
    close: () => coalesced.close(),
  };
}

/** Characters of unreadable arguments that the model is shown. */
const shownArguments = 200;

type ReadArgs = Pick<ToolCall, 'args' | 'unreadable'>;

/** The arguments of a call, which a model writes as the text of a JSON object. */
export function parseArgs(text: string): ReadArgs {
  if (text.trim() === '') return { args: {} };
  const args = readJson(text, maxContentBytes);
  return isJsonObject(args) ? { args } : { args: {}, unreadable: text.slice(0, shownArguments) };
}

/**
 * The arguments of a call that a provider has parsed. Arguments that are much too deep cannot be written as JSON again.
 */
export const shallowArgs = (args: ToolCall['args']): ReadArgs =>
  isDeeper(args, maxDepth) ? { args: {}, unreadable: `nested deeper than ${maxDepth} levels` } : { args };
