import { maxDepth, readJson } from '../../platform/core/bounded-json.ts';
import { cleaned } from '../../platform/core/clean-text.ts';

/** A call that a text requests from the sandbox. */
interface RequestedCall {
  name: string;
  args: Record<string, unknown>;
}

/** As many as any conversation can make, and more. The cost of reading them grows with the length of the text for each. */
const maxWords = 16;

/** Maximum size of one call's arguments: as much as a body may have. */
const maxArgumentBytes = 1024 * 1024;

/** The end of the JSON object that begins at `from`, or -1: the place behind the brace that closes it. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (isQuoted) {
      if (character === '\\') at += 1;
      else if (character === '"') isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > maxDepth) return -1;
    } else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** It begins with a brace, so it is an object. @returns undefined for invalid JSON, and for more than the read limit */
const parseObject = (json: string) => cleaned(readJson(json, maxArgumentBytes)) as Record<string, unknown> | undefined;

/** The arguments that begin at `from`, with one space in front, and where they end; none and `from` without any. */
function argsAt(text: string, from: number): { args: Record<string, unknown>; end: number } {
  const none = { args: {}, end: from };
  if (!text.startsWith(' {', from)) return none;
  const end = endOfObject(text, from + 1);
  const args = end < 0 ? undefined : parseObject(text.slice(from + 1, end));
  return args ? { args, end } : none;
}

/**
 * The calls of the words `sandbox:tool=<name> <arguments>` in a text, at most 16, in order.
 * @returns the calls, and what else the text says: words within arguments are meant for the tool
 */
export function readSandboxTools(text: string): { calls: RequestedCall[]; rest: string } {
  const calls: RequestedCall[] = [];
  const rest: string[] = [];
  let read = 0;
  const pattern = /\bsandbox:tool=([A-Za-z0-9_-]{1,64})/g;
  for (let found = pattern.exec(text); found && calls.length < maxWords; found = pattern.exec(text)) {
    rest.push(text.slice(read, found.index));
    const { args, end } = argsAt(text, pattern.lastIndex);
    calls.push({ name: found[1]!, args });
    read = end;
    pattern.lastIndex = end;
  }
  return { calls, rest: [...rest, text.slice(read)].join(' ') };
}
