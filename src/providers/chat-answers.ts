import type { ChatCall } from './chat-ports.ts';

/** Gets a part of a text as it arrives. */
export type Listener = (text: string) => void;

/** What is kept of a conversation between two calls of a model is limited, whatever a provider sends. */
const maxContentBytes = 4 * 1024 * 1024;

/** Far deeper than what any tool takes, and shallow enough for every reader of JSON. */
const maxDepth = 64;

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

/**
 * Passes on what a stream says. While the model may call tools, it is kept until the answer has ended: a call makes it a
 * thought, and not part of the reply.
 * @returns the listener of the stream, undefined when nobody wants one, and what is to be called once it has ended well
 */
export function heldBack(
  { onDelta, onThought }: Pick<ChatCall, 'onDelta' | 'onThought'>,
  mayCall: boolean,
): { onText: Listener | undefined; end(hasCalls: boolean): void } {
  if (!onDelta) return { onText: undefined, end: () => undefined };
  const kept: string[] = [];
  let length = 0;
  return {
    onText(text) {
      length += text.length;
      if (length > maxContentBytes) throw new Error(`The answer is larger than ${maxContentBytes} characters.`);
      if (text === '') return;
      if (mayCall) kept.push(text);
      else onDelta(text);
    },
    end(hasCalls) {
      if (hasCalls && kept.length > 0) onThought?.(kept.join(''));
      else for (const text of kept) onDelta(text);
    },
  };
}

/**
 * The arguments of a call, which a model writes as the text of a JSON object.
 * @throws Error for another text
 */
export function parseArgs(text: string): Record<string, unknown> {
  const args: unknown = text.trim() === '' ? {} : JSON.parse(text);
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as Record<string, unknown>;
  throw new Error('The arguments of a call are not a JSON object.');
}
